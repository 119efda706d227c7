//! What the clients were told, and whether it is true.

use anyhow::Result;
use postgres::Client;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A grant as a client saw it.
#[derive(Clone)]
pub struct Grant {
    pub owner: String,
    pub token: i64,
    pub asked: Instant,
    pub told: Instant,
}

/// A write as a client saw it.
#[derive(Clone)]
pub struct Write {
    pub id: i64,
    pub told: Instant,
}

#[derive(Default)]
pub struct Told {
    pub grants: Vec<Grant>,
    pub acknowledged: Vec<Write>,
    pub refused: Vec<i64>,
    pub unknown: usize,
}

/// Shared by the workers.
#[derive(Default)]
pub struct History(Mutex<Told>);

/// What is wrong with a history, and what was lost.
pub struct Verdict {
    pub lost: usize,
    pub violations: Vec<String>,
}

impl History {
    pub fn add(&self, f: impl FnOnce(&mut Told)) {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub fn read<R>(&self, f: impl FnOnce(&Told) -> R) -> R {
        f(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The newest token that a client was told of.
    pub fn newest_token(&self) -> i64 {
        self.read(|told| told.grants.iter().map(|grant| grant.token).max().unwrap_or(0))
    }

    pub fn acknowledged_since(&self, since: Instant) -> usize {
        self.read(|told| told.acknowledged.iter().filter(|write| write.told > since).count())
    }

    /// The longest time without an acknowledged write since then.
    pub fn longest_gap_since(&self, since: Instant) -> f64 {
        let mut times: Vec<Instant> = self.read(|told| {
            told.acknowledged.iter().map(|write| write.told).filter(|at| *at > since).collect()
        });
        times.sort();
        let begins = std::iter::once(&since).chain(&times);
        begins.zip(&times).map(|(a, b)| b.duration_since(*a).as_secs_f64()).fold(0.0, f64::max)
    }

    /// Compares with what the table holds, in the order of its commits.
    pub fn judge(&self, client: &mut Client) -> Result<Verdict> {
        let rows = client
            .query("SELECT id, token FROM work ORDER BY pg_xact_commit_timestamp(xmin), id", &[])?;
        let there: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        let tokens: Vec<i64> = rows.iter().map(|row| row.get(1)).collect();
        Ok(self.read(|told| {
            let mut violations = Vec::new();
            for pair in tokens.windows(2).filter(|pair| pair[1] < pair[0]) {
                violations.push(format!(
                    "a write under {} was committed after one under {}",
                    pair[1], pair[0]
                ));
            }
            for id in told.refused.iter().filter(|id| there.contains(id)) {
                violations.push(format!("write {id} was refused, and is there"));
            }
            violations.extend(wrong_grants(&told.grants));
            let lost = told.acknowledged.iter().filter(|write| !there.contains(&write.id));
            Verdict { lost: lost.count(), violations }
        }))
    }
}

/// No token to two owners, and a grant that was asked for after another was told has the larger one.
fn wrong_grants(grants: &[Grant]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, one) in grants.iter().enumerate() {
        for other in &grants[..at] {
            if one.token == other.token && one.owner != other.owner {
                wrong.push(format!(
                    "{} was granted to {} and {}",
                    one.token, one.owner, other.owner
                ));
            }
            if one.asked > other.told && one.token <= other.token {
                wrong.push(format!("{} was granted after {}", one.token, other.token));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn grant(owner: &str, token: i64, at: Instant) -> Grant {
        Grant { owner: owner.to_owned(), token, asked: at, told: at + Duration::from_millis(1) }
    }

    #[test]
    fn wrong_grants_are_seen() {
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        assert!(wrong_grants(&[grant("a", 1, now), grant("b", 2, later)]).is_empty());
        assert_eq!(wrong_grants(&[grant("a", 1, now), grant("b", 1, now)]).len(), 1);
        assert_eq!(wrong_grants(&[grant("a", 2, now), grant("b", 1, later)]).len(), 1);
    }

    #[test]
    fn a_gap_is_from_the_fault_or_between_two_writes() {
        let history = History::default();
        let start = Instant::now();
        for seconds in [1, 4, 5] {
            let told = start + Duration::from_secs(seconds);
            history.add(|all| all.acknowledged.push(Write { id: 0, told }));
        }
        assert_eq!(history.longest_gap_since(start), 3.0);
    }
}
