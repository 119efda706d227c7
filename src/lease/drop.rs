//! lease_drop and lease_void_all.

use super::{access, check_writable, grant, lease_argument, row_busy, wait_ms};
use crate::ops::history;
use crate::pg::call::Args;
use crate::pg::key::{Key, key};
use crate::pg::locks::{Class, Tag};
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, ddl, identity, locks};
use crate::rules::access::Right;
use crate::rules::change::Why;
use crate::rules::fence::Mode;
use crate::rules::lease::State;
use crate::rules::refusal::{self, Result};

/// Forgets a lease that is free or expired and guards no table.
pub fn drop_lease(args: &Args) -> Result<()> {
    let key = lease_argument(args, 0)?;
    check_writable("lease_drop")?;
    access::check(&key, Right::Force)?;
    let wait = wait_ms();
    let row = match rows::lock_lease(&key, wait, |_| true) {
        Locked::Missing | Locked::Unwanted(_) => return Err(refusal::unknown_lease(&key.name)),
        Locked::Row(row) => row,
        Locked::Busy(xid) => return Err(row_busy(&key, xid, wait)),
    };
    check_idle(&key, &row)?;
    // a guard that is being made is waited for, and then seen
    let guards = Tag::of_name(Class::Guards, key.hash);
    grant::lock_or_busy(&key, guards, locks::EVERYTHING, wait)?;
    if let Some(table) = guarded_table(&key.name) {
        return Err(refusal::guards_tables(&key.name, &table));
    }
    grant::end_token(&key, &row, wait)?;
    history::ended(&key, &row, clock::now(), Why::Dropped);
    rows::delete_lease(&row);
    Ok(())
}

fn check_idle(key: &Key, row: &LeaseRow) -> Result<()> {
    let lease = row.as_lease(identity::home());
    let owner = row.owner.as_deref().unwrap_or_default();
    match lease.state(clock::now()) {
        State::Held => Err(refusal::not_idle(&key.name, owner, &clock::shown(row.expires_at))),
        State::Quiet => {
            let until = clock::shown(lease.quiet_until());
            Err(refusal::in_quiet_period(&key.name, owner, &until))
        }
        State::Expired | State::Free | State::Void => Ok(()),
    }
}

/// A table that this lease guards, if any. Guards in mode newest need no lease here.
fn guarded_table(lease: &str) -> Option<String> {
    let guards = |table: &u32| {
        ddl::guards(*table).iter().any(|g| g.lease == lease && g.mode != Mode::Newest.name())
    };
    ddl::guarded_tables().into_iter().find(guards).map(ddl::name)
}

/// Ends all leases, as if each had been released.
pub fn void_all(_: &Args) -> Result<i64> {
    check_writable("lease_void_all")?;
    let wait = wait_ms();
    if !rows::lock_all_leases(wait) {
        return Err(refusal::guarded_work_open(wait.unsigned_abs().into()));
    }
    grant::change_begins(&key("all"));
    let now = clock::now();
    Ok(rows::release_all(now, |key, row| history::ended(key, row, now, Why::Voided)))
}
