//! The check at the commit: under a lock that a takeover must have first, and that is held through
//! the commit. A transaction of an old holder commits before the takeover does, or never.

use super::transaction::{self, Entry, Rule};
use super::{check, newest, presented, row};
use crate::lease::wait;
use crate::mutant::{Mutant, is_on};
use crate::ops::refused;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::xact::{self, Hooks};
use crate::rules::refusal::{self, Result};

pub const HOOKS: Hooks = Hooks {
    before_commit,
    before_prepare,
    committed: wait::wake,
    ended,
    sub_committed: transaction::hand_to_parent,
    sub_aborted: transaction::undo,
};

/// A transaction that wrote under more leases than this takes one lock for all of them: thousands
/// would use up the server's lock table.
pub const MOST_SINGLE_LOCKS: usize = 64;

/// How long such a transaction waits for changes of ownership to end. Others never wait.
const COARSE_WAIT_MS: u32 = 1_000;

fn before_commit() -> Result<()> {
    transaction::start_deciding();
    if transaction::must_last() && !is_on(Mutant::DurableCommit) {
        xact::commit_durably();
    }
    if is_on(Mutant::CommitCheck) { Ok(()) } else { decide() }
}

fn ended() {
    transaction::forget();
    presented::forget_many();
    row::forget();
}

fn before_prepare() -> Result<()> {
    transaction::start_deciding();
    if let Some(lease) = transaction::changed_lease() {
        return Err(refusal::prepare_after_change(&lease));
    }
    if let Some(job) = transaction::begun_job() {
        return Err(refusal::prepare_after_run(&job));
    }
    if is_on(Mutant::PrePrepare) { Ok(()) } else { decide() }
}

/// A transaction that has written nothing has nothing to answer for.
fn decide() -> Result<()> {
    let count = transaction::count_unsettled();
    if count == 0 || !xact::has_written() {
        return Ok(());
    }
    let coarse = count > MOST_SINGLE_LOCKS;
    if coarse {
        lock_all(count)?;
    }
    for at in 0..transaction::entries() {
        if let Some(entry) = transaction::unsettled(at) {
            decide_one(&entry, coarse)?;
        }
    }
    Ok(())
}

/// Decides an entry that was added after the commit check had run.
pub fn decide_last() -> Result<()> {
    let last = transaction::entries().checked_sub(1);
    match last.and_then(transaction::unsettled) {
        Some(entry) => decide_one(&entry, false),
        None => Ok(()),
    }
}

fn decide_one(entry: &Entry, is_locked: bool) -> Result<()> {
    let told = |refusal| refused::at_commit(&entry.key, entry.token, refusal);
    decide_quietly(entry, is_locked).map_err(told)
}

fn decide_quietly(entry: &Entry, is_locked: bool) -> Result<()> {
    let Entry { key, token, rule, .. } = entry;
    let tag = Tag::of(check::class(*rule), key.hash, *token);
    // never waits: a taker that next touches a row of ours would wait for us
    let is_locked = is_locked || is_on(Mutant::LockMode);
    if !is_locked && !locks::try_lock(tag, locks::COMMIT) {
        return Err(refusal::takeover_under_way(&key.name, *token));
    }
    match rule {
        Rule::Newest => newest::confirm(key, *token),
        Rule::Current | Rule::Live => check::confirm(key, *token, *rule == Rule::Live, true),
    }
}

/// Locks out every change of ownership. Looks again and again rather than queueing, so that it holds
/// no taker up before it has the lock.
fn lock_all(count: usize) -> Result<()> {
    let tag = Tag::single(Class::All);
    for _ in 0..COARSE_WAIT_MS {
        if locks::try_lock(tag, locks::EVERYTHING) {
            return Ok(());
        }
        xact::nap();
    }
    let first = (0..transaction::entries()).find_map(transaction::unsettled);
    let (name, token) = first.as_ref().map(|e| (e.key.name.clone(), e.token)).unwrap_or_default();
    let refusal = refusal::change_under_way(&name, token, count);
    Err(match first {
        Some(entry) => refused::at_commit(&entry.key, token, refusal),
        None => refusal,
    })
}
