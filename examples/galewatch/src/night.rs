//! One night as a whole: who held the lease, who wrote when, what was counted.

use crate::event::{Doing, Entry, Event, Refusal};

pub const BOX_2: &str = "box-2";
pub const BOX_3: &str = "box-3";
/// Whoever stops and starts things: the demo.
pub const STAGE: &str = "demo";

/// Readings counted in the databases after a night.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that there were before.
    pub before: u64,
    /// Those of `before` that are on neither shard.
    pub lost: u64,
    /// Rows that are there once more than they should be.
    pub doubled: u64,
    /// Of the turbine where both boxes met: readings before, and rows on either shard after.
    pub of_turbine: u64,
    pub on_shard1: u64,
    pub on_shard3: u64,
}

#[derive(Clone, Debug)]
pub struct Night {
    pub guarded: bool,
    /// Where both boxes met.
    pub turbine: String,
    /// In the order of time.
    pub entries: Vec<Entry>,
    pub counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from_us: i64,
    pub to_us: i64,
}

/// A stretch of time in which somebody held the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenure {
    pub who: String,
    pub token: i64,
    pub held: Span,
}

/// How many rows of the turbine are on either shard from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    pub at_us: i64,
    pub shard1: u64,
    pub shard3: u64,
}

impl Night {
    pub fn new(guarded: bool, turbine: String, mut entries: Vec<Entry>, counts: Counts) -> Self {
        entries.sort_by_key(|entry| entry.at_us);
        Self { guarded, turbine, entries, counts }
    }

    /// From the first grant to the last event.
    pub fn span(&self) -> Span {
        let first = self.entries.iter().find(|e| matches!(e.event, Event::Acquired { .. }));
        let from_us = first.or(self.entries.first()).map_or(0, |entry| entry.at_us);
        Span { from_us, to_us: self.entries.last().map_or(0, |entry| entry.at_us) }
    }

    /// Seconds since the night began.
    pub fn seconds(&self, at_us: i64) -> f64 {
        (at_us - self.span().from_us) as f64 / 1e6
    }

