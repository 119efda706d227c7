//! Whether the client is still there. A backend that waits does not hear of a connection that is
//! closed unless it looks.

use super::raw;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

/// How often a backend looks that has nobody's order to (client_connection_check_interval is 0).
const EVERY_MS: i32 = 2_000;

/// Looks now, and ends the backend if nobody is there.
pub fn check() {
    if !can_look() {
        return;
    }
    // SAFETY: there is a connection to look at.
    if unsafe { pg_guard_ffi_boundary(|| raw::pq_check_connection()) } {
        return;
    }
    // SAFETY: one thread; this is how the server's own check tells.
    unsafe {
        pg_sys::ClientConnectionLost = 1;
        pg_sys::InterruptPending = 1;
    }
    super::xact::check_for_interrupts();
}

/// While this lives, the server looks every now and then, whatever the backend waits for.
pub struct Watch {
    ours: bool,
}

/// Has the server do so as with client_connection_check_interval, unless it does already.
pub fn watch() -> Watch {
    // SAFETY: one thread; the setting is put back when the watch is dropped.
    unsafe {
        let ours = can_look() && pg_sys::client_connection_check_interval == 0;
        if ours {
            pg_sys::client_connection_check_interval = EVERY_MS;
            pg_guard_ffi_boundary(|| {
                raw::enable_timeout_after(raw::CLIENT_CONNECTION_CHECK_TIMEOUT, EVERY_MS);
            });
        }
        Watch { ours }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.ours {
            // SAFETY: one thread; neither raises an error, as the timer was set before.
            unsafe {
                pg_sys::client_connection_check_interval = 0;
                raw::disable_timeout(raw::CLIENT_CONNECTION_CHECK_TIMEOUT, false);
            }
        }
    }
}

fn can_look() -> bool {
    // SAFETY: reads what is fixed when the backend starts.
    unsafe { !pg_sys::MyProcPort.is_null() && pg_sys::WaitEventSetCanReportClosed() }
}
