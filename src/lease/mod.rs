//! Leases: one verb a file, and what they share.

pub mod access;
pub mod acquire;
pub mod drop;
pub mod grant;
pub mod mint;
pub mod release;
pub mod renew;
pub mod sign;
pub mod takeover;
pub mod wait;

use crate::ops::counters::{self, Event};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::{Key, key};
use crate::pg::rows::LeaseRow;
use crate::pg::{clock, identity, locks, settings};
use crate::rules::access::Right;
use crate::rules::lease::State;
use crate::rules::refusal::{self, Refusal, Result};
use crate::rules::{name, signature, time::Micros};
use std::rc::Rc;

/// The most names that one call takes. Each grant holds a lock to the end of its transaction, and a
/// server with default settings has room for several thousand.
const MOST_NAMES: usize = 1_000;

/// How long a call waits for a lock where lock_timeout is 0: long enough for every commit that is
/// not stuck, and no frozen client can hold up a candidate for longer.
const DEFAULT_WAIT_MS: i32 = 5_000;

pub fn home(_: &Args) -> Result<i64> {
    Ok(identity::home())
}

/// How long a call waits for locks.
pub fn wait_ms() -> i32 {
    match settings::lock_timeout_ms() {
        0 => DEFAULT_WAIT_MS,
        ms => ms,
    }
}

/// Refuses a writing call where nothing can be written.
pub fn check_writable(function: &str) -> Result<()> {
    if identity::in_recovery() {
        return Err(refusal::read_only(function, true));
    }
    if identity::read_only() {
        return Err(refusal::read_only(function, false));
    }
    Ok(())
}

/// The lease that argument `index` names.
pub fn lease_argument(args: &Args, index: usize) -> Result<Rc<Key>> {
    checked_key(args.text(index, "name")?)
}

/// The public half of a key that argument `index` holds.
pub fn key_argument(args: &Args, index: usize) -> Result<&str> {
    let public_key = args.text(index, "public_key")?;
    signature::Trusted::new(public_key, "*")?;
    Ok(public_key)
}

fn checked_key(text: &str) -> Result<Rc<Key>> {
    name::check_lease(text)?;
    Ok(key(text))
}

fn owner_argument(args: &Args, index: usize) -> Result<&str> {
    let owner = args.text(index, "owner")?;
    name::check_owner(owner)?;
    Ok(owner)
}

fn names_argument(args: &Args, index: usize) -> Result<Vec<Rc<Key>>> {
    let names = args.texts(index, "names")?;
    if names.len() > MOST_NAMES {
        return Err(refusal::too_many("names", MOST_NAMES, names.len()));
    }
    names.iter().map(|name| checked_key(name)).collect()
}

/// Answers each key once, in the one global order of names, and returns the answers in the order in
/// which the keys were given.
fn in_order(
    keys: &[Rc<Key>],
    mut answer: impl FnMut(usize) -> Result<Answer>,
) -> Result<Vec<Answer>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys[*a].name.cmp(&keys[*b].name));
    let mut answers: Vec<Option<Answer>> = vec![None; keys.len()];
    for at in order {
        answers[at] = Some(answer(at)?);
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Another transaction, with this number, has the lease's row.
fn row_busy(key: &Key, xid: u32, wait_ms: i32) -> Refusal {
    counters::count(key, Event::Busy);
    refusal::busy(&key.name, &locks::holder_of_transaction(xid), wait_ms.unsigned_abs().into())
}

/// The answer to a caller that has the lease.
fn has_it(key: &Key, status: Status, row: &LeaseRow, now: Micros) -> Answer {
    counters::answered(key, status);
    Answer {
        name: key.name.clone(),
        status,
        owner: row.owner.clone(),
        token: Some(row.token),
        expires_at: Some(row.expires_at),
        now,
        ttl_ms: Some(row.ttl_ms),
    }
}

/// The answer to a caller that does not have it: who has, and for how long.
fn has_it_not(key: &Key, status: Status, row: Option<&LeaseRow>, now: Micros) -> Answer {
    counters::answered(key, status);
    without_it(key, status, row, now)
}

/// The same, where it has been counted already.
fn without_it(key: &Key, status: Status, row: Option<&LeaseRow>, now: Micros) -> Answer {
    let held = row.filter(|row| row.owner.is_some());
    Answer {
        name: key.name.clone(),
        status,
        owner: held.and_then(|row| row.owner.clone()),
        token: None,
        expires_at: held.map(|row| row.expires_at),
        now,
        ttl_ms: None,
    }
}

/// The answer to a caller that comes in the lease's quiet period: when that ends.
fn is_quiet(key: &Key, row: &LeaseRow, now: Micros) -> Answer {
    let until = row.as_lease(identity::home()).free_at(now);
    Answer { expires_at: until, ..has_it_not(key, Status::Quiet, Some(row), now) }
}

/// What became of a lease, for the DETAIL of a refusal: checks are open to everybody, and must not
/// tell what lease.status would not show.
pub fn fact(key: &Key, row: Option<&LeaseRow>) -> String {
    let Some(row) = row else {
        return "The lease does not exist any more.".to_owned();
    };
    if !access::may(&key.name, Right::List) {
        return "What became of it is told to roles that may list it.".to_owned();
    }
    let since = clock::shown(row.since);
    let owner = row.owner.as_deref().unwrap_or_default();
    match row.as_lease(identity::home()).state(clock::now()) {
        State::Free => format!("Token {} was released at {since}.", row.token),
        State::Void => "It was granted in another copy of this database.".to_owned(),
        State::Held | State::Quiet | State::Expired => {
            format!("The current token is {}, held by \"{owner}\" since {since}.", row.token)
        }
    }
}
