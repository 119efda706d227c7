//! The test's own clock: one for all processes of the machine, which no fault moves.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Microseconds on the machine's monotonic clock.
pub type Micros = i64;

pub const SECOND: Micros = 1_000_000;

pub fn now() -> Micros {
    let read = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    read.map(micros).unwrap_or_default()
}

pub fn micros(duration: Duration) -> Micros {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

pub fn seconds(micros: Micros) -> f64 {
    micros as f64 / 1e6
}
