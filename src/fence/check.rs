//! The check at the statement: with the newest state, whatever the transaction's snapshot is, and
//! without any lock that a renewal or a takeover would wait for.

use super::presented::Shown;
use super::transaction::{self, Rule};
use super::{commit, memory, newest, signature};
use crate::lease::{access, fact, lease_argument};
use crate::mutant::{Mutant, is_on};
use crate::ops::refused;
use crate::pg::call::Args;
use crate::pg::key::{Good, Key};
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, LeaseRow, Which};
use crate::pg::{catalog, clock, identity, role};
use crate::rules::fence::{Fence, Mode, Verdict, judge};
use crate::rules::refusal::{self, Refusal, Result};
use std::rc::Rc;

/// lease_fence_check.
pub fn fence_check(args: &Args) -> Result<()> {
    let key = lease_argument(args, 0)?;
    let token = args.bigint(1, "token")?;
    let mode = Mode::parse(args.text(2, "mode")?)?;
    if token <= 0 {
        return Err(refusal::bad_token(token));
    }
    let shown = Shown { token, signature: signature::argument(args, 3)? };
    let may_raise = mode != Mode::Newest || role::may_raise_fences(args);
    let told = |refusal| refused::at_statement(&key, Some(token), refusal);
    check_presented(&key, &shown, mode, may_raise).map_err(told)?;
    transaction::declare(&key, shown);
    Ok(())
}

fn check_presented(key: &Rc<Key>, shown: &Shown, mode: Mode, may_raise: bool) -> Result<()> {
    signature::prove(key, shown)?;
    if !may_raise {
        newest::refuse_unraised(key, shown.token)?;
    }
    check(key, shown, mode)
}

/// Refuses unless the token is good now; otherwise the commit depends on it.
pub fn check(key: &Rc<Key>, shown: &Shown, mode: Mode) -> Result<()> {
    let token = shown.token;
    let rule = match mode {
        Mode::Current => Rule::Current,
        Mode::Live => Rule::Live,
        Mode::Newest => Rule::Newest,
    };
    let role = role::caller();
    if transaction::answers_for(key, token, rule, role) {
        return Ok(());
    }
    if identity::in_recovery() {
        return Err(refusal::standby_check(&key.name));
    }
    match rule {
        Rule::Newest => newest::obey(key, shown)?,
        Rule::Current | Rule::Live => {
            rows::lock_for_looking(Which::Lease);
            confirm(key, token, rule == Rule::Live, false)?;
        }
    }
    if identity::keeps_snapshot() {
        refuse_old_snapshot(key, token, rule)?;
    }
    show_presence(key, token, rule);
    transaction::answer_for(key, token, rule, role);
    if transaction::is_deciding() {
        commit::decide_last()?;
    }
    Ok(())
}

/// A snapshot from before the grant may miss what the predecessor wrote last.
fn refuse_old_snapshot(key: &Key, token: i64, rule: Rule) -> Result<()> {
    if transaction::was_granted_here(key, token) {
        return Err(refusal::granted_in_this_snapshot(&key.name, token));
    }
    let seen = match rule {
        Rule::Newest => rows::newest_in_snapshot(key),
        Rule::Current | Rule::Live => rows::token_in_snapshot(key),
    };
    if seen == Some(token) { Ok(()) } else { Err(refusal::snapshot_too_old(&key.name, token)) }
}

/// More presence locks than this would crowd the server's lock table.
const MOST_PRESENCES: usize = commit::MOST_SINGLE_LOCKS;

/// Lets others see in pg_locks that this transaction is in the middle of work under the token.
fn show_presence(key: &Key, token: i64, rule: Rule) {
    if transaction::entries() < MOST_PRESENCES {
        locks::try_lock(Tag::of(class(rule), key.hash, token), locks::PRESENCE);
    }
}

pub fn class(rule: Rule) -> Class {
    match rule {
        Rule::Newest => Class::Newest,
        Rule::Current | Rule::Live => Class::Fence,
    }
}

/// Refuses unless the lease's row says that the token is good, and that the caller may present it.
/// The table is locked. `again`: this transaction was let through before, and only the token is
/// judged again.
pub fn confirm(key: &Key, token: i64, live: bool, again: bool) -> Result<()> {
    let taker = taker(key, token, live)?;
    if again { Ok(()) } else { access::check_taker(key, taker) }
}

/// The role that has taken the lease under this token, if the token is good.
fn taker(key: &Key, token: i64, live: bool) -> Result<u32> {
    if !is_on(Mutant::Deaf) {
        catalog::listen();
    }
    if let Some(good) = memory::knows(&key.lease_good, token).filter(|_| !live) {
        return Ok(good.taker);
    }
    let ownership = catalog::ownership();
    let fence = rows::lease_fence(key, identity::home());
    match (judge(fence.as_ref(), token, live, clock::now), &fence) {
        (Verdict::Good, Some(fence)) => {
            memory::learn(&key.lease_good, Good { token, taker: fence.role, ownership });
            Ok(fence.role)
        }
        (verdict, _) => Err(explain(key, token, verdict)),
    }
}

fn explain(key: &Key, token: i64, verdict: Verdict) -> Refusal {
    let row = rows::lease(key);
    let lost = |row: Option<&LeaseRow>| refusal::lost(&key.name, token, &fact(key, row));
    match (verdict, &row) {
        (Verdict::Unknown, _) | (_, None) => refusal::never_granted(&key.name, token),
        (Verdict::Expired, Some(row)) => {
            refusal::expired(&key.name, token, &clock::shown(row.expires_at))
        }
        (Verdict::Stale, Some(row)) if row.token < token => {
            refusal::never_granted(&key.name, token).detail(fact(key, Some(row)))
        }
        (_, row) => lost(row.as_ref()),
    }
}

/// Decides this transaction's own entries for a lease whose token it is about to end. The row is
/// locked, and so is the token, so that what is true now is true at the commit.
pub fn settle(key: &Key, row: &LeaseRow) -> Result<()> {
    let fence = Fence {
        token: row.token,
        expires_at: row.expires_at,
        owned: row.owner.is_some(),
        void: row.home != identity::home(),
        role: row.role,
    };
    for at in 0..transaction::entries() {
        let Some(entry) = transaction::unsettled(at) else {
            continue;
        };
        if *entry.key != *key || entry.rule == Rule::Newest {
            continue;
        }
        match judge(Some(&fence), entry.token, entry.rule == Rule::Live, clock::now) {
            Verdict::Good => transaction::settle(at),
            verdict => {
                let refusal = explain(key, entry.token, verdict);
                return Err(refused::at_statement(key, Some(entry.token), refusal));
            }
        }
    }
    Ok(())
}
