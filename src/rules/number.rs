//! Numbers that callers give.

use super::refusal::{self, Result};

/// Accepts `given` from `least` to `most`.
pub fn check(argument: &str, given: i64, least: i64, most: i64) -> Result<()> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(refusal::out_of_range(argument, given, least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_belong_to_the_range() {
        for given in [1, 2, 1_000] {
            assert_eq!(check("most", given, 1, 1_000), Ok(()));
        }
        for given in [i64::MIN, -1, 0, 1_001, i64::MAX] {
            assert!(check("most", given, 1, 1_000).is_err(), "{given}");
        }
    }
}
