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

/// Reads the call, in a fixed order: as a trigger, timing, level, number of arguments.
pub fn guard_call<'a>(args: &'a Args) -> Result<GuardCall<'a>> {
    // SAFETY: the server sets context to a TriggerData node where it calls a trigger, and keeps what
    // it points to for as long as the trigger runs.
    unsafe {
        let context = (*args.fcinfo()).context;
        if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
            return Err(refusal::attached_wrongly("It was not called as a trigger"));
        }
        let data = &*context.cast::<pg_sys::TriggerData>();
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
