//! Counting tests honestly: what did not say that it passed has failed.

use std::ops::Add;

/// How many tests passed and how many failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
}

impl Tally {
    pub fn all_passed(self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// A program that failed as a whole has failed at least once, whatever its lines said.
    pub fn after(self, success: bool) -> Self {
        if success { self } else { Self { failed: self.failed.max(1), ..self } }
    }

    /// Tests of Rust: the summary that each test binary prints.
    pub fn of_cargo(output: &str) -> Self {
        let summaries = output.lines().filter_map(|l| l.trim().strip_prefix("test result: "));
        summaries.map(cargo_summary).fold(Self::default(), Add::add)
    }

    /// Tests of pg_regress or pg_isolation_regress: each one asked for must say ok.
    pub fn of_regress(output: &str, asked: &[String]) -> Self {
        let passed = asked.iter().filter(|name| output.lines().any(|l| says_ok(l, name))).count();
        Self { passed, failed: asked.len() - passed }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// `ok. 3 passed; 0 failed; 1 ignored; …`
fn cargo_summary(line: &str) -> Tally {
    let words: Vec<&str> = line.split([' ', ';']).filter(|w| !w.is_empty()).collect();
    let before = |what: &str| {
        let at = words.iter().position(|w| *w == what).filter(|at| *at > 0);
        at.and_then(|at| words[at - 1].parse().ok()).unwrap_or_default()
    };
    Tally { passed: before("passed"), failed: before("failed") }
}

/// `test NAME ... ok 12 ms` up to PostgreSQL 15, `ok 1 - NAME 12 ms` from 16 on.
fn says_ok(line: &str, name: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["test", who, "...", "ok", ..] | ["ok", _, "-" | "+", who, ..] => *who == name,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn binaries_of_rust_tests_are_summed() {
        let output = "test a ... ok\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Tally::of_cargo(output), Tally { passed: 5, failed: 1 });
    }

    #[test]
    fn a_crash_is_a_failure() {
        assert_eq!(Tally::of_cargo("").after(false), Tally { passed: 0, failed: 1 });
        let two = Tally { passed: 1, failed: 2 };
        assert_eq!(two.after(false), two);
    }

    #[test]
    fn what_pg_regress_never_mentioned_has_failed() {
        let output = "test one                 ... ok           12 ms\n\
                      test two                 ... FAILED        3 ms\n";
        let asked = names(&["one", "two", "three"]);
        assert_eq!(Tally::of_regress(output, &asked), Tally { passed: 1, failed: 2 });
    }

    #[test]
    fn the_newer_form_of_pg_regress_is_understood() {
        let output = "ok 1         - one              12 ms\nnot ok 2     - two    3 ms\n";
        assert_eq!(
            Tally::of_regress(output, &names(&["one", "two"])),
            Tally { passed: 1, failed: 1 }
        );
    }

    #[test]
    fn nothing_run_is_not_all_passed() {
        assert!(!Tally::default().all_passed());
    }
}
