//! The trigger of a guarded table.

use super::{check, presented, signature};
use crate::pg::call::Args;
use crate::pg::key::{self, Key};
use crate::pg::trigger::guard_call;
use crate::rules::fence::Mode;
use crate::rules::name;
use crate::rules::refusal::{self, Result};
use std::rc::Rc;

/// Fires before each statement that writes the table. Costs no allocation and, after the first
/// statement of a transaction, no read.
pub fn guard_writes(args: &Args) -> Result<()> {
    let call = guard_call(args)?;
    let mode = Mode::known(call.mode)
        .ok_or_else(|| refusal::attached_wrongly("Its second argument is not a mode"))?;
    let key = match key::newest(call.lease) {
        Some(key) => key,
        None => lease_key(call.lease)?,
    };
    let Some(shown) = presented::shown(&key)? else {
        return Err(refusal::nothing_presented(&key.name, Some(&call.table())));
    };
    if call.signed && !signature::prove(&key, &shown)? {
        return Err(refusal::not_signed(&key.name, shown.token, Some(&call.table())));
    }
    check::check(&key, &shown, mode)
}

fn lease_key(argument: &[u8]) -> Result<Rc<Key>> {
    let lease = std::str::from_utf8(argument).unwrap_or_default();
    match name::check_lease(lease) {
        Ok(()) => Ok(key::key(lease)),
        Err(_) => Err(refusal::attached_wrongly("Its first argument is not a lease name")),
    }
}
