//! The database's clock.

use crate::rules::time::Micros;
use pgrx::pg_sys;

/// The server's clock, without any offset: the mint counts by it.
pub fn server_now() -> Micros {
    // SAFETY: reads the clock, touches nothing.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// The clock that leases are judged by: the server's plus pg_lease.clock_offset.
pub fn now() -> Micros {
    if let Some(stopped) = crate::mutant::stopped_clock() {
        return stopped;
    }
    server_now().saturating_add(super::settings::clock_offset_us())
}

/// A time as people read it, in the session's time zone.
pub fn shown(time: Micros) -> String {
    // SAFETY: the function fills a buffer of its own and returns it.
    let text = unsafe { pg_sys::timestamptz_to_str(time) };
    super::call::owned(text).unwrap_or_default()
}
