//! Mode newest: the lease lives on another server, and this database remembers the highest token
//! that it has obeyed (Galewatch's mover_fence).

use super::presented::Shown;
use super::{memory, signature, transaction};
use crate::lease::{check_writable, grant, lease_argument, wait_ms};
use crate::pg::call::Args;
use crate::pg::key::{Good, Key};
use crate::pg::locks::{self, Class, Tag};
use crate::pg::rows::{self, Which};
use crate::pg::{catalog, clock, ddl, identity, role, row_triggers};
use crate::rules::fence::{Standing, standing};
use crate::rules::refusal::{self, Result};
use crate::rules::time::{MINT_EPOCH, is_from_the_future};
use std::rc::Rc;

/// lease_fence_raise.
pub fn fence_raise(args: &Args) -> Result<()> {
    let key = lease_argument(args, 0)?;
    let token = args.bigint(1, "token")?;
    if token <= 0 {
        return Err(refusal::bad_token(token));
    }
    let shown = Shown { token, signature: signature::argument(args, 2)? };
    check_writable("lease_fence_raise")?;
    if !signature::prove(&key, &shown)? && !role::is_extension_owner() {
        refuse_unproven(&key, token)?;
    }
    raise(&key, token)
}

/// Refuses a token below the newest; raises the newest to one above it, at the statement: if it were
/// raised at the commit only, the new holder could look, the old one commit, and the new one commit
/// on what it had seen.
pub fn obey(key: &Rc<Key>, shown: &Shown) -> Result<()> {
    let token = shown.token;
    rows::lock_for_looking(Which::Fence);
    let (standing, newest) = look(key, token);
    match standing {
        Standing::Below => Err(refusal::below_newest(&key.name, token, newest)),
        Standing::Equal => Ok(()),
        Standing::Above => {
            if !signature::prove(key, shown)? {
                refuse_unproven(key, token)?;
            }
            if identity::keeps_snapshot() {
                return Err(refusal::unraised_in_snapshot(&key.name, token));
            }
            if identity::read_only() {
                return Err(refusal::read_only("lease_fence_check", false));
            }
            raise(key, token)
        }
    }
}

/// Refuses unless the token is the newest one obeyed. For a token that `obey` has let through.
pub fn confirm(key: &Key, token: i64) -> Result<()> {
    match look(key, token) {
        (Standing::Equal, _) => Ok(()),
        (_, newest) => Err(refusal::below_newest(&key.name, token, newest)),
    }
}

/// How the token stands to the newest one obeyed, which comes second.
fn look(key: &Key, token: i64) -> (Standing, i64) {
    catalog::listen();
    if memory::knows(&key.fence_good, token).is_some() {
        return (Standing::Equal, token);
    }
    let ownership = catalog::ownership();
    let newest = rows::newest_token(key);
    let standing = standing(newest, token);
    if standing == Standing::Equal {
        memory::learn(&key.fence_good, Good { token, taker: 0, ownership });
    }
    (standing, newest)
}

/// Refuses a token above the newest: a check is open to everybody and must not raise it.
pub fn refuse_unraised(key: &Key, token: i64) -> Result<()> {
    match standing(rows::newest_token(key), token) {
        Standing::Above => {
            refuse_future(key, token)?;
            Err(refusal::may_not_raise(&key.name, token))
        }
        Standing::Below | Standing::Equal => Ok(()),
    }
}

/// The same for a row: only lease_fence_raise, and lease_fence_check, raise its lease's token.
pub fn refuse_unraised_row(key: &Key, token: i64) -> Result<()> {
    match standing(rows::newest_token(key), token) {
        Standing::Above => Err(refusal::rows::unraised(&key.name, token)),
        Standing::Below | Standing::Equal => Ok(()),
    }
}

/// Whoever raises the newest token locks out commits under the old one, and other raisers, until its
/// transaction ends.
fn raise(key: &Rc<Key>, token: i64) -> Result<()> {
    loop {
        let newest = rows::newest_token(key);
        match standing(newest, token) {
            Standing::Below => return Err(refusal::below_newest(&key.name, token, newest)),
            Standing::Equal => return Ok(()),
            Standing::Above => {}
        }
        let wait = wait_ms();
        grant::announce(key, wait)?;
        grant::lock_or_busy(key, Tag::of(Class::Newest, key.hash, newest), locks::CHANGE, wait)?;
        if rows::newest_token(key) == newest {
            rows::raise_newest(key, token, clock::now());
            transaction::granted(key, token);
            return Ok(());
        }
    }
}

/// A token above the newest that has no signature: nothing proves that it was granted.
fn refuse_unproven(key: &Key, token: i64) -> Result<()> {
    if ddl::wants_signatures(&key.name) || row_triggers::wants_signatures(&key.name) {
        return Err(refusal::not_signed(&key.name, token, None));
    }
    refuse_future(key, token)
}

/// A made-up huge token would lock every later holder out.
fn refuse_future(key: &Key, token: i64) -> Result<()> {
    if !is_from_the_future(token, clock::server_now()) {
        return Ok(());
    }
    let reads_as = clock::shown(MINT_EPOCH.saturating_add(token));
    Err(refusal::token_from_the_future(&key.name, token, &reads_as))
}
