//! Waiting that may be given up: in a subtransaction, so that the server cleans up after a timeout.

use pgrx::pg_sys::panic::CaughtError;
use pgrx::{PgSqlErrorCode, PgTryBuilder, pg_sys};

/// Runs `f` in a subtransaction with this lock_timeout (0: none). None when the timeout ran out:
/// everything that `f` did is undone. Other errors go on.
pub fn within<R>(lock_timeout_ms: i32, f: impl FnOnce() -> R) -> Option<R> {
    within_if(lock_timeout_ms, f, |_| true)
}

/// The same, but what `f` did is kept only if its result is worth keeping.
pub fn within_if<R>(
    lock_timeout_ms: i32,
    f: impl FnOnce() -> R,
    keep: impl Fn(&R) -> bool,
) -> Option<R> {
    // SAFETY: the subtransaction begun here is released or rolled back below, on every way out; the
    // memory context and resource owner are put back as plpgsql does it.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let resources = pg_sys::CurrentResourceOwner;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(context);
        let back = move || {
            pg_sys::MemoryContextSwitchTo(context);
            pg_sys::CurrentResourceOwner = resources;
        };
        let undo = move || {
            pg_sys::RollbackAndReleaseCurrentSubTransaction();
            back();
        };
        let mut f = Some(f);
        let run = std::panic::AssertUnwindSafe(|| {
            let value =
                super::settings::with_lock_timeout(lock_timeout_ms, || f.take().map(|f| f()));
            if value.as_ref().is_some_and(&keep) {
                pg_sys::ReleaseCurrentSubTransaction();
                back();
            } else {
                undo();
            }
            value
        });
        PgTryBuilder::new(run)
            .catch_when(PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE, |_: CaughtError| {
                undo();
                None
            })
            .catch_others(|error| {
                undo();
                error.rethrow()
            })
            .catch_rust_panic(|error| {
                undo();
                error.rethrow()
            })
            .execute()
    }
}
