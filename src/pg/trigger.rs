//! How the server calls a guard.

use super::call::Args;
use crate::rules::refusal::{self, Result};
use pgrx::pg_sys;
use std::ffi::CStr;

/// The third argument of a guard that takes signed tokens only.
pub const SIGNED: &str = "signed";

/// The guarded table and the trigger's arguments.
pub struct GuardCall<'a> {
    relation: pg_sys::Relation,
    pub lease: &'a [u8],
    pub mode: &'a [u8],
    /// Takes signed tokens only.
    pub signed: bool,
}

impl GuardCall<'_> {
    /// The table's name, for messages.
    pub fn table(&self) -> String {
        // SAFETY: the relation is open for as long as the trigger runs.
        unsafe { super::ddl::relation_name(self.relation) }
    }
}

/// For what the trigger of a row guard is called.
pub enum RowsCall {
    Update,
    /// Of this table.
    Truncate(String),
    Other,
}

/// Reads the call of a row guard's trigger.
pub fn rows_call(args: &Args) -> Result<RowsCall> {
    let data = trigger_data(args)?;
    let before = data.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_BEFORE;
    if data.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0 || !before {
        return Ok(RowsCall::Other);
    }
    // SAFETY: the relation is open for as long as the trigger runs.
    let table = || unsafe { super::ddl::relation_name(data.tg_relation) };
    Ok(match data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK {
        pg_sys::TRIGGER_EVENT_UPDATE => RowsCall::Update,
        pg_sys::TRIGGER_EVENT_TRUNCATE => RowsCall::Truncate(table()),
        _ => RowsCall::Other,
    })
}

fn trigger_data(args: &Args) -> Result<&pg_sys::TriggerData> {
    // SAFETY: the server sets context to a TriggerData node where it calls a trigger, and keeps what
    // it points to for as long as the trigger runs.
    unsafe {
        let context = (*args.fcinfo()).context;
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
            return Err(refusal::attached_wrongly("It was not called as a trigger"));
        }
        Ok(&*context.cast::<pg_sys::TriggerData>())
    }
}

/// Reads the call, in a fixed order: as a trigger, timing, level, number of arguments.
pub fn guard_call<'a>(args: &'a Args) -> Result<GuardCall<'a>> {
    let data = trigger_data(args)?;
    // SAFETY: what the server passes to a trigger stays for as long as it runs.
    unsafe {
        let event = data.tg_event;
        let before = pg_sys::TRIGGER_EVENT_BEFORE;
        if event & pg_sys::TRIGGER_EVENT_TIMINGMASK != before {
            return Err(refusal::attached_wrongly("It does not fire BEFORE the statement"));
        }
        if event & pg_sys::TRIGGER_EVENT_ROW != 0 {
            return Err(refusal::attached_wrongly("It fires for each row"));
        }
        let trigger = &*data.tg_trigger;
        let argument = |index| CStr::from_ptr(*trigger.tgargs.add(index)).to_bytes();
        let signed = match trigger.tgnargs {
            2 => false,
            3 if argument(2) == SIGNED.as_bytes() => true,
            _ => {
                let arguments =
                    "Its arguments are not a lease and a mode, with or without 'signed'";
                return Err(refusal::attached_wrongly(arguments));
            }
        };
        Ok(GuardCall { relation: data.tg_relation, lease: argument(0), mode: argument(1), signed })
    }
}
