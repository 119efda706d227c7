//! The check of a row that names its lease. It hangs in the WHEN conditions of a row guard's
//! triggers, so that nothing is queued for a row that passes.

use super::guard::{Circumstances, circumstances};
use super::presented::Shown;
use super::{check, newest, presented, signature};
use crate::ops::refused;
use crate::pg::call::Args;
use crate::pg::cell::Backend;
use crate::pg::key::{self, Key};
use crate::pg::trigger::{self, RowsCall};
use crate::rules::fence::Mode;
use crate::rules::name::{self, MOST_CHARACTERS};
use crate::rules::refusal::{self, Result};
use std::collections::HashMap;
use std::rc::Rc;

/// The leases whose rows passed, and by which rules: they still do while the circumstances are these.
struct Passed {
    circumstances: Circumstances,
    rules: HashMap<Rc<[u8]>, u8>,
    /// The one that passed last: most rows are under the same lease as the one before.
    last: Rc<[u8]>,
    last_rules: u8,
}

static PASSED: Backend<Option<Passed>> = Backend::new(None);

/// How a row's lease is judged.
#[derive(Clone, Copy)]
struct Rule {
    mode: Mode,
    signed: bool,
}

impl Rule {
    fn bit(self) -> u8 {
        1 << (2 * self.mode as u8 + u8::from(self.signed))
    }
}

/// lease.guard_row: true, or an error.
pub fn guard_row(args: &Args) -> Result<bool> {
    let Some(value) = args.optional_bytes(0) else {
        return Err(refusal::rows::without_lease());
    };
    let mut room = [0; MOST_CHARACTERS];
    let name = lease_name(args.bytes(1, "prefix")?, value, &mut room)?;
    let mode = Mode::known(args.bytes(2, "mode")?)
        .ok_or_else(|| refusal::attached_wrongly("The mode in its condition is none"))?;
    let rule = Rule { mode, signed: args.boolean(3, "signed")? };
    if !passed(name, rule) {
        let key = lease_key(name)?;
        let shown = presented::shown(&key)?;
        let told = |refusal| refused::at_statement(&key, shown.map(|shown| shown.token), refusal);
        judge(&key, shown.as_ref(), rule).map_err(told)?;
        remember(name, rule);
    }
    Ok(true)
}

/// The lease of a row: the prefix and what its column says.
fn lease_name<'a>(
    prefix: &[u8],
    value: &[u8],
    room: &'a mut [u8; MOST_CHARACTERS],
) -> Result<&'a [u8]> {
    let length = prefix.len() + value.len();
    let Some(name) = room.get_mut(..length) else {
        let name = [prefix, value].concat();
        return Err(refusal::bad_name(&String::from_utf8_lossy(&name)));
    };
    let (first, second) = name.split_at_mut(prefix.len());
    first.copy_from_slice(prefix);
    second.copy_from_slice(value);
    Ok(name)
}

fn lease_key(name: &[u8]) -> Result<Rc<Key>> {
    let name = String::from_utf8_lossy(name);
    name::check_lease(&name)?;
    Ok(key::key(&name))
}

fn passed(name: &[u8], rule: Rule) -> bool {
    let now = circumstances();
    PASSED.with(|passed| match passed {
        Some(passed) if passed.circumstances == now => passed.has(name, rule.bit()),
        _ => false,
    })
}

impl Passed {
    fn has(&mut self, name: &[u8], bit: u8) -> bool {
        if *self.last != *name {
            let Some((known, rules)) = self.rules.get_key_value(name) else {
                return false;
            };
            (self.last, self.last_rules) = (Rc::clone(known), *rules);
        }
        self.last_rules & bit != 0
    }
}

fn remember(name: &[u8], rule: Rule) {
    let now = circumstances();
    PASSED.with(|passed| {
        if passed.as_ref().is_none_or(|passed| passed.circumstances != now) {
            let (rules, last) = (HashMap::new(), Rc::from([]));
            *passed = Some(Passed { circumstances: now, rules, last, last_rules: 0 });
        }
        if let Some(passed) = passed {
            let name: Rc<[u8]> = name.into();
            let rules = passed.rules.entry(Rc::clone(&name)).or_default();
            *rules |= rule.bit();
            (passed.last, passed.last_rules) = (name, *rules);
        }
    });
}

/// At the end of a transaction: nothing that passed passes in the next.
pub fn forget() {
    PASSED.with(|passed| *passed = None);
}

fn judge(key: &Rc<Key>, shown: Option<&Shown>, rule: Rule) -> Result<()> {
    let Some(shown) = shown else {
        return Err(refusal::rows::nothing_presented_for(&key.name));
    };
    if rule.signed && !signature::prove(key, shown)? {
        return Err(refusal::rows::unsigned(&key.name, shown.token));
    }
    if rule.mode == Mode::Newest {
        // anybody can call this by hand, so it raises nothing
        newest::refuse_unraised_row(key, shown.token)?;
    }
    check::check(key, shown, rule.mode)
}

/// lease.guard_rows: the triggers of a row guard. The rows are judged in their conditions, which let
/// nothing come here; what comes is a TRUNCATE, and an UPDATE for which the trigger only keeps the
/// column's name.
pub fn guard_rows(args: &Args) -> Result<()> {
    match trigger::rows_call(args)? {
        RowsCall::Update => Ok(()),
        RowsCall::Truncate(table) => Err(refusal::rows::truncated(&table)),
        RowsCall::Other => {
            let what = "Its condition does not call lease.guard_row";
            Err(refusal::attached_wrongly(what))
        }
    }
}
