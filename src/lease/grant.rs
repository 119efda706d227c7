//! Granting: the end of a token and the beginning of the next, under the locks that make it one step.

use super::{has_it, mint};
use crate::fence::transaction;
use crate::ops::counters::{self, Event};
use crate::ops::history;
use crate::pg::answer::{Answer, Status};
use crate::pg::key::Key;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, LeaseRow};
use crate::pg::{catalog, clock, identity, role};
use crate::rules::change::Manner;
use crate::rules::lease::Terms;
use crate::rules::progress::Progress;
use crate::rules::refusal::{self, Result};
use crate::rules::time;
use std::rc::Rc;

/// Grants the lease under a new token. `row` is locked by this transaction, or None where the name
/// is. The time is read last, so that nothing is born expired. `wait_ms` here and below: how long to
/// wait for each lock, 0 for not at all.
pub fn grant(
    key: &Rc<Key>,
    row: Option<LeaseRow>,
    owner: &str,
    terms: Terms,
    manner: Manner,
    wait_ms: i32,
) -> Result<Answer> {
    let before = row.clone();
    match &row {
        Some(row) => end_token(key, row, wait_ms)?,
        None => announce(key, wait_ms)?,
    }
    let mut row = row.unwrap_or_else(rows::new_lease);
    row.token = mint::next(&key.name, row.token)?;
    let now = clock::now();
    row.expires_at = time::expiry(now, terms.ttl_ms);
    row.ttl_ms = terms.ttl_ms;
    row.quiet_ms = terms.quiet_ms;
    row.work = Progress::begun(terms.stall_ms, now);
    row.late = 0;
    row.since = now;
    row.acquisitions += 1;
    row.home = identity::home();
    row.role = role::caller();
    row.owner = Some(owner.to_owned());
    match &before {
        None => rows::insert_lease(key, &row),
        Some(_) => rows::update_lease(key, &row),
    }
    history::granted(key, before.as_ref(), &row, manner);
    transaction::granted(key, row.token);
    Ok(has_it(key, Status::Granted, &row, now))
}

/// Ends the row's token: from here on no transaction commits under it but this one, whose own writes
/// under it are decided now. Waits for commits in flight.
pub fn end_token(key: &Rc<Key>, row: &LeaseRow, wait_ms: i32) -> Result<()> {
    announce(key, wait_ms)?;
    let tag = Tag::of(Class::Fence, key.hash, row.token);
    lock_or_busy(key, tag, locks::CHANGE, wait_ms)?;
    crate::fence::check::settle(key, row)
}

/// A taker's share of the lock that stands for all leases; from here on ownership changes.
pub fn announce(key: &Rc<Key>, wait_ms: i32) -> Result<()> {
    lock_or_busy(key, Tag::single(Class::All), locks::INTENT, wait_ms)?;
    change_begins(key);
    Ok(())
}

/// From here on this transaction changes who holds a lease. The other sessions are told once.
pub fn change_begins(key: &Rc<Key>) {
    if !transaction::has_changed_ownership() {
        catalog::tell_of_ownership();
    }
    transaction::changed(key);
}

/// Takes the lock, or says who has it.
pub fn lock_or_busy(key: &Key, tag: Tag, mode: i32, wait_ms: i32) -> Result<()> {
    if locks::lock_within(tag, mode, wait_ms) {
        return Ok(());
    }
    counters::count(key, Event::Busy);
    Err(refusal::busy(&key.name, &locks::holders(tag), wait_ms.unsigned_abs().into()))
}
