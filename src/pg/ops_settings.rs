//! The settings of what is said to the people who run it.

use pgrx::pg_sys;
use std::ffi::CStr;
use std::ptr::{addr_of, addr_of_mut, null};

static mut HISTORY_KEEP_S: i32 = 30 * DAY_S;
static mut NOTIFY: bool = false;
static mut LOG_REFUSALS: i32 = pg_sys::LOG as i32;

const DAY_S: i32 = 86_400;

/// How long changes of ownership are kept; 0: none are.
pub fn history_keep_us() -> i64 {
    // SAFETY: one thread.
    unsafe { i64::from(HISTORY_KEEP_S) * 1_000_000 }
}

/// Whether changes of ownership are notified.
pub fn notify() -> bool {
    // SAFETY: one thread.
    unsafe { NOTIFY }
}

/// At which level of messages refused writes are logged; None: not at all.
pub fn log_refusals() -> Option<i32> {
    // SAFETY: one thread.
    Some(unsafe { LOG_REFUSALS }).filter(|level| *level != OFF)
}

const OFF: i32 = 0;

struct Levels([pg_sys::config_enum_entry; 10]);
// SAFETY: the table is constant and holds pointers to constants only.
unsafe impl Sync for Levels {}

const fn level(name: &'static CStr, val: u32) -> pg_sys::config_enum_entry {
    pg_sys::config_enum_entry { name: name.as_ptr(), val: val as i32, hidden: false }
}

static LEVELS: Levels = Levels([
    level(c"off", OFF as u32),
    level(c"debug5", pg_sys::DEBUG5),
    level(c"debug4", pg_sys::DEBUG4),
    level(c"debug3", pg_sys::DEBUG3),
    level(c"debug2", pg_sys::DEBUG2),
    level(c"debug1", pg_sys::DEBUG1),
    level(c"notice", pg_sys::NOTICE),
    level(c"warning", pg_sys::WARNING),
    level(c"log", pg_sys::LOG),
    pg_sys::config_enum_entry { name: null(), val: 0, hidden: false },
]);

/// Defines them. Called from `settings::define`.
pub(super) fn define() {
    // SAFETY: called from _PG_init; all pointers are to statics.
    unsafe {
        pg_sys::DefineCustomIntVariable(
            c"pg_lease.history_keep".as_ptr(),
            c"How long changes of ownership are kept in lease.history.".as_ptr(),
            c"0 writes none.".as_ptr(),
            addr_of_mut!(HISTORY_KEEP_S),
            30 * DAY_S,
            0,
            i32::MAX,
            pg_sys::GucContext::PGC_SUSET,
            (pg_sys::GUC_NOT_IN_SAMPLE | pg_sys::GUC_UNIT_S) as i32,
            None,
            None,
            None,
        );
        pg_sys::DefineCustomBoolVariable(
            c"pg_lease.notify".as_ptr(),
            c"Whether changes of ownership are notified on channel pg_lease.".as_ptr(),
            c"Commits that notify go one by one in the whole database.".as_ptr(),
            addr_of_mut!(NOTIFY),
            false,
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GUC_NOT_IN_SAMPLE as i32,
            None,
            None,
            None,
        );
        pg_sys::DefineCustomEnumVariable(
            c"pg_lease.log_refusals".as_ptr(),
            c"At which level the server's log tells of writes that are refused.".as_ptr(),
            null(),
            addr_of_mut!(LOG_REFUSALS),
            pg_sys::LOG as i32,
            addr_of!(LEVELS.0).cast(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GUC_NOT_IN_SAMPLE as i32,
            None,
            None,
            None,
        );
    }
}
