//! What a guard costs a transaction that writes one row, beside what people do today.

use crate::bed::Bed;
use crate::estimate::Estimate;
use crate::mixed::Mixed;
use crate::plot::{Bar, Hue, bars};
use crate::report::Section;
use crate::rounds::Rounds;
use crate::scale::Scale;
use crate::target::{Target, Want, number, of_clients, shown};
use crate::way::{self, Way, Work};
use anyhow::Result;

/// Which ways do which work, with how many clients.
struct Group {
    work: Work,
    clients: u32,
    sync: bool,
    ways: &'static [Way],
    rounds: usize,
}

/// Every way. The first three are what the targets are about and take part in each round, the
/// others in as many as are needed.
const EVERY: [Way; 14] = [
    way::UNGUARDED,
    way::CURRENT,
    way::NEWEST,
    way::LIVE,
    way::ROW_GUARD,
    way::SEEDS,
    way::SEEDS_PIPE,
    way::GALEWATCH,
    way::ROW_TRIGGER,
    way::STATEMENT_TRIGGER,
    way::UNGUARDED_BLOCK,
    way::CHECK_BLOCK,
    way::UNGUARDED_PIPE,
    way::CHECK_PIPE,
];
const CORE: usize = 3;
const MOST: [Way; 6] =
    [way::UNGUARDED, way::CURRENT, way::NEWEST, way::SEEDS, way::GALEWATCH, way::STATEMENT_TRIGGER];
const FEW: [Way; 3] = [way::UNGUARDED, way::CURRENT, way::NEWEST];

const BARELY: [Way; 2] = [way::UNGUARDED, way::CURRENT];

/// With one client the mixed runs tell more than rounds do; with sixteen there are only rounds.
const GROUPS: [Group; 7] = [
    Group { work: Work::Insert, clients: 1, sync: true, ways: &EVERY, rounds: 5 },
    Group { work: Work::Insert, clients: 16, sync: true, ways: &EVERY, rounds: 9 },
    Group { work: Work::Update, clients: 1, sync: true, ways: &MOST, rounds: 5 },
    Group { work: Work::Update, clients: 16, sync: true, ways: &MOST, rounds: 5 },
    Group { work: Work::Insert, clients: 4, sync: true, ways: &FEW, rounds: 5 },
    Group { work: Work::Insert, clients: 1, sync: false, ways: &BARELY, rounds: 5 },
    Group { work: Work::Update, clients: 16, sync: false, ways: &BARELY, rounds: 5 },
];
/// The fewest rounds that any way takes part in.
const FEWEST: usize = 5;
const SECONDS: u32 = 1;

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("guard", scale)?;
    let mut section = Section::new("guard", "One row, one transaction", &bed)?;
    for way in EVERY {
        way.prepare(&bed, Work::Insert)?;
        way.prepare(&bed, Work::Update)?;
    }
    for group in &GROUPS {
        let rounds = group.measure(&bed)?;
        group.report(&rounds, &mut section)?;
    }
    for work in [Work::Insert, Work::Update] {
        let ways = [way::UNGUARDED, way::CURRENT, way::NEWEST, way::LIVE];
        let mixed = Mixed::measure(&bed, "guard", work, &ways)?;
        mixed.report(&mut section);
        mixed.target(way::CURRENT, 0.95, &mut section);
        mixed.target(way::NEWEST, 0.95, &mut section);
    }
    Ok(section)
}

impl Group {
    fn title(&self) -> String {
        let clients = of_clients(self.clients);
        let sync = if self.sync { "on" } else { "off" };
        format!("{}, {clients}, synchronous_commit {sync}", self.work.title())
    }

