//! lease_acquire with `wait`: first come, first served.
//!
//! Those who wait queue for a lock of the lock manager, which takes out of the queue whoever dies, is
//! cancelled or runs out of time. Who has that lock is the head of the queue. The head alone looks at
//! the lease, and sleeps on its latch until the lease is to be had; a commit that changes who has the
//! lease wakes it. Whether it sleeps or queues, a waiter has no lock that anybody else asks for.

use super::access;
use super::acquire::{Wish, acquire_one, grant_to};
use crate::fence::transaction;
use crate::ops::counters::{self, Event};
use crate::pg::answer::Answer;
use crate::pg::client::{self, Watch};
use crate::pg::key::Key;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, identity, latch, subxact, xact};
use crate::rules::access::Right;
use crate::rules::lease::{Acquire, Lease, State};
use crate::rules::refusal::{self, Code, Result};
use crate::rules::time::Micros;
use std::rc::Rc;

/// The head looks at least this often, for what nobody tells of: a clock that is set, a row that was
/// changed by hand, a renewal with a shorter ttl.
const LOOK_MS: i32 = 1_000;

/// Wakes whoever is the head of a queue for a lease that this transaction has just given, ended or
/// dropped. Called after the commit.
pub fn wake() {
    let mut at = 0;
    while let Some(key) = transaction::changed_at(at) {
        locks::wake_holders(queue(&key), locks::CHANGE);
        at += 1;
    }
}

fn queue(key: &Key) -> Tag {
    Tag::of_name(Class::Queue, key.hash)
}

pub fn acquire(key: &Rc<Key>, wish: &Wish, wait_ms: i32) -> Result<Answer> {
    check_place(key)?;
    let deadline = clock::steady() + Micros::from(wait_ms) * 1_000;
    let mut waiter = Waiter { key, wish, wait_ms, deadline, impossible: None, waits: false };
    // who has the lease already does not queue for it
    if waiter.has_it()
        && let Some(answer) = waiter.attempt(None)?
    {
        return Ok(answer);
    }
    let _watch: Watch = client::watch();
    if !locks::try_lock(queue(key), locks::CHANGE) {
        waiter.has_to_wait();
        if !locks::lock_within(queue(key), locks::CHANGE, waiter.left_ms()) {
            return Err(waiter.waited_in_vain());
        }
    }
    waiter.wait_at_the_head()
}

/// While it waits, nobody sees for whom: what others may have to wait for must not be in its hands.
fn check_place(key: &Key) -> Result<()> {
    let why = if identity::keeps_snapshot() {
        "It is REPEATABLE READ or SERIALIZABLE, and its snapshot would hide what is written until \
         the lease is free."
    } else if xact::has_written() {
        "It has written or locked rows, and the deadlock detector does not see for whom it waits."
    } else if !transaction::is_empty() {
        "It has presented a token or holds a lease, and the deadlock detector does not see for \
         whom it waits."
    } else {
        return Ok(());
    };
    Err(refusal::cannot_wait(&key.name, why))
}

struct Waiter<'a> {
    key: &'a Rc<Key>,
    wish: &'a Wish<'a>,
    wait_ms: i32,
    /// By the steady clock, as the next.
    deadline: Micros,
    /// An expiry further away than its ttl, and when it was first seen.
    impossible: Option<(Micros, Micros)>,
    waits: bool,
}

/// What the head does next.
enum Next {
    Try,
    /// Take a lease whose expiry has been impossible for a whole ttl.
    Take(LeaseRow),
    SleepUs(Micros),
}

