//! What the mutants (`crate::mutant`) need of the server. Built only with the feature `mutants`.

use crate::rules::time::Micros;
use pgrx::pg_sys;
use std::ffi::CStr;

/// The setting soak.mutant of this session.
pub fn chosen() -> Option<String> {
    // SAFETY: the name ends with a zero byte; the answer is null or the value in force.
    unsafe {
        let value = pg_sys::GetConfigOption(c"soak.mutant".as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// A clock that stands still while a statement runs.
pub fn stopped_clock() -> Micros {
    // SAFETY: reads the backend's state.
    unsafe { pg_sys::GetCurrentStatementStartTimestamp() }
}
