//! The trigger of a guarded table.

use super::{check, presented};
use crate::pg::call::Args;
use crate::pg::key::key;
use crate::pg::trigger::guard_call;
use crate::rules::fence::Mode;
use crate::rules::name;
use crate::rules::refusal::{self, Result};

/// Fires before each statement that writes the table. Costs no allocation and, after the first
/// statement of a transaction, no read.
pub fn guard_writes(args: &Args) -> Result<()> {
    let call = guard_call(args)?;
    let mode = Mode::known(call.mode)
        .ok_or_else(|| refusal::attached_wrongly("Its second argument is not a mode"))?;
    let lease = std::str::from_utf8(call.lease).unwrap_or_default();
    if name::check_lease(lease).is_err() {
        return Err(refusal::attached_wrongly("Its first argument is not a lease name"));
    }
    let key = key(lease);
    match presented::token(&key)? {
        Some(token) => check::check(&key, token, mode),
        None => Err(refusal::nothing_presented(lease, Some(&call.table()))),
    }
}
