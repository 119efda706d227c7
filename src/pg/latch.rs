//! Sleeping until another session says that there is something to look at.

use super::cell::Backend;
use pgrx::pg_sys;

/// Forgets what was said up to now. What happens after this ends the next `sleep` at once.
pub fn reset() {
    // SAFETY: the backend's own latch, which is there as long as the backend.
    unsafe { pg_sys::ResetLatch(pg_sys::MyLatch) }
}

/// Sleeps for so long, or until somebody sets this backend's latch. Ends the backend if the server
/// is gone.
pub fn sleep(ms: i64) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: as above.
    unsafe { pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, ms, event()) };
}

/// What pg_stat_activity shows meanwhile: from 17 on by a name of its own.
fn event() -> u32 {
    static EVENT: Backend<u32> = Backend::new(0);
    if EVENT.get() == 0 {
        EVENT.set(new_event());
    }
    EVENT.get()
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn new_event() -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn new_event() -> u32 {
    // SAFETY: registers the name, or finds it registered.
    unsafe { pg_sys::WaitEventExtensionNew(c"LeaseWait".as_ptr()) }
}
