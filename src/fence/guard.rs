//! The trigger of a guarded table.

use super::presented::Shown;
use super::{check, presented, signature, transaction};
use crate::ops::refused;
use crate::pg::call::Args;
use crate::pg::cell::Backend;
use crate::pg::key::{self, Key};
use crate::pg::trigger::{GuardCall, guard_call};
use crate::pg::{role, settings};
use crate::rules::fence::Mode;
use crate::rules::name;
use crate::rules::refusal::{self, Result};
use std::rc::Rc;

/// The guard that passed last: the next statement of its transaction mostly meets the same one, and
/// nothing that it depends on has changed.
struct Passed {
    key: Rc<Key>,
    mode: Mode,
    circumstances: Circumstances,
}

/// What a pass depends on: the transaction's state and the settings, by their versions, and the
/// caller.
pub type Circumstances = (u64, u64, u32);

pub fn circumstances() -> Circumstances {
    (transaction::version(), settings::presented(), role::caller())
}

static PASSED: Backend<Option<Passed>> = Backend::new(None);

fn passed_just_now(call: &GuardCall) -> bool {
    let now = circumstances();
    PASSED.with(|passed| {
        passed.as_ref().is_some_and(|passed| {
            passed.circumstances == now
                && passed.key.name.as_bytes() == call.lease
                && passed.mode.name().as_bytes() == call.mode
        })
    })
}

/// Fires before each statement that writes the table. Costs no allocation and, after the first
/// statement of a transaction, no read.
pub fn guard_writes(args: &Args) -> Result<()> {
    let call = guard_call(args)?;
    if !call.signed && passed_just_now(&call) {
        return Ok(());
    }
    let mode = Mode::known(call.mode)
        .ok_or_else(|| refusal::attached_wrongly("Its second argument is not a mode"))?;
    let key = match key::newest(call.lease) {
        Some(key) => key,
        None => lease_key(call.lease)?,
    };
    let shown = presented::shown(&key)?;
    let told = |refusal| refused::at_statement(&key, shown.map(|shown| shown.token), refusal);
    judge(&call, &key, shown.as_ref(), mode).map_err(told)?;
    let circumstances = circumstances();
    PASSED.with(|passed| *passed = Some(Passed { key, mode, circumstances }));
    Ok(())
}

fn judge(call: &GuardCall, key: &Rc<Key>, shown: Option<&Shown>, mode: Mode) -> Result<()> {
    let Some(shown) = shown else {
        return Err(refusal::nothing_presented(&key.name, Some(&call.table())));
    };
    if call.signed && !signature::prove(key, shown)? {
        return Err(refusal::not_signed(&key.name, shown.token, Some(&call.table())));
    }
    check::check(key, shown, mode)
}

fn lease_key(argument: &[u8]) -> Result<Rc<Key>> {
    let lease = std::str::from_utf8(argument).unwrap_or_default();
    match name::check_lease(lease) {
        Ok(()) => Ok(key::key(lease)),
        Err(_) => Err(refusal::attached_wrongly("Its first argument is not a lease name")),
    }
}
