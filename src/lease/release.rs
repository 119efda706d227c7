//! lease_release.

use super::{check_writable, grant, has_it_not, lease_argument, owner_argument, wait_ms};
use crate::pg::answer::{Answer, Status};
use crate::pg::call::Args;
use crate::pg::rows::{self, Locked};
use crate::pg::{clock, identity, locks};
use crate::rules::lease::is_held_with;
use crate::rules::refusal::{self, Result};
use crate::rules::time::MINUS_INFINITY;

pub fn release(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let token = args.bigint(2, "token")?;
    check_writable("lease_release")?;
    let home = identity::home();
    let mine = |row: &rows::LeaseRow| is_held_with(Some(&row.as_lease(home)), owner, token);
    let not_held =
        |row: Option<&rows::LeaseRow>| has_it_not(&key, Status::NotHeld, row, clock::now());

    match rows::lease(&key) {
        Some(row) if mine(&row) => {}
        seen => return Ok(not_held(seen.as_ref())),
    }
    let wait = wait_ms();
    let mut row = match rows::lock_lease(&key, wait) {
        Locked::Missing => return Ok(not_held(None)),
        Locked::Row(row) if !mine(&row) => return Ok(not_held(Some(&row))),
        Locked::Row(row) => row,
        Locked::Busy(xid) => {
            let who = locks::holder_of_transaction(xid);
            return Err(refusal::busy(&key.name, &who, wait.unsigned_abs().into()));
        }
    };
    grant::end_token(&key, &row)?;
    let now = clock::now();
    (row.owner, row.expires_at, row.since) = (None, MINUS_INFINITY, now);
    rows::update_lease(&key, &row);
    Ok(has_it_not(&key, Status::Released, Some(&row), now))
}
