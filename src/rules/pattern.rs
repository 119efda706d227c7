//! Patterns of lease names: one name, a beginning of names with `*` after it, or `*` for all.

use super::name;
use super::refusal::{self, Result};

pub fn check(pattern: &str) -> Result<()> {
    let good = match pattern.strip_suffix('*') {
        Some("") => Ok(()),
        beginning => name::check_lease(beginning.unwrap_or(pattern)),
    };
    good.map_err(|_| refusal::bad_pattern(pattern))
}

pub fn matches(pattern: &str, lease: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => lease.starts_with(beginning),
        None => lease == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        for good in ["*", "shard:*", "mover", &"x".repeat(200)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "**", "a*b", "*a", "a b", " *", "é*", &"x".repeat(201)] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn it_matches_whole_names() {
        for (pattern, yes) in
            [("*", true), ("mov*", true), ("mover*", true), ("mover", true), ("move", false)]
        {
            assert_eq!(matches(pattern, "mover"), yes, "{pattern}");
        }
    }
}