    fn measure(&self, bed: &Bed) -> Result<Rounds> {
        let sync = if self.sync { "on" } else { "off" };
        let length = bed.scale.seconds(SECONDS);
        let cells = self.ways.iter().map(|way| {
            let cell = way.cell(bed, self.work, self.clients, length)?;
            Ok(cell.setting("synchronous_commit", sync))
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        let step = self.rounds.div_ceil(FEWEST);
        let every: Vec<usize> =
            (0..cells.len()).map(|at| if at < CORE { 1 } else { step }).collect();
        let all = bed.scale.rounds(self.rounds);
        Rounds::run(all, &every, |round, at| {
            let ran = cells[at].run(bed)?;
            eprintln!(
                "guard: {}, round {} of {all}: {:>9}/s {}",
                self.title(),
                round + 1,
                number(ran.per_second),
                self.ways[at].title
            );
            Ok(ran.per_second)
        })
    }

    fn at(&self, way: Way) -> Option<usize> {
        self.ways.iter().position(|other| *other == way)
    }

    fn report(&self, rounds: &Rounds, section: &mut Section) -> Result<()> {
        section.heading(&self.title());
        let rows = self.ways.iter().enumerate().map(|(at, way)| {
            let ratio = rounds.ratio(at, 0);
            vec![
                way.title.into(),
                number(rounds.median(at)),
                shown(&ratio),
                ratio.rounds.to_string(),
            ]
        });
        section.table(&["way", "transactions/s", "ratio to unguarded", "rounds"], rows.collect());
        let drawn = self.ways.iter().enumerate().map(|(at, way)| Bar {
            label: way.title.into(),
            value: rounds.ratio(at, 0),
            hue: hue(*way),
        });
        let name = format!(
            "guard-{}-{}-{}",
            self.work.key(),
            self.clients,
            if self.sync { "on" } else { "off" }
        );
        let plot = bars(
            &self.title(),
            "transactions per second, unguarded = 1",
            &drawn.collect::<Vec<_>>(),
        );
        section.plot(&name, &self.title(), &plot)?;
        if self.sync && self.clients != 4 {
            self.targets(rounds, section);
        }
        Ok(())
    }

    /// The numbers to reach: against unguarded, and against what people do today.
    fn targets(&self, rounds: &Rounds, section: &mut Section) {
        let title = self.title();
        let alone = self.clients == 1;
        let mut compare = |what: String, want: f64, ratio: Option<Estimate>| {
            if let Some(ratio) = ratio {
                section.target(Target::new(format!("{title}: {what}"), Want::AtLeast(want), ratio));
            }
        };
        let ratio = |way: Way, base: Way| Some(rounds.ratio(self.at(way)?, self.at(base)?));
        let bound = if alone { 0.95 } else { 0.94 };
        compare("mode current / unguarded".into(), bound, ratio(way::CURRENT, way::UNGUARDED));
        compare("mode newest / unguarded".into(), bound, ratio(way::NEWEST, way::UNGUARDED));
        let pipelined = ratio(way::CHECK_PIPE, way::UNGUARDED_PIPE);
        compare("lease_fence_check pipelined / unguarded pipelined".into(), 0.85, pipelined);
        let bound = if alone { 1.85 } else { 1.95 };
        compare("mode current / the seeds' way".into(), bound, ratio(way::CURRENT, way::SEEDS));
        if !alone {
            let galewatch = ratio(way::NEWEST, way::GALEWATCH);
            compare("mode newest / Galewatch's UPDATE".into(), 8.5, galewatch);
        }
        let triggers = [self.at(way::ROW_TRIGGER), self.at(way::STATEMENT_TRIGGER)];
        if let ([Some(row), Some(statement)], Some(current)) = (triggers, self.at(way::CURRENT)) {
            let ratio = rounds.ratio_to_best(current, &[row, statement]);
            compare("mode current / the better PL/pgSQL trigger".into(), 1.1, Some(ratio));
        }
    }
}

fn hue(way: Way) -> Hue {
    match way.key {
        "current" | "live" | "newest" | "check_block" | "check_pipe" => Hue::Ours,
        "unguarded" | "unguarded_block" | "unguarded_pipe" => Hue::Base,
        _ => Hue::Theirs,
    }
}
