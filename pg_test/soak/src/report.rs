//! The report of a run: printed, and written where it can be found.

use crate::clock::Micros;
use crate::part::Part;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Debug, Serialize)]
pub struct Report {
    pub seed: u64,
    pub commit: String,
    pub version: String,
    /// How long it was to last, and did.
    pub planned: u64,
    pub seconds: u64,
    pub total: Part,
    /// What each mutant was caught by; nothing if it survived.
    pub mutants: BTreeMap<String, Option<String>>,
}

impl Report {
    pub fn new(seed: u64, planned: u64, version: String) -> Self {
        let (total, mutants) = (Part::default(), BTreeMap::new());
        Self { seed, commit: commit(), version, planned, seconds: 0, total, mutants }
    }

    pub fn killed(&self) -> usize {
        self.mutants.values().filter(|by| by.is_some()).count()
    }

    pub fn passed(&self) -> bool {
        self.total.is_clean() && self.killed() == self.mutants.len()
    }

    pub fn last_line(&self) -> String {
        let (violations, all) = (self.total.violations.len(), self.mutants.len());
        format!("violations: {violations}, mutants killed: {} of {all}", self.killed())
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let total = &self.total;
        let _ = writeln!(text, "seed {}, commit {}, {}", self.seed, self.commit, self.version);
        let _ = writeln!(text, "{} seconds", self.seconds);
        counts(&mut text, "faults", &total.faults);
        counts(&mut text, "operations", &total.operations);
        let _ = writeln!(text, "grants: {}, takeovers: {}", total.grants, total.takeovers);
        counts(&mut text, "refusals by SQLSTATE", &total.refusals);
        let _ = writeln!(text, "unknown answers: {}", total.unknowns);
        counts(&mut text, "acknowledged and gone, as announced", &total.lost);
        times(&mut text, &total.takeover_times);
        for (mutant, by) in &self.mutants {
            let by = by.as_deref().unwrap_or("SURVIVED");
            let _ = writeln!(text, "mutant {mutant}: {by}");
        }
        lines(&mut text, "note", &total.notes);
        lines(&mut text, "unexplained", &total.unexplained);
        for violation in &total.violations {
            let _ = writeln!(text, "VIOLATION of \"{}\": {}", violation.rule, violation.what);
        }
        let _ = writeln!(text, "again: SEED={} SOAK_SECONDS={} make soak", self.seed, self.planned);
        text
    }

    pub fn write(&self, directory: &Path) -> Result<()> {
        fs::write(directory.join("report.json"), serde_json::to_string_pretty(self)?)?;
        fs::write(directory.join("report.txt"), format!("{}{}\n", self.text(), self.last_line()))?;
        Ok(())
    }
}

fn counts(text: &mut String, what: &str, counts: &BTreeMap<String, usize>) {
    let sum: usize = counts.values().sum();
    let _ = writeln!(text, "{what}: {sum}");
    for (name, count) in counts {
        let _ = writeln!(text, "  {count:>7}  {name}");
    }
}

fn lines(text: &mut String, what: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "{what}: {line}");
    }
}

fn times(text: &mut String, times: &BTreeMap<String, Vec<Micros>>) {
    let _ = writeln!(text, "until the next grant, in ms:");
    let _ = writeln!(text, "  {:>5} {:>7} {:>7} {:>7}  after", "n", "p50", "p99", "max");
    for (kind, times) in times {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let at = |percent| percentile(&sorted, percent) / 1_000;
        let n = sorted.len();
        let _ = writeln!(text, "  {n:>5} {:>7} {:>7} {:>7}  {kind}", at(50), at(99), at(100));
    }
}

/// The smallest of sorted values that so many percent are not above.
fn percentile(sorted: &[Micros], percent: usize) -> Micros {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    if changed.is_some_and(|list| !list.is_empty()) {
        format!("{commit} with changes")
    } else {
        commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let hundred: Vec<Micros> = (1..=100).collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (50, 99));
        assert_eq!((percentile(&[7], 50), percentile(&[7], 100), percentile(&[], 50)), (7, 7, 0));
    }

    #[test]
    fn a_surviving_mutant_is_a_failure() {
        let mut report = Report::new(1, 60, String::new());
        report.mutants.insert("snapshot".to_owned(), Some("order".to_owned()));
        assert!(report.passed());
        report.mutants.insert("lock-mode".to_owned(), None);
        assert!(!report.passed());
        assert_eq!(report.last_line(), "violations: 0, mutants killed: 1 of 2");
    }

    #[test]
    fn what_nobody_explains_is_a_failure() {
        let mut report = Report::new(1, 60, String::new());
        report.total.unexplained.push("w1.0/3: XX000".to_owned());
        assert!(!report.passed());
    }
}
