//! One night. Everything that happens waits for a state, and neither mover is told which night it
//! is.

use crate::ledger::Ledger;
use crate::mover::Mover;
use crate::stage::Stage;
use crate::watch::{Watch, holder};
use anyhow::{Context, Result, ensure};
use galewatch::event::{Entry, Event};
use galewatch::log::{self, now_us};
use galewatch::night::{BOX_2, BOX_3, Night, STAGE};
use rig::wait_until;
use std::path::Path;
use std::time::Duration;

/// The last turbine whose move ends with an answered renewal, and the next one.
const LAST_RENEWED: &str = "AP-0160";
const LAST_FINISHED: &str = "AP-0162";
/// For one step of the story, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a night is played with.
struct Play<'a> {
    stage: &'a Stage,
    watch: Watch,
    notes: Vec<Entry>,
    box2: Mover,
    box3: Mover,
}

/// Plays a night and counts what is left.
pub fn play(stage: &Stage, mover: &Path, out: &Path, guarded: bool) -> Result<Night> {
    let out = out.join(if guarded { "guarded" } else { "unguarded" });
    std::fs::create_dir_all(&out)?;
    let mut watch = Watch::over(stage)?;
    let ledger = Ledger::open(&mut watch)?;
    eprintln!("demo: the {} night begins", if guarded { "guarded" } else { "unguarded" });
    watch.pin(LAST_RENEWED)?;
    let mut play = Play::begin(stage, watch, mover, &out)?;
    let expires_us = play.routing_goes_down()?;
    let meeting = play.box_2_carries_on()?;
    play.routing_comes_back(expires_us)?;
    play.box_3_moves(&meeting)?;
    play.box_2_goes_on()?;
    let mut entries = std::mem::take(&mut play.notes);
    entries.extend(play.box2.entries()?);
    entries.extend(play.box3.entries()?);
    let counts = ledger.close(&mut play.watch, &meeting)?;
    let night = Night::new(guarded, meeting, entries, counts);
    std::fs::write(out.join("night.jsonl"), log::format(&night.entries)?)?;
    Ok(night)
}

impl<'a> Play<'a> {
    /// Box 2 wins the lease, box 3 asks for it and is told who has it.
    fn begin(stage: &'a Stage, watch: Watch, mover: &Path, out: &Path) -> Result<Self> {
        let box2 = Mover::start(mover, BOX_2, stage, out)?;
        wait_until("box 2 to hold the lease", PATIENCE, || {
            Ok(holder(stage)?.is_some_and(|(name, _)| name == BOX_2))
        })?;
        let box3 = Mover::start(mover, BOX_3, stage, out)?;
        let asked = |entry: &Entry| matches!(entry.event, Event::Held { .. });
        wait_until("box 3 to ask for the lease", PATIENCE, || {
            Ok(box3.entries()?.iter().any(asked))
        })?;
        Ok(Self { stage, watch, notes: Vec::new(), box2, box3 })
    }

    /// Box 2 has renewed after LAST_RENEWED and now waits for us to let it delete that turbine.
    /// So it cannot reach for the lease again before routing is down.
    fn routing_goes_down(&mut self) -> Result<i64> {
        wait_until("box 2 to wait at its delete", PATIENCE, || {
            ensure!(self.box2.runs()?, "box 2 lost the lease too early: is the machine too busy?");
            self.watch.waits_for_us(BOX_2)
        })?;
        let (name, expires_us) = holder(self.stage)?.context("nobody holds the lease")?;
        ensure!(name == BOX_2, "{name} holds the lease too early: is the machine too busy?");
        self.stage.routing.stop()?;
        self.note(Event::RoutingDown)?;
        eprintln!("demo: routing is down, the lease runs out");
        self.watch.unpin()?;
        Ok(expires_us)
    }

    /// Waits until box 2 is in the middle of the turbine after LAST_FINISHED, and stops its process
    /// there. With routing down it cannot get past that turbine before it has tried for a while to
    /// renew. Returns the turbine.
    fn box_2_carries_on(&mut self) -> Result<String> {
        loop {
            let what = "box 2 to carry on with another turbine";
            wait_until(what, PATIENCE, || {
                ensure!(self.box2.runs()?, "box 2 ended too early");
                Ok(self.watch.last_on_shard3()?.is_some_and(|last| last.as_str() > LAST_FINISHED))
            })?;
            self.box2.freeze()?;
            wait_until("box 2 to be still", PATIENCE, || self.watch.is_quiet(BOX_2))?;
            let turbine = self.watch.last_on_shard3()?.context("shard 3 is empty")?;
            let (left, rows) = self.watch.rows(&turbine)?;
            if left > 0 && rows > 0 {
                self.note(Event::Paused { turbine: turbine.clone(), rows })?;
                return Ok(turbine);
            }
            self.box2.thaw()?;
        }
    }

    fn routing_comes_back(&mut self, expires_us: i64) -> Result<()> {
        wait_until("the lease to expire", PATIENCE, || Ok(now_us()? > expires_us))?;
        self.stage.routing.start_again()?;
        self.note(Event::RoutingUp)
    }

    /// Box 3 takes the lease over and moves the turbine that box 2 is stopped at.
    fn box_3_moves(&mut self, meeting: &str) -> Result<()> {
        wait_until("box 3 to have moved the turbine", PATIENCE, || {
            self.box3.runs()?;
            Ok(!self.watch.is_on_shard1(meeting)?)
        })?;
        eprintln!("demo: box 3 took over and has moved {meeting}; box 2 goes on with it");
        Ok(())
    }

    fn note(&mut self, event: Event) -> Result<()> {
        self.notes.push(Entry::now(STAGE, event)?);
        Ok(())
    }

    fn box_2_goes_on(&mut self) -> Result<()> {
        self.note(Event::Resumed)?;
        self.box2.thaw()?;
        self.box2.wait(PATIENCE)?;
        self.box3.wait(PATIENCE)
    }
}
