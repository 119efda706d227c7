//! lease_renew and lease_renew_many.

use super::{
    access, check_writable, fact, has_it, has_it_not, in_order, lease_argument, names_argument,
    owner_argument, row_busy, wait_ms,
};
use crate::ops::counters::{self, Event};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, identity};
use crate::rules::access::Right;
use crate::rules::lease::late_in_a_row;
use crate::rules::refusal::{self, Result};
use crate::rules::time;
use std::cell::Cell;

pub enum Renewal {
    Renewed(Answer),
    Lost(Option<LeaseRow>),
    /// The work has stood still for too long: the lease runs out.
    Stalled(LeaseRow),
    /// The number of the transaction that has the row.
    Busy(u32),
}

/// What a holder asks for.
pub struct Renewing<'a> {
    pub owner: &'a str,
    pub token: i64,
    pub ttl_ms: i32,
    pub progress: Option<i64>,
}

pub fn renew(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let token = args.bigint(2, "token")?;
    let (ttl_ms, progress) = (args.ttl_ms(3)?, args.optional_bigint(4));
    check_writable("lease_renew")?;
    access::check(&key, Right::Use)?;
    let wait = wait_ms();
    match renew_one(&key, &Renewing { owner, token, ttl_ms, progress }, wait)? {
        Renewal::Renewed(answer) => Ok(answer),
        Renewal::Lost(row) => {
            counters::count(&key, Event::Lost);
            Err(refusal::lost(&key.name, token, &fact(&key, row.as_ref())))
        }
        Renewal::Stalled(row) => {
            counters::count(&key, Event::Stalled);
            let since = clock::shown(row.work.moved_at);
            Err(refusal::stalled(&key.name, token, &since, row.work.stall_ms))
        }
        Renewal::Busy(xid) => Err(row_busy(&key, xid, wait)),
    }
}

pub fn renew_many(args: &Args) -> Result<Vec<Answer>> {
    let keys = names_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let tokens = args.bigints(2, "tokens")?;
    let ttl_ms = args.ttl_ms(3)?;
    let progress = args.optional_bigints(4);
    check_pairs(keys.len(), "tokens", tokens.len())?;
    if let Some(progress) = &progress {
        check_pairs(keys.len(), "progress", progress.len())?;
    }
    check_writable("lease_renew_many")?;
    access::check_all(&keys, Right::Use)?;
    in_order(&keys, |at| {
        let (key, token) = (&keys[at], tokens[at]);
        let progress = progress.as_ref().and_then(|progress| progress[at]);
        let not = |status, row| Ok(has_it_not(key, status, row, clock::now()));
        match renew_one(key, &Renewing { owner, token, ttl_ms, progress }, 0)? {
            Renewal::Renewed(answer) => Ok(answer),
            Renewal::Lost(row) => not(Status::Lost, row.as_ref()),
            Renewal::Stalled(row) => not(Status::Stalled, Some(&row)),
            Renewal::Busy(_) => not(Status::Busy, rows::lease(key).as_ref()),
        }
    })
}

fn check_pairs(names: usize, argument: &str, length: usize) -> Result<()> {
    if names == length {
        return Ok(());
    }
    Err(refusal::unequal_arrays(("names", names as i64), (argument, length as i64)))
}

/// Touches the row only, and reads the time when nothing is left to wait for. A lease that was lost
/// is found out before any lock.
pub fn renew_one(key: &Key, asked: &Renewing, wait_ms: i32) -> Result<Renewal> {
    let Renewing { owner, token, ttl_ms, progress } = *asked;
    let home = identity::home();
    let now = Cell::new(0);
    let moves = |row: &LeaseRow| {
        row.work.stall_ms == 0 || row.work.renewed(progress, clock::now()).is_some()
    };
    let locked = rows::change_lease(
        key,
        wait_ms,
        |row| access::has(row, owner, token, home) && moves(row),
        |row| {
            now.set(clock::now());
            row.late = late_in_a_row(row.late, row.expires_at, row.ttl_ms, now.get());
            (row.expires_at, row.ttl_ms) = (time::expiry(now.get(), ttl_ms), ttl_ms);
            row.work = row.work.renewed(progress, now.get()).unwrap_or(row.work);
        },
    );
    Ok(match locked {
        Locked::Row(row) => Renewal::Renewed(has_it(key, Status::Renewed, &row, now.get())),
        Locked::Missing => Renewal::Lost(None),
        Locked::Unwanted(row) if access::has(&row, owner, token, home) => Renewal::Stalled(row),
        Locked::Unwanted(row) => {
            access::refuse_other_role(key, &row, owner, token, home)?;
            Renewal::Lost(Some(row))
        }
        Locked::Busy(xid) => Renewal::Busy(xid),
    })
}
