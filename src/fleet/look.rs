//! lease_fleet: a fleet as people look at it, by the rules that its workers go by.

use super::{fleet_argument, moment};
use crate::lease::access;
use crate::pg::call::Args;
use crate::pg::fleet_rows::WorkerShown;
use crate::pg::key::key;
use crate::pg::members::{self, WorkerRow};
use crate::pg::{clock, identity, rows};
use crate::rules::access::Right;
use crate::rules::lease::State;
use crate::rules::refusal::Result;
use crate::rules::roster::{self, Heard, Moment, Roster, Seen};
use crate::rules::shard;
use crate::rules::time::Micros;

pub fn fleet(args: &Args) -> Result<Vec<WorkerShown>> {
    let fleet = fleet_argument(args, 0)?;
    access::check(&key(&roster::shard_lease(&fleet, 0)), Right::List)?;
    let mut rows = members::all();
    rows.retain(|row| row.member.fleet == fleet);
    rows.sort_by(|a, b| a.member.owner.cmp(&b.member.owner));
    let newest = rows.iter().max_by_key(|row| row.heartbeat_at);
    let shards = newest.map_or(0, |row| row.member.shards);
    let roster = roster_of(&rows);
    let leases = Leases::read(&fleet, shards, &rows, &roster);
    Ok(rows.iter().filter_map(|row| show(row, roster.get(&row.member.owner)?, &leases)).collect())
}

/// A standby has no steady clock that the workers were heard by: there the common clock must do.
fn roster_of(rows: &[WorkerRow]) -> Roster {
    let standby = identity::in_recovery();
    let member = |row: &WorkerRow| {
        let mut member = row.member.clone();
        if standby {
            member.heard = Heard { at: row.heartbeat_at, server: 0, began: row.heartbeat_at };
        }
        member
    };
    let now = if standby { Moment { steady: clock::now(), server: 0 } } else { moment() };
    Roster::new(rows.iter().map(member).collect(), now)
}

fn state(row: &WorkerRow, seen: &Seen) -> &'static str {
    let longer_than = |ms: i32| seen.age > Micros::from(ms) * 1_000;
    match () {
        () if seen.is_former() => "fenced",
        () if longer_than(row.live_for_ms) => "gone",
        () if longer_than(row.ttl_ms) => "silent",
        () => "live",
    }
}

/// Who has each shard under a live lease, and to whom it is due.
struct Leases {
    holders: Vec<Option<String>>,
    due: Vec<String>,
    singletons: Vec<Option<String>>,
}

impl Leases {
    fn read(fleet: &str, shards: u32, rows: &[WorkerRow], roster: &Roster) -> Self {
        let live = rows.iter().filter(|row| {
            let seen = roster.get(&row.member.owner);
            seen.is_some_and(|seen| matches!(state(row, seen), "live" | "silent"))
        });
        let owners: Vec<&str> = live.map(|row| row.member.owner.as_str()).collect();
        let workers: Vec<&str> = owners.iter().map(|owner| roster::parts(owner).0).collect();
        let due = if workers.is_empty() { Vec::new() } else { shard::owners(&workers, 0..shards) };
        let names = (0..shards).map(|s| roster::shard_lease(fleet, s));
        Self {
            holders: holders(names),
            due: due.into_iter().map(|at| owners[at].to_owned()).collect(),
            singletons: holders(rows.iter().flat_map(|row| members::singletons(&row.member.owner))),
        }
    }
}

fn holders(names: impl Iterator<Item = String>) -> Vec<Option<String>> {
    let keys: Vec<_> = names.map(|name| key(&name)).collect();
    let (now, home) = (clock::now(), identity::home());
    let holder = |row: Option<rows::LeaseRow>| {
        let row = row?;
        if row.as_lease(home).state(now) == State::Held { row.owner } else { None }
    };
    rows::leases(keys.iter()).into_iter().map(holder).collect()
}

fn show(row: &WorkerRow, seen: &Seen, leases: &Leases) -> Option<WorkerShown> {
    let owner = &row.member.owner;
    let state = state(row, seen);
    let holds = |holder: &Option<String>| holder.as_ref() == Some(owner);
    let count = |of: &[Option<String>]| of.iter().filter(|holder| holds(holder)).count() as i64;
    let due = leases.due.iter().zip(&leases.holders).filter(|(due, _)| *due == owner);
    let left = due.clone().filter(|(_, holder)| !holds(holder)).count();
    let (worker, incarnation) = roster::parts(owner);
    let worker = roster::without_fleet(&row.member.fleet, worker);
    Some(WorkerShown {
        worker: worker.to_owned(),
        incarnation: incarnation.to_owned(),
        state,
        silent_us: seen.age,
        shards: count(&leases.holders),
        due: due.count() as i64,
        orphaned: if state == "silent" { left as i64 } else { 0 },
        singletons: count(&leases.singletons),
        skew_us: row.skew_us,
        heartbeat_at: row.heartbeat_at,
        jump_us: row.jump_us,
        jumped_at: row.jumped_at,
    })
}
