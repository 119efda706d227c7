//! lease_acquire and lease_acquire_many.

use super::{
    access, check_writable, grant, has_it, has_it_not, in_order, lease_argument, names_argument,
    owner_argument, wait_ms,
};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, identity};
use crate::rules::access::Right;
use crate::rules::lease::{self, Acquire, KeepToken};
use crate::rules::refusal::{Code, Result};
use crate::rules::time::{self, Micros};
use std::rc::Rc;

/// What a candidate asks for.
pub struct Wish<'a> {
    pub owner: &'a str,
    pub ttl_ms: i32,
    pub keep: KeepToken,
    /// How long to wait for each lock; 0: not at all.
    pub wait_ms: i32,
}

impl<'a> Wish<'a> {
    fn read(args: &'a Args) -> Result<Self> {
        Ok(Self {
            owner: owner_argument(args, 1)?,
            ttl_ms: args.ttl_ms(2)?,
            keep: KeepToken::parse(args.text(3, "keep_token")?)?,
            wait_ms: wait_ms(),
        })
    }

    fn decide(&self, row: Option<&LeaseRow>, now: Micros) -> Acquire {
        let lease = row.map(|row| row.as_lease(identity::home()));
        lease::acquire(lease.as_ref(), self.owner, self.keep, now)
    }
}

pub fn acquire(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let wish = Wish::read(args)?;
    check_writable("lease_acquire")?;
    access::check(&key, Right::Use)?;
    acquire_one(&key, &wish)
}

pub fn acquire_many(args: &Args) -> Result<Vec<Answer>> {
    let keys = names_argument(args, 0)?;
    let wish = Wish::read(args)?;
    check_writable("lease_acquire_many")?;
    access::check_all(&keys, Right::Use)?;
    in_order(&keys, |at| match acquire_one(&keys[at], &wish) {
        Err(refusal) if refusal.code == Code::Busy => {
            Ok(has_it_not(&keys[at], Status::Busy, rows::lease(&keys[at]).as_ref(), clock::now()))
        }
        answer => answer,
    })
}

/// Looks before it locks: a refused candidate locks nothing and writes nothing.
pub fn acquire_one(key: &Rc<Key>, wish: &Wish) -> Result<Answer> {
    loop {
        let seen = rows::lease(key);
        let now = clock::now();
        let answer = match wish.decide(seen.as_ref(), now) {
            Acquire::Held => Some(has_it_not(key, Status::Held, seen.as_ref(), now)),
            _ if seen.is_none() => acquire_new(key, wish)?,
            _ => acquire_existing(key, wish)?,
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
    grant::grant(key, None, wish.owner, wish.ttl_ms, wish.wait_ms).map(Some)
}

/// Everything is decided again on the locked row, with the time read after that.
fn acquire_existing(key: &Rc<Key>, wish: &Wish) -> Result<Option<Answer>> {
    let wanted = |row: &LeaseRow| wish.decide(Some(row), clock::now()) != Acquire::Held;
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
        Acquire::Grant => grant::grant(key, Some(row), wish.owner, wish.ttl_ms, wish.wait_ms)?,
        Acquire::Held => has_it_not(key, Status::Held, Some(&row), now),
        Acquire::Keep => {
            (row.expires_at, row.ttl_ms) = (time::expiry(now, wish.ttl_ms), wish.ttl_ms);
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
