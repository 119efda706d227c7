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

/// The machine's clock that nobody sets and that only ever goes on, in microseconds. The kernel itself
/// is asked: what gives programs a false time by way of the C library leaves this one alone.
pub fn steady() -> Micros {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure that it is given; this clock always exists.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time);
        #[cfg(not(target_os = "linux"))]
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000)
}

/// A time as people read it, in the session's time zone.
pub fn shown(time: Micros) -> String {
    // SAFETY: the function fills a buffer of its own and returns it.
    let text = unsafe { pg_sys::timestamptz_to_str(time) };
    super::call::owned(text).unwrap_or_default()
}
