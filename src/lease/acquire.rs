//! lease_acquire and lease_acquire_many.

use super::{
    access, check_writable, grant, has_it, has_it_not, in_order, is_quiet, lease_argument,
    names_argument, owner_argument, wait, wait_ms, without_it,
};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, identity};
use crate::rules::access::Right;
use crate::rules::change::Manner;
use crate::rules::lease::{self, Acquire, KeepToken, Terms};
use crate::rules::refusal::{Code, Result};
use crate::rules::time::{self, Micros};
use std::rc::Rc;

/// What a candidate asks for.
pub struct Wish<'a> {
    pub owner: &'a str,
    pub terms: Terms,
    /// What an acquire that keeps the token does with the terms of the lease but its ttl: acquire_many
    /// and the fleet, which cannot name them, leave them.
    pub sets_terms: bool,
    pub keep: KeepToken,
    /// How long to wait for each lock; 0: not at all.
    pub wait_ms: i32,
}

impl<'a> Wish<'a> {
    fn read(args: &'a Args) -> Result<Self> {
        Ok(Self {
            owner: owner_argument(args, 1)?,
            terms: Terms::only(args.ttl_ms(2)?),
            sets_terms: false,
            keep: KeepToken::parse(args.text(3, "keep_token")?)?,
            wait_ms: wait_ms(),
        })
    }

    /// With what lease_acquire can ask for, and lease_acquire_many cannot.
    fn read_one(args: &'a Args) -> Result<Self> {
        let mut wish = Self::read(args)?;
        wish.terms.stall_ms = args.optional_span_ms(5, "stall_after")?.unwrap_or(0);
        wish.terms.quiet_ms = args.span_or_zero_ms(6, "quiet_period")?;
        wish.sets_terms = true;
        Ok(wish)
    }

    /// What the row says after an acquire that keeps its token.
    fn keep(&self, row: &mut LeaseRow, now: Micros) {
        row.late = lease::late_in_a_row(row.late, row.expires_at, row.ttl_ms, now);
        (row.expires_at, row.ttl_ms) = (time::expiry(now, self.terms.ttl_ms), self.terms.ttl_ms);
        if self.sets_terms {
            row.quiet_ms = self.terms.quiet_ms;
            row.work = row.work.watched(self.terms.stall_ms, now);
        }
    }

    /// None: the lease is to be had, or nearly.
    fn refused(&self, key: &Key, row: Option<&LeaseRow>, now: Micros) -> Option<Answer> {
        match (self.decide(row, now), row) {
            (Acquire::Held, _) => Some(has_it_not(key, Status::Held, row, now)),
            (Acquire::Stalled, _) => Some(has_it_not(key, Status::Stalled, row, now)),
            (Acquire::Quiet, Some(row)) => Some(is_quiet(key, row, now)),
            _ => None,
        }
    }

    pub fn decide(&self, row: Option<&LeaseRow>, now: Micros) -> Acquire {
        let lease = row.map(|row| row.as_lease(identity::home()));
        lease::acquire(lease.as_ref(), self.owner, self.keep, now)
    }
}

pub fn acquire(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let wish = Wish::read_one(args)?;
    let wait_ms = args.span_or_zero_ms(4, "wait")?;
    check_writable("lease_acquire")?;
    access::check(&key, Right::Use)?;
    if wait_ms > 0 { wait::acquire(&key, &wish, wait_ms) } else { acquire_one(&key, &wish) }
}

pub fn acquire_many(args: &Args) -> Result<Vec<Answer>> {
    let keys = names_argument(args, 0)?;
    let wish = Wish::read(args)?;
    check_writable("lease_acquire_many")?;
    access::check_all(&keys, Right::Use)?;
    in_order(&keys, |at| match acquire_one(&keys[at], &wish) {
        Err(refusal) if refusal.code == Code::Busy => {
            Ok(without_it(&keys[at], Status::Busy, rows::lease(&keys[at]).as_ref(), clock::now()))
        }
        answer => answer,
    })
}

/// Looks before it locks: a refused candidate locks nothing and writes nothing.
pub fn acquire_one(key: &Rc<Key>, wish: &Wish) -> Result<Answer> {
    loop {
        let seen = rows::lease(key);
        let answer = match wish.refused(key, seen.as_ref(), clock::now()) {
            Some(refused) => Some(refused),
            None if seen.is_none() => acquire_new(key, wish)?,
            None => acquire_existing(key, wish)?,
        };
        if let Some(answer) = answer {
            return Ok(answer);
        }
    }
}

/// A name without a row: the name is locked first, so that two first acquires do not wait for each
/// other's invisible row. None when somebody else has made the row meanwhile.
fn acquire_new(key: &Rc<Key>, wish: &Wish) -> Result<Option<Answer>> {
    if !locks::lock_within(Tag::of_name(Class::Name, key.hash), locks::CHANGE, wish.wait_ms) {
        return Ok(Some(has_it_not(key, Status::Busy, None, clock::now())));
    }
    if rows::lease(key).is_some() {
        return Ok(None);
    }
    grant_to(key, None, wish).map(Some)
}

/// Grants it as it is asked for.
pub fn grant_to(key: &Rc<Key>, row: Option<LeaseRow>, wish: &Wish) -> Result<Answer> {
    grant::grant(key, row, wish.owner, wish.terms, Manner::Asked, wish.wait_ms)
}

/// Everything is decided again on the locked row, with the time read after that.
fn acquire_existing(key: &Rc<Key>, wish: &Wish) -> Result<Option<Answer>> {
    let wanted = |row: &LeaseRow| !wish.decide(Some(row), clock::now()).is_refused();
    let mut row = match rows::lock_lease(key, wish.wait_ms, wanted) {
        Locked::Missing | Locked::Unwanted(_) => return Ok(None),
        Locked::Busy(_) => {
            let seen = rows::lease(key);
            return Ok(Some(has_it_not(key, Status::Busy, seen.as_ref(), clock::now())));
        }
        Locked::Row(row) => row,
    };
    let now = clock::now();
    let answer = match wish.decide(Some(&row), now) {
        Acquire::Grant => grant_to(key, Some(row), wish)?,
        Acquire::Held => has_it_not(key, Status::Held, Some(&row), now),
        Acquire::Stalled => has_it_not(key, Status::Stalled, Some(&row), now),
        Acquire::Quiet => is_quiet(key, &row, now),
        Acquire::Keep => {
            wish.keep(&mut row, now);
            rows::update_lease(key, &row);
            has_it(key, Status::Renewed, &row, now)
        }
        Acquire::PullIn => {
            row.expires_at = time::expiry(now, row.ttl_ms);
            rows::update_lease(key, &row);
            has_it_not(key, Status::Held, Some(&row), now)
        }
    };
    Ok(Some(answer))
}
