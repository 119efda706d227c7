//! NOTIFY: told to whoever listens when, and only if, this transaction commits.

use super::cell::Backend;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ffi::CString;

const CHANNEL: &std::ffi::CStr = c"pg_lease";

/// The most notifications of one transaction: they are kept in memory until it commits.
const MOST: u32 = 10_000;

/// A commit fails if the queue of notifications is full, because a listener has stood still for long
/// enough. Above this part of it none are sent, so that no grant ever fails for that.
const FULL: f64 = 0.5;

/// The transaction, and how many it has sent; MOST if no more are to be sent.
static SENT: Backend<(pg_sys::TransactionId, u32)> =
    Backend::new((pg_sys::InvalidTransactionId, 0));

/// Sends one, unless this transaction has sent very many, or nobody takes them out of the queue.
/// `payload` has fewer than 8,000 bytes and no zero byte.
pub fn send(payload: String) {
    // SAFETY: the caller writes, so the transaction has a number anyway.
    let transaction = unsafe { pg_sys::GetTopTransactionId() };
    let (of, sent) = SENT.get();
    let sent = match of == transaction {
        true => sent,
        false if is_queue_full() => MOST + 1,
        false => 0,
    };
    SENT.set((transaction, sent.saturating_add(1)));
    let Ok(payload) = CString::new(payload) else { return };
    match sent {
        ..MOST => {
            // SAFETY: copies both. Inside the guard nothing needs cleaning up by Rust.
            unsafe {
                pg_guard_ffi_boundary(|| {
                    super::raw::Async_Notify(CHANNEL.as_ptr(), payload.as_ptr());
                });
            }
        }
        MOST => super::report::log(format!(
            "more than {MOST} leases change hands in one transaction: the others are not notified"
        )),
        _ => {}
    }
}

fn is_queue_full() -> bool {
    // SAFETY: a function of the server's that returns a float8 and does not look at its call. Inside
    // the guard nothing needs cleaning up by Rust.
    let usage = unsafe {
        pg_guard_ffi_boundary(|| super::raw::pg_notification_queue_usage(std::ptr::null_mut()))
    };
    let full = f64::from_bits(usage.value() as u64) > FULL;
    if full {
        super::report::log(
            "the queue of notifications is half full: changes of ownership are not notified".into(),
        );
    }
    full
}

/// A time as JSON has it, in UTC.
pub fn json_time(time: i64) -> String {
    const LONG_ENOUGH: usize = 129;
    let mut buffer = [0 as std::ffi::c_char; LONG_ENOUGH];
    let utc = 0;
    // SAFETY: fills the buffer, which is as long as the server's own (MAXDATELEN + 1).
    unsafe {
        let text = pg_sys::JsonEncodeDateTime(
            buffer.as_mut_ptr(),
            time.into(),
            pg_sys::TIMESTAMPTZOID,
            &utc,
        );
        super::call::owned(text).unwrap_or_default()
    }
}
