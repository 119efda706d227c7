//! What one scenario comes to: counts, times, and what was wrong.

use crate::check::{History, Violation};
use crate::clock::Micros;
use crate::history::{Answer, Ask, Operation};
use crate::nemesis::Fault;
use crate::node::{Change, Node, Row};
use serde::Serialize;
use std::collections::BTreeMap;

/// Errors that faults and the fence explain.
const EXPECTED: [&str; 5] = [
    "55000", // the fence, or a lease that was lost
    "55P03", // busy
    "40001", // serialization, under REPEATABLE READ and SERIALIZABLE
    "57014", // cancelled
    "25006", // a server that is not promoted yet
];

#[derive(Debug, Default, Serialize)]
pub struct Part {
    pub faults: BTreeMap<String, usize>,
    pub operations: BTreeMap<String, usize>,
    pub grants: usize,
    /// Grants of a lease that another had and had not released.
    pub takeovers: usize,
    /// Refusals by SQLSTATE.
    pub refusals: BTreeMap<String, usize>,
    pub unknowns: usize,
    /// From a fault to the next grant, by kind of fault, in microseconds.
    pub takeover_times: BTreeMap<String, Vec<Micros>>,
    /// Acknowledged and not there in the end, where that was to be expected.
    pub lost: BTreeMap<String, usize>,
    pub violations: Vec<Violation>,
    /// What no fault explains.
    pub unexplained: Vec<String>,
    pub notes: Vec<String>,
}

impl Part {
    /// Counts a history, and checks what must hold in each.
    pub fn of(history: &History, faults: &[Fault]) -> Self {
        let mut part = Self { violations: history.check(), ..Self::default() };
        for fault in faults {
            *part.faults.entry(fault.kind.to_owned()).or_default() += 1;
        }
        for operation in &history.operations {
            part.count(operation);
        }
        part.takeovers = history.nodes.iter().map(takeovers).sum();
        part.takeover_times = takeover_times(history, faults);
        part
    }

    fn count(&mut self, operation: &Operation) {
        let what = match &operation.ask {
            Ask::Acquire { .. } => "acquire",
            Ask::Takeover { .. } => "takeover",
            Ask::Renew { .. } => "renew",
            Ask::Release { .. } => "release",
            Ask::Write(write) if write.prepared => "write, prepared",
            Ask::Write(write) if write.token.is_none() => "acquire and write",
            Ask::Write(write) if write.releases => "write and release",
            Ask::Write(_) => "write",
            Ask::Decide { .. } => "decide what is prepared",
        };
        *self.operations.entry(what.to_owned()).or_default() += 1;
        self.grants += usize::from(operation.granted().is_some());
        match operation.answer() {
            None | Some(Answer::Unknown(_)) => self.unknowns += 1,
            Some(Answer::Refused { state, said }) => {
                *self.refusals.entry(state.clone()).or_default() += 1;
                if !EXPECTED.contains(&state.as_str()) {
                    self.unexplained.push(format!("{}: {state} {said}", operation.name));
                }
            }
            Some(_) => {}
        }
    }

    /// Adds what another scenario came to.
    pub fn add(&mut self, other: Self) {
        add_counts(&mut self.faults, other.faults);
        add_counts(&mut self.operations, other.operations);
        add_counts(&mut self.refusals, other.refusals);
        add_counts(&mut self.lost, other.lost);
        self.grants += other.grants;
        self.takeovers += other.takeovers;
        self.unknowns += other.unknowns;
        for (kind, times) in other.takeover_times {
            self.takeover_times.entry(kind).or_default().extend(times);
        }
        self.violations.extend(other.violations);
        self.unexplained.extend(other.unexplained);
        self.notes.extend(other.notes);
    }

    pub fn count_all(&self) -> usize {
        self.operations.values().sum()
    }

    pub fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.unexplained.is_empty()
    }
}

fn add_counts(to: &mut BTreeMap<String, usize>, from: BTreeMap<String, usize>) {
    for (what, count) in from {
        *to.entry(what).or_default() += count;
    }
}

fn takeovers(node: &Node) -> usize {
    let mut leases: BTreeMap<&str, &Row> =
        node.before.iter().map(|(n, r)| (n.as_str(), r)).collect();
    let mut count = 0;
    for change in node.transactions.iter().flatten() {
        if let Change::Lease { name, row } = change
            && let Some(before) = leases.insert(name, row)
        {
            count += usize::from(
                before.owner.is_some() && row.owner.is_some() && before.owner != row.owner,
            );
        }
    }
    count
}

/// How long it took until somebody else had a lease that the victim held, or, where a whole server
/// was hit, until anybody was granted anything.
fn takeover_times(history: &History, faults: &[Fault]) -> BTreeMap<String, Vec<Micros>> {
    let mut times: BTreeMap<String, Vec<Micros>> = BTreeMap::new();
    let mut note = |kind: &str, time| times.entry(kind.to_owned()).or_default().push(time);
    for fault in faults {
        match &fault.victim {
            Some(victim) => {
                for time in after_victim(history, victim, fault.at) {
                    note(fault.kind, time);
                }
            }
            None if fault.in_the_way && fault.kind.contains("killed") => {
                if let Some(at) =
                    grants(history).map(|(at, _)| at).filter(|at| *at > fault.at).min()
                {
                    note(fault.kind, at - fault.at);
                }
            }
            None => {}
        }
    }
    times
}

fn grants(history: &History) -> impl Iterator<Item = (Micros, &Operation)> {
    history.operations.iter().filter_map(|o| o.granted().map(|(at, _)| (at, o)))
}

fn after_victim(history: &History, victim: &str, at: Micros) -> Vec<Micros> {
    let mut held: BTreeMap<&str, bool> = BTreeMap::new();
    for operation in history.operations.iter().filter(|o| o.ended_at().is_some_and(|end| end < at))
    {
        let Some(lease) = operation.lease() else { continue };
        let ours = operation.client == victim;
        let released = matches!(operation.ask, Ask::Release { .. });
        match operation.answer() {
            Some(Answer::Granted(_) | Answer::Kept(_)) => {
                held.insert(lease, ours);
            }
            Some(Answer::Done) if released => {
                held.insert(lease, false);
            }
            _ => {}
        }
    }
    // one that works again before anybody else has come was not replaced because of this
    let back = history.operations.iter().filter(|o| o.client == victim && o.asked_at > at);
    let back = back.map(|o| o.asked_at).min().unwrap_or(Micros::MAX);
    let mut times = Vec::new();
    for (lease, _) in held.into_iter().filter(|(_, ours)| *ours) {
        let next = grants(history)
            .filter(|(end, o)| *end > at && o.lease() == Some(lease) && o.client != victim)
            .map(|(end, _)| end)
            .min();
        times.extend(next.filter(|end| *end < back).map(|end| end - at));
    }
    times
}
