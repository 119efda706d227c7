//! A fleet's workers as they know each other: who lives, who is silent, which incarnation counts.
//!
//! Silence is measured by the server's steady clock, which nobody sets: a jump of the clock that
//! leases expire by makes nobody silent.

use super::shard::SEPARATOR;
use super::time::Micros;
use std::collections::HashMap;

/// The fleet whose leases have no prefix.
pub const DEFAULT_FLEET: &str = "controllers";

/// Rows of workers that have been silent for so many times `live_for` are deleted.
const FORGET_AFTER: i64 = 20;

/// So many former incarnations of a worker that lives are remembered for longer, so that none of
/// them can pass for a new one.
const FORMER_KEPT: usize = 10;

/// When a row was last written, by a steady clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub at: Micros,
    /// Which start of the server the clock belongs to: another one's cannot be compared.
    pub server: i64,
    /// The fleet's first pass under that start.
    pub began: Micros,
}

/// One incarnation of a worker, as its row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The owner of its leases: `worker` or `worker#incarnation`.
    pub owner: String,
    pub fleet: String,
    /// Counts the incarnations of a worker in the order in which they came.
    pub term: i64,
    pub heard: Heard,
    pub shards: u32,
    /// Written by a role that the caller is not a member of.
    pub foreign: bool,
}

/// A worker's name within its fleet and without: fleets other than the default one are a prefix.
pub fn worker_id(fleet: &str, worker: &str) -> String {
    if fleet == DEFAULT_FLEET { worker.to_owned() } else { format!("{fleet}/{worker}") }
}

/// The name that `worker_id` was made of.
pub fn without_fleet<'a>(fleet: &str, id: &'a str) -> &'a str {
    let prefix = id.strip_prefix(fleet).and_then(|rest| rest.strip_prefix('/'));
    if fleet == DEFAULT_FLEET { id } else { prefix.unwrap_or(id) }
}

pub fn owner(worker: &str, incarnation: &str) -> String {
    if incarnation.is_empty() {
        worker.to_owned()
    } else {
        format!("{worker}{SEPARATOR}{incarnation}")
    }
}

/// The worker and the incarnation that an owner's text names.
pub fn parts(owner: &str) -> (&str, &str) {
    owner.split_once(SEPARATOR).unwrap_or((owner, ""))
}

pub fn shard_lease(fleet: &str, shard: u32) -> String {
    worker_id(fleet, &format!("shard:{shard}"))
}

/// Whether a lease has the name of a shard, in whatever fleet.
pub fn is_shard_lease(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    last.strip_prefix("shard:").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// The steady clock now, and the start of the server that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub steady: Micros,
    pub server: i64,
}

/// For how long a member may be silent, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From then on the others look after its shards.
    pub ttl: Micros,
    /// From then on it is no longer in the live set.
    pub live_for: Micros,
}

/// The members of all fleets, and how long each has been silent.
pub struct Roster {
    seen: Vec<Seen>,
    by_owner: HashMap<String, usize>,
}

pub struct Seen {
    pub member: Member,
    pub age: Micros,
    /// How many newer incarnations of the worker there are.
    pub newer: usize,
}

impl Seen {
    pub fn worker(&self) -> &str {
        parts(&self.member.owner).0
    }

    /// Fenced: a newer incarnation of the worker has passed.
    pub fn is_former(&self) -> bool {
        self.newer > 0
    }
}

/// The fleet's first pass under this start of the server: of those who know, the earliest.
pub fn began(members: &[Member], fleet: &str, now: Moment) -> Micros {
    let known = members.iter().filter(|m| m.fleet == fleet && m.heard.server == now.server);
    known.map(|m| m.heard.began).min().unwrap_or(now.steady)
}

impl Roster {
    pub fn new(members: Vec<Member>, now: Moment) -> Self {
        let mut begun: HashMap<String, Micros> = HashMap::new();
        let mut terms: HashMap<(String, String), Vec<(i64, String)>> = HashMap::new();
        for m in &members {
            let begin = || began(&members, &m.fleet, now);
            begun.entry(m.fleet.clone()).or_insert_with(begin);
            let worker = parts(&m.owner).0.to_owned();
            let of_worker = terms.entry((m.fleet.clone(), worker)).or_default();
            of_worker.push((m.term, m.owner.clone()));
        }
        let look = |member: Member| {
            let key = (member.fleet.clone(), parts(&member.owner).0.to_owned());
            let mine = (member.term, member.owner.clone());
            let newer = terms.get(&key).map_or(0, |all| all.iter().filter(|o| **o > mine).count());
            let begun = begun.get(&member.fleet).copied().unwrap_or(now.steady);
            Seen { age: age(member.heard, begun, now), newer, member }
        };
        let seen: Vec<Seen> = members.into_iter().map(look).collect();
        let owners = seen.iter().map(|s| s.member.owner.clone());
        Self { by_owner: owners.zip(0..).collect(), seen }
    }

    pub fn of_fleet(&self, fleet: &str) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.member.fleet == fleet)
    }

    pub fn get(&self, owner: &str) -> Option<&Seen> {
        self.by_owner.get(owner).and_then(|at| self.seen.get(*at))
    }

    /// The newest incarnation of a worker, if there is another than `owner`'s that is newer.
    pub fn newer_than(&self, fleet: &str, owner: &str) -> Option<&Seen> {
        self.get(owner).filter(|seen| seen.is_former())?;
        let worker = parts(owner).0;
        self.of_fleet(fleet).find(|seen| seen.worker() == worker && !seen.is_former())
    }

    /// The number of the incarnation that comes next.
    pub fn next_term(&self, fleet: &str, worker: &str) -> i64 {
        let terms = self.of_fleet(fleet).filter(|seen| seen.worker() == worker);
        terms.map(|seen| seen.member.term).max().unwrap_or(0).saturating_add(1)
    }

    /// The members of a fleet in the live set.
    pub fn live(&self, fleet: &str, patience: Patience) -> impl Iterator<Item = &Seen> {
        self.of_fleet(fleet).filter(move |seen| !seen.is_former() && seen.age <= patience.live_for)
    }

    /// Whether the next heartbeat of whoever holds leases under this name is still on its way.
    pub fn is_awaited(&self, owner: &str, patience: Patience) -> bool {
        self.get(owner).is_some_and(|seen| !seen.is_former() && seen.age <= patience.ttl)
    }

    /// The rows of a fleet that are to be deleted.
    pub fn forgotten(&self, fleet: &str, patience: Patience) -> Vec<String> {
        let limit = patience.live_for.saturating_mul(FORGET_AFTER);
        let current_lives = |of: &Seen| {
            self.of_fleet(fleet)
                .any(|s| s.worker() == of.worker() && !s.is_former() && s.age <= limit)
        };
        let goes = |seen: &&Seen| {
            seen.age > limit
                && !(seen.is_former() && seen.newer <= FORMER_KEPT && current_lives(seen))
        };
        self.of_fleet(fleet).filter(goes).map(|seen| seen.member.owner.clone()).collect()
    }
}

/// How long a member has been silent. What it did before the server started again is no guide: it
/// is given the time since the fleet went on.
fn age(heard: Heard, began: Micros, now: Moment) -> Micros {
    let since = if heard.server == now.server { heard.at } else { began };
    now.steady.saturating_sub(since).max(0)
}
