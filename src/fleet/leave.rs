//! lease_worker_leave: for a worker that stops in good order.

use super::{Who, check_role};
use crate::lease::release::release_one;
use crate::lease::{access, check_writable, wait_ms};
use crate::pg::call::Args;
use crate::pg::key::{Key, key};
use crate::pg::members::{self, Found, Own};
use crate::pg::rows;
use crate::rules::access::Right;
use crate::rules::change::Why;
use crate::rules::refusal::{self, Code, Result};
use crate::rules::roster;
use std::rc::Rc;

pub fn leave(args: &Args) -> Result<i64> {
    let who = Who::read(args)?;
    check_writable("lease_worker_leave")?;
    access::check(&key(&roster::shard_lease(&who.fleet, 0)), Right::Use)?;
    let own = match members::lock(&key(&who.owner)) {
        Found::Own(own) if own.row.member.fleet == who.fleet => own,
        Found::Own(_) | Found::Missing => return Ok(0),
        Found::Busy => return Err(refusal::worker_busy(&who.owner)),
    };
    check_role(own.row.member.foreign, &who.owner)?;
    let released = release_all(&who, &own)?;
    // a former incarnation would otherwise be the newest again
    for row in members::all() {
        let member = row.member;
        let same = member.fleet == who.fleet && roster::parts(&member.owner).0 == who.worker;
        if same && member.term <= own.row.member.term {
            members::delete(&member.owner);
        }
    }
    Ok(released)
}

/// Releases what the worker holds, in the global order of names. A commit under an old token is waited
/// for, but only one of them to the end of lock_timeout: what else is busy runs out.
fn release_all(who: &Who, own: &Own) -> Result<i64> {
    let shards = own.held.all().map(|shard| roster::shard_lease(&who.fleet, shard));
    let mut keys: Vec<Rc<Key>> =
        shards.chain(own.singletons.iter().cloned()).map(|name| key(&name)).collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut released, mut wait) = (0, wait_ms());
    for key in keys {
        let Some(row) = rows::lease(&key) else { continue };
        match release_one(&key, &who.owner, row.token, wait, Why::Left) {
            Ok(answer) if answer.status == crate::pg::answer::Status::Released => released += 1,
            Ok(_) => {}
            Err(refusal) if refusal.code == Code::Busy => wait = 0,
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(released)
}