    /// What one of them did, or what was done to the stage.
    pub fn of<'a>(&'a self, who: &'a str) -> impl DoubleEndedIterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.who == who)
    }

    pub fn first(&self, who: &str, wanted: impl Fn(&Event) -> bool) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.who == who && wanted(&entry.event))
    }

    /// Whether it is its author's first event of this kind, about this turbine.
    pub fn is_first(&self, entry: &Entry) -> bool {
        let same = |other: &&Entry| {
            std::mem::discriminant(&other.event) == std::mem::discriminant(&entry.event)
                && other.turbine() == entry.turbine()
        };
        self.of(&entry.who).find(same) == Some(entry)
    }

    /// Box 2's last answered renewal (or its grant), and the expiry that came of it.
    pub fn last_renewal(&self) -> Option<(&Entry, i64)> {
        self.of(BOX_2).rev().find_map(|entry| Some((entry, expiry(&entry.event)?)))
    }

    /// Who held the lease when: from a grant to the release, or to the expiry of the last renewal.
    pub fn tenures(&self) -> Vec<Tenure> {
        let mut tenures: Vec<Tenure> = Vec::new();
        for entry in &self.entries {
            if let Event::Acquired { token, expires_us } = entry.event {
                let held = Span { from_us: entry.at_us, to_us: expires_us };
                tenures.push(Tenure { who: entry.who.clone(), token, held });
            }
            let own = tenures.iter_mut().rev().find(|tenure| tenure.who == entry.who);
            let Some(own) = own else { continue };
            match entry.event {
                Event::Renewed { expires_us } => own.held.to_us = expires_us,
                Event::Finished { .. } => own.held.to_us = entry.at_us,
                _ => {}
            }
        }
        tenures
    }

    pub fn outage(&self) -> Option<Span> {
        self.between(|event| *event == Event::RoutingDown, |event| *event == Event::RoutingUp)
    }

    /// While box 2's process was stopped.
    pub fn pause(&self) -> Option<Span> {
        let paused = |event: &Event| matches!(event, Event::Paused { .. });
        self.between(paused, |event| *event == Event::Resumed)
    }

    /// The rows of the turbine on both shards, step by step, as the movers' statements left them.
    pub fn stock(&self) -> Vec<Stock> {
        let mut now =
            Stock { at_us: self.span().from_us, shard1: self.counts.of_turbine, shard3: 0 };
        let mut steps = vec![now];
        for entry in self.entries.iter().filter(|entry| entry.turbine() == Some(&self.turbine)) {
            match entry.event {
                Event::Wrote { rows, .. } => now.shard3 += rows,
                Event::Deleted { rows, .. } => now.shard1 = now.shard1.saturating_sub(rows),
                Event::TidiedUp { rows, .. } => now.shard3 = now.shard3.saturating_sub(rows),
                _ => continue,
            }
            now.at_us = entry.at_us;
            steps.push(now);
        }
        steps
    }

    /// The error that box 2 got when it was doing something.
    pub fn refusal(&self, what: Doing) -> Option<&Refusal> {
        self.of(BOX_2).find_map(|entry| match &entry.event {
            Event::Refused { doing, error, .. } if *doing == what => Some(error),
            _ => None,
        })
    }

    /// What of the story did not happen, a sentence each.
    pub fn gaps(&self) -> Vec<&'static str> {
        let tokens: Vec<i64> = self.tenures().iter().map(|tenure| tenure.token).collect();
        let did = |who: &str, wanted: fn(&Event) -> bool| self.first(who, wanted).is_some();
        let expired = self.last_renewal().map_or(i64::MAX, |(_, expires_us)| expires_us);
        let tidied = did(BOX_2, |event| matches!(event, Event::TidiedUp { .. }));
        let counted = (self.counts.on_shard1, self.counts.on_shard3);
        let checks = [
            (
                matches!(tokens[..], [second, third] if second < third),
                "box 3 did not take the lease over from box 2 with a higher token",
            ),
            (
                self.outage().is_some_and(|outage| outage.to_us > expired),
                "the lease did not expire while routing was down",
            ),
            (
                did(BOX_2, |event| matches!(event, Event::CarriedOn { .. })),
                "box 2 did not carry on without routing",
            ),
            (
                did(BOX_2, |event| matches!(event, Event::Lost { .. })),
                "box 2 did not learn that it had lost the lease",
            ),
            (
                did(BOX_3, |event| matches!(event, Event::Finished { .. })),
                "box 3 did not finish the list",
            ),
            (
                self.guarded || (tidied && counted == (0, 0) && self.counts.lost > 0),
                "the unguarded night lost nothing",
            ),
            (
                !self.guarded || (!tidied && self.refusal(Doing::TidyingUp).is_some()),
                "the guard did not refuse box 2's tidy-up",
            ),
            (!self.guarded || self.counts.lost == 0, "the guarded night lost readings"),
            (
                self.stock().last().map(|last| (last.shard1, last.shard3)) == Some(counted),
                "the movers' logs and the databases disagree",
            ),
        ];
        checks.iter().filter(|(holds, _)| !holds).map(|(_, gap)| *gap).collect()
    }

    fn between(
        &self,
        begins: impl Fn(&Event) -> bool,
        ends: impl Fn(&Event) -> bool,
    ) -> Option<Span> {
        let from_us = self.first(STAGE, begins)?.at_us;
        let to_us = self.first(STAGE, ends)?.at_us;
        Some(Span { from_us, to_us })
    }
}

impl Entry {
    /// The turbine that it is about, if any.
    pub fn turbine(&self) -> Option<&String> {
        match &self.event {
            Event::Skipped { turbine }
            | Event::Wrote { turbine, .. }
            | Event::Verified { turbine, .. }
            | Event::Deleted { turbine, .. }
            | Event::Refused { turbine, .. }
            | Event::TidiedUp { turbine, .. }
            | Event::Paused { turbine, .. } => Some(turbine),
            _ => None,
        }
    }
}

fn expiry(event: &Event) -> Option<i64> {
    match event {
        Event::Acquired { expires_us, .. } | Event::Renewed { expires_us } => Some(*expires_us),
        _ => None,
    }
}
