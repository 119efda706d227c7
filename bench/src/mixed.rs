//! One client whose transactions pick a way at random: whatever the machine does meets all ways
//! alike, transaction by transaction, so this tells smaller differences than rounds can.

use crate::bed::Bed;
use crate::estimate::Estimate;
use crate::report::Section;
use crate::scale::Length;
use crate::target::{Target, Want, shown};
use crate::way::{Way, Work};
use anyhow::{Context, Result};

const ROUNDS: usize = 6;
const SECONDS: u32 = 2;
/// So that each script is picked.
const TINY: Length = Length::Transactions(200);

/// The latencies of each way, a value a round.
pub struct Mixed {
    ways: Vec<Way>,
    work: Work,
    latencies: Vec<Vec<f64>>,
}

impl Mixed {
    /// The first way is what the others are compared with.
    pub fn measure(bed: &Bed, part: &str, work: Work, ways: &[Way]) -> Result<Self> {
        let scripts = ways.iter().map(|way| bed.script(&way.table(work), &way.script(work)));
        let scripts = scripts.collect::<Result<_>>()?;
        let length = bed.scale.pick(Length::Seconds(SECONDS), TINY);
        let mut cell = crate::way::CURRENT.cell(bed, work, 1, length)?;
        cell.scripts = scripts;
        let cell = cell.setting("synchronous_commit", "on");
        let mut latencies = vec![Vec::new(); ways.len()];
        for round in 0..bed.scale.rounds(ROUNDS) {
            eprintln!("{part}: {}, all ways mixed, round {}", work.title(), round + 1);
            let ran = cell.run(bed)?;
            for (at, all) in latencies.iter_mut().enumerate() {
                let latency = ran.latencies_ms.get(at).filter(|latency| **latency > 0.0);
                all.push(*latency.context("pgbench never picked a script")?);
            }
        }
        Ok(Self { ways: ways.to_vec(), work, latencies })
    }

    fn title(&self) -> String {
        format!("{}, 1 client, ways mixed transaction by transaction", self.work.title())
    }

    fn speed(&self, at: usize) -> Estimate {
        Estimate::of_ratios(&self.latencies[0], &self.latencies[at])
    }

    pub fn report(&self, section: &mut Section) {
        section.heading(&self.title());
        let rows = self.ways.iter().enumerate().map(|(at, way)| {
            let latency = shown(&Estimate::of(&self.latencies[at]));
            vec![way.title.into(), latency, shown(&self.speed(at))]
        });
        section.table(&["way", "latency in ms", "speed, unguarded = 1"], rows.collect());
    }

    /// What `way` must reach.
    pub fn target(&self, way: Way, bound: f64, section: &mut Section) {
        if let Some(at) = self.ways.iter().position(|other| *other == way) {
            let what = format!("{}: {} / unguarded", self.title(), way.title);
            section.target(Target::new(what, Want::AtLeast(bound), self.speed(at)));
        }
    }
}
