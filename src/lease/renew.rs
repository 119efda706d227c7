//! lease_renew and lease_renew_many.

use super::{
    access, check_writable, fact, has_it, has_it_not, in_order, lease_argument, names_argument,
    owner_argument, row_busy, wait_ms,
};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::rows::{self, LeaseRow, Locked};
use crate::pg::{clock, identity};
use crate::rules::access::Right;
use crate::rules::refusal::{self, Result};
use crate::rules::time;
use std::cell::Cell;

pub enum Renewal {
    Renewed(Answer),
    Lost(Option<LeaseRow>),
    /// The number of the transaction that has the row.
    Busy(u32),
}

pub fn renew(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let token = args.bigint(2, "token")?;
    let ttl_ms = args.ttl_ms(3)?;
    check_writable("lease_renew")?;
    access::check(&key, Right::Use)?;
    let wait = wait_ms();
    match renew_one(&key, owner, token, ttl_ms, wait)? {
        Renewal::Renewed(answer) => Ok(answer),
        Renewal::Lost(row) => Err(refusal::lost(&key.name, token, &fact(&key, row.as_ref()))),
        Renewal::Busy(xid) => Err(row_busy(&key, xid, wait)),
    }
}

pub fn renew_many(args: &Args) -> Result<Vec<Answer>> {
    let keys = names_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let tokens = args.bigints(2, "tokens")?;
    let ttl_ms = args.ttl_ms(3)?;
    if keys.len() != tokens.len() {
        let (names, tokens) = (keys.len() as i64, tokens.len() as i64);
        return Err(refusal::unequal_arrays(("names", names), ("tokens", tokens)));
    }
    check_writable("lease_renew_many")?;
    access::check_all(&keys, Right::Use)?;
    in_order(&keys, |at| {
        let key = &keys[at];
        Ok(match renew_one(key, owner, tokens[at], ttl_ms, 0)? {
            Renewal::Renewed(answer) => answer,
            Renewal::Lost(row) => has_it_not(key, Status::Lost, row.as_ref(), clock::now()),
            Renewal::Busy(_) => {
                has_it_not(key, Status::Busy, rows::lease(key).as_ref(), clock::now())
            }
        })
    })
}

/// Touches the row only, and reads the time when nothing is left to wait for. A lease that was lost
/// is found out before any lock.
pub fn renew_one(key: &Key, owner: &str, token: i64, ttl_ms: i32, wait_ms: i32) -> Result<Renewal> {
    let home = identity::home();
    let now = Cell::new(0);
    let locked = rows::change_lease(
        key,
        wait_ms,
        |row| access::has(row, owner, token, home),
        |row| {
            now.set(clock::now());
            (row.expires_at, row.ttl_ms) = (time::expiry(now.get(), ttl_ms), ttl_ms);
        },
    );
    Ok(match locked {
        Locked::Row(row) => Renewal::Renewed(has_it(key, Status::Renewed, &row, now.get())),
        Locked::Missing => Renewal::Lost(None),
        Locked::Unwanted(row) => {
            access::refuse_other_role(key, &row, owner, token, home)?;
            Renewal::Lost(Some(row))
        }
        Locked::Busy(xid) => Renewal::Busy(xid),
    })
}
