//! lease_allow, lease_disallow, and what every lease function asks before it does anything.
//!
//! Two questions. *May the role do this with that name?* The current role counts: a SECURITY DEFINER
//! function lends its owner's rights, here as everywhere. *Is it the role that took the lease?* The
//! role that the session works as counts: a token stays presented inside such functions, and in
//! cascades, which run as the table's owner.

use super::check_writable;
use crate::pg::allowed::{self, Rights};
use crate::pg::call::Args;
use crate::pg::key::Key;
use crate::pg::role;
use crate::pg::rows::LeaseRow;
use crate::rules::access::{Right, allows};
use crate::rules::refusal::{self, Result};
use crate::rules::{name, pattern};
use std::rc::Rc;

/// Refuses unless the current role has the right on the name.
pub fn check(key: &Key, right: Right) -> Result<()> {
    if may(&key.name, right) {
        return Ok(());
    }
    let role = role::name(role::current()).unwrap_or_default();
    Err(refusal::not_allowed(&role, right.name(), &key.name))
}

/// Before any of them is locked: a refused candidate costs no holder a commit.
pub fn check_all(keys: &[Rc<Key>], right: Right) -> Result<()> {
    keys.iter().try_for_each(|key| check(key, right))
}

pub fn may(lease: &str, right: Right) -> bool {
    match &*allowed::rights() {
        Rights::Everything => true,
        Rights::Some(lines) => allows(lines, lease, right),
    }
}

/// Refuses a caller that is not the role which took the lease, nor a member of it.
pub fn check_taker(key: &Key, taker: u32) -> Result<()> {
    if role::acts_for(taker) {
        return Ok(());
    }
    let caller = role::name(role::caller()).unwrap_or_default();
    Err(refusal::other_role(&key.name, &caller, role::name(taker).as_deref()))
}

/// Whether the caller still has the lease, by owner, token and role.
pub fn has(row: &LeaseRow, owner: &str, token: i64, home: i64) -> bool {
    row.is_held_with(owner, token, home) && role::acts_for(row.role)
}

/// For a row that the caller has not: refuses if it is the role alone that is wrong.
pub fn refuse_other_role(
    key: &Key,
    row: &LeaseRow,
    owner: &str,
    token: i64,
    home: i64,
) -> Result<()> {
    if row.is_held_with(owner, token, home) { check_taker(key, row.role) } else { Ok(()) }
}

/// lease.may_list, which lease.status asks about each row.
pub fn may_list(args: &Args) -> Result<bool> {
    let lease = args.text(0, "name")?;
    name::check_lease(lease)?;
    Ok(may(lease, Right::List))
}

/// lease_allow.
pub fn allow(args: &Args) -> Result<()> {
    let (role, pattern) = (args.text(0, "role")?, args.text(1, "pattern")?);
    let rights = parse(&args.texts(2, "rights")?)?;
    pattern::check(pattern)?;
    check_writable("lease_allow")?;
    if role::named(role).is_none() {
        return Err(refusal::unknown_role(role));
    }
    allowed::add(role, pattern, &rights);
    Ok(())
}

/// lease_disallow. The role need not exist any more.
pub fn disallow(args: &Args) -> Result<()> {
    let (role, pattern) = (args.text(0, "role")?, args.text(1, "pattern")?);
    let rights = match args.optional_texts(2, "rights")? {
        Some(rights) => parse(&rights)?,
        None => Right::ALL.to_vec(),
    };
    pattern::check(pattern)?;
    check_writable("lease_disallow")?;
    if allowed::remove(role, pattern, &rights) {
        return Ok(());
    }
    Err(refusal::nothing_allowed(role, pattern))
}

fn parse(rights: &[String]) -> Result<Vec<Right>> {
    if rights.is_empty() {
        Right::parse("")?;
    }
    rights.iter().map(|right| Right::parse(right)).collect()
}
