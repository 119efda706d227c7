//! compute_now and lease_clock_skew.

use crate::pg::call::{Args, Interval};
use crate::pg::{clock, report, settings};
use crate::rules::refusal::{self, Result};

pub fn compute_now(_: &Args) -> Result<i64> {
    Ok(clock::now())
}

/// How far the client's clock is ahead of the database's.
pub fn clock_skew(args: &Args) -> Result<Interval> {
    let client = args.bigint(0, "client_now")?;
    if client == i64::MIN || client == i64::MAX {
        return Err(refusal::bad_client_time());
    }
    let now = clock::now();
    let skew = client.saturating_sub(now);
    if skew.unsigned_abs() > settings::max_clock_skew_us().unsigned_abs() {
        report::warn(
            format!("the client's clock is {:.3} s off", skew as f64 / 1e6),
            format!(
                "It says {}, the database {}; pg_lease.max_clock_skew is {} ms.",
                clock::shown(client),
                clock::shown(now),
                settings::max_clock_skew_us() / 1_000
            ),
        );
    }
    Ok(Interval(skew))
}
