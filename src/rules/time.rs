//! Points in time, and ttls. Times are microseconds since 2000-01-01 UTC, as PostgreSQL counts them;
//! nothing here knows time zones, so a day has 86,400 s.

use super::refusal::{self, Result};

/// Microseconds since 2000-01-01 UTC.
pub type Micros = i64;

/// A released lease expires at -infinity.
pub const MINUS_INFINITY: Micros = i64::MIN;

/// 2026-01-01 UTC: where the mint's microseconds begin.
pub const MINT_EPOCH: Micros = 9_497 * DAY_US;

pub const DAY_US: i64 = 86_400_000_000;

/// Turns an interval into whole milliseconds from 1 ms to 1 day.
/// An infinite interval of PostgreSQL 17 has months too, and is refused with them.
pub fn span_ms(argument: &str, months: i32, days: i32, micros: i64) -> Result<i32> {
    let bad = |why| refusal::bad_span(argument, why);
    if months != 0 {
        return Err(bad("months have no fixed length"));
    }
    let total = i128::from(days) * i128::from(DAY_US) + i128::from(micros);
    if total < 1_000 {
        return Err(bad("it is shorter than 1 ms"));
    }
    if total > i128::from(DAY_US) {
        return Err(bad("it is longer than 1 day"));
    }
    if total % 1_000 != 0 {
        return Err(bad("it has a fraction of a millisecond"));
    }
    i32::try_from(total / 1_000).map_err(|_| bad("it is longer than 1 day"))
}

/// The same, of a length that may be 0.
pub fn span_or_zero_ms(argument: &str, months: i32, days: i32, micros: i64) -> Result<i32> {
    let total = i128::from(days) * i128::from(DAY_US) + i128::from(micros);
    if months == 0 && total == 0 {
        return Ok(0);
    }
    span_ms(argument, months, days, micros).map_err(refusal::zero_is_taken_too)
}

/// When a lease taken at `now` expires.
pub fn expiry(now: Micros, ttl_ms: i32) -> Micros {
    now.saturating_add(i64::from(ttl_ms) * 1_000)
}

/// The number that an incarnation which starts at `now` begins its tokens with, at least 1.
pub fn token_at(now: Micros) -> i64 {
    now.saturating_sub(MINT_EPOCH).max(1)
}

/// A token that reads as a time more than a day after `now` was not granted by a real clock.
pub fn is_from_the_future(token: i64, now: Micros) -> bool {
    token > token_at(now.saturating_add(DAY_US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mint_begins_in_2026() {
        // 2000-01-01 plus 26 years, of which 2000, 04, 08, 12, 16, 20 and 24 were leap years
        assert_eq!(MINT_EPOCH / DAY_US, 26 * 365 + 7);
        // 29 November 2026 is day 332 of its year, counted from 0
        let november = MINT_EPOCH + 332 * DAY_US;
        assert_eq!(token_at(november), 28_684_800_000_000);
        assert_eq!(
            token_at(0),
            1,
            "a clock before 2026 gives a small number, never a negative one"
        );
    }

    fn ttl_ms(months: i32, days: i32, micros: i64) -> Result<i32> {
        span_ms("ttl", months, days, micros)
    }

    #[test]
    fn whole_milliseconds_up_to_a_day_are_taken() {
        assert_eq!(ttl_ms(0, 0, 1_000), Ok(1));
        assert_eq!(ttl_ms(0, 0, 15_000_000), Ok(15_000));
        assert_eq!(ttl_ms(0, 1, 0), Ok(86_400_000));
        assert_eq!(ttl_ms(0, -1, 25 * 3_600_000_000), Ok(3_600_000));
    }

    #[test]
    fn everything_else_is_refused() {
        let bad = [
            (0, 0, 0),
            (0, 0, -1_000_000),
            (0, 0, 500),
            (0, 0, 1_000_500),
            (0, 1, 1_000),
            (1, 0, 0),
            (-1, 31, 0),
            (0, i32::MAX, i64::MAX),
            (0, i32::MIN, i64::MIN),
            (i32::MAX, i32::MAX, i64::MAX),
            (0, 0, i64::MIN),
        ];
        for (months, days, micros) in bad {
            assert!(ttl_ms(months, days, micros).is_err(), "{months} {days} {micros}");
        }
    }

    #[test]
    fn some_lengths_may_be_0_and_follow_the_same_rules_otherwise() {
        let quiet_ms = |months, days, micros| span_or_zero_ms("quiet_period", months, days, micros);
        assert_eq!(quiet_ms(0, 0, 0), Ok(0));
        assert_eq!(quiet_ms(0, -1, DAY_US), Ok(0));
        assert_eq!(quiet_ms(0, 0, 60_000_000), Ok(60_000));
        for (months, days, micros) in [(0, 0, -1), (0, 0, 500), (0, 1, 1_000), (1, 0, 0)] {
            assert!(quiet_ms(months, days, micros).is_err(), "{months} {days} {micros}");
        }
    }

    #[test]
    fn a_token_a_day_ahead_is_from_the_future_and_small_numbers_never_are() {
        let now = MINT_EPOCH + 332 * DAY_US;
        assert!(!is_from_the_future(17, now));
        assert!(!is_from_the_future(token_at(now), now));
        assert!(is_from_the_future(token_at(now) + DAY_US + 1, now));
        assert!(is_from_the_future(i64::MAX, now));
    }
}