impl Waiter<'_> {
    /// The row as it stands. The lock on the table goes with the subtransaction: a waiter must not
    /// hold up lease_void_all.
    fn look(&self) -> Option<LeaseRow> {
        subxact::within_if(self.left_ms(), || rows::lease(self.key), |_| false).flatten()
    }

    fn has_it(&self) -> bool {
        let lease = self.look().map(|row| row.as_lease(identity::home()));
        lease.is_some_and(|lease| lease.is_owned_by(self.wish.owner))
    }

    fn wait_at_the_head(&mut self) -> Result<Answer> {
        loop {
            latch::reset();
            xact::check_for_interrupts();
            let seen = self.look();
            let tried = match self.next(seen) {
                Next::Try => self.attempt(None)?,
                Next::Take(row) => self.attempt(Some(row))?,
                Next::SleepUs(us) => {
                    self.has_to_wait();
                    let us = us.min(self.left_us()).clamp(0, Micros::from(LOOK_MS) * 1_000);
                    latch::sleep(us.unsigned_abs().div_ceil(1_000).cast_signed());
                    None
                }
            };
            match tried {
                Some(answer) => return Ok(answer),
                None if self.left_us() <= 0 => return Err(self.waited_in_vain()),
                None => {}
            }
        }
    }

    /// Each wait is counted once.
    fn has_to_wait(&mut self) {
        if !self.waits {
            counters::count(self.key, Event::Wait);
        }
        self.waits = true;
    }

    fn next(&mut self, seen: Option<LeaseRow>) -> Next {
        let now = clock::now();
        let Some(row) = seen else { return Next::Try };
        match self.wish.decide(Some(&row), now) {
            Acquire::Grant | Acquire::Keep => Next::Try,
            Acquire::Held | Acquire::Quiet | Acquire::Stalled => {
                let free_at = row.as_lease(identity::home()).free_at(now).unwrap_or(now);
                Next::SleepUs(free_at.saturating_sub(now))
            }
            Acquire::PullIn => self.next_of_impossible(row),
        }
    }

    /// A clock that stepped back must not freeze the queue. To pull the expiry in would lock the row
    /// for as long as this waits; a renewal writes another one, so one that stands for a ttl is over.
    fn next_of_impossible(&mut self, row: LeaseRow) -> Next {
        let steady = clock::steady();
        let since = match self.impossible {
            Some((expiry, since)) if expiry == row.expires_at => since,
            _ => steady,
        };
        self.impossible = Some((row.expires_at, since));
        let span = (Micros::from(row.ttl_ms) + Micros::from(row.quiet_ms)) * 1_000;
        let left = since + span - steady;
        if left > 0 { Next::SleepUs(left) } else { Next::Take(row) }
    }

    /// Tries to get the lease, as a candidate does that does not wait. What is in another session's
    /// hands is waited for, for a moment. None: not now, and nothing is kept of the attempt.
    fn attempt(&self, overdue: Option<LeaseRow>) -> Result<Option<Answer>> {
        client::check();
        access::check(self.key, Right::Use)?;
        let wait_ms = self.left_ms().clamp(1, LOOK_MS);
        let wish = Wish { wait_ms, ..*self.wish };
        let is_grant =
            |tried: &Result<Answer>| matches!(tried, Ok(answer) if answer.token.is_some());
        let attempt = || match &overdue {
            None => acquire_one(self.key, &wish),
            Some(row) => take(self.key, &wish, row),
        };
        match subxact::within_if(wait_ms, attempt, is_grant) {
            Some(Ok(answer)) if answer.token.is_some() => Ok(Some(answer)),
            Some(Err(refusal)) if refusal.code != Code::Busy => Err(refusal),
            _ => Ok(None),
        }
    }

    fn left_us(&self) -> Micros {
        self.deadline - clock::steady()
    }

    /// At least 1: a lock_timeout of 0 would be none.
    fn left_ms(&self) -> i32 {
        i32::try_from(self.left_us() / 1_000).unwrap_or(i32::MAX).max(1)
    }

    fn waited_in_vain(&self) -> refusal::Refusal {
        let seen = self.look().map(|row| row.as_lease(identity::home()));
        let state = seen.as_ref().map(|lease| lease.state(clock::now()));
        let fact = match (state, &seen) {
            (Some(State::Held), Some(Lease { owner: Some(owner), expires_at, .. })) => {
                format!("It is held by \"{owner}\" until {}.", clock::shown(*expires_at))
            }
            (Some(State::Quiet), Some(lease)) => {
                format!("It is in its quiet period until {}.", clock::shown(lease.quiet_until()))
            }
            _ => "Other sessions were before this one.".to_owned(),
        };
        refusal::waited_in_vain(&self.key.name, self.wait_ms, &fact)
    }
}

/// Grants the lease if it is still as it was seen.
fn take(key: &Rc<Key>, wish: &Wish, seen: &LeaseRow) -> Result<Answer> {
    let as_seen = |row: &LeaseRow| row.token == seen.token && row.expires_at == seen.expires_at;
    match rows::lock_lease(key, wish.wait_ms, as_seen) {
        Locked::Row(row) => grant_to(key, Some(row), wish),
        _ => acquire_one(key, wish),
    }
}
