//! lease_release.

use super::{
    access, check_writable, grant, has_it_not, lease_argument, owner_argument, row_busy, wait_ms,
};
use crate::ops::history;
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::rows::{self, Locked};
use crate::pg::{clock, identity};
use crate::rules::access::Right;
use crate::rules::change::Why;
use crate::rules::refusal::Result;
use crate::rules::time::MINUS_INFINITY;
use std::rc::Rc;

pub fn release(args: &Args) -> Result<Answer> {
    release_because(args, Why::Released)
}

/// lease.release, which lease_drain calls.
pub fn drain(args: &Args) -> Result<Answer> {
    release_because(args, Why::Drained)
}

fn release_because(args: &Args, why: Why) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let token = args.bigint(2, "token")?;
    check_writable("lease_release")?;
    access::check(&key, Right::Use)?;
    release_one(&key, owner, token, wait_ms(), why)
}

/// The same without the checks, waiting up to `wait_ms` for each lock.
pub fn release_one(
    key: &Rc<Key>,
    owner: &str,
    token: i64,
    wait_ms: i32,
    why: Why,
) -> Result<Answer> {
    let home = identity::home();
    let locked = rows::lock_lease(key, wait_ms, |row| access::has(row, owner, token, home));
    let mut row = match locked {
        Locked::Row(row) => row,
        Locked::Missing => return Ok(has_it_not(key, Status::NotHeld, None, clock::now())),
        Locked::Unwanted(row) => {
            access::refuse_other_role(key, &row, owner, token, home)?;
            return Ok(has_it_not(key, Status::NotHeld, Some(&row), clock::now()));
        }
        Locked::Busy(xid) => return Err(row_busy(key, xid, wait_ms)),
    };
    grant::end_token(key, &row, wait_ms)?;
    let now = clock::now();
    history::ended(key, &row, now, why);
    (row.owner, row.expires_at, row.since) = (None, MINUS_INFINITY, now);
    rows::update_lease(key, &row);
    Ok(has_it_not(key, Status::Released, Some(&row), now))
}
