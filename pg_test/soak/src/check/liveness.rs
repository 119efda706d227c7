//! With no fault in the way, a lease is granted or renewed again within its term and two seconds.
//!
//! A frozen or killed client is no fault in the way, nor is a backend that is stopped between its
//! statements: a takeover waits for neither. In the way are a server that is down, a backend that is
//! stopped in the middle of a statement, and open transactions that change the ownership of the
//! lease or have been prepared under it.

use super::{History, Violation};
use crate::clock::{Micros, SECOND, seconds};
use crate::history::{Answer, Ask, Operation};
use crate::worker::order::LONGEST_TTL_MS;
use std::collections::{BTreeMap, HashMap};

/// From when to when something was in the way.
pub type Span = (Micros, Micros);

/// What the candidates have to find a free lease in.
const GRACE: Micros = 2 * SECOND;

/// Looks at a stretch of time in which candidates tried every lease without a pause.
pub fn check(history: &History, within: Span, in_the_way: &[Span]) -> Vec<Violation> {
    let most = LONGEST_TTL_MS as Micros * 1_000 + GRACE;
    let mut found = Vec::new();
    let decided = decisions(&history.operations);
    for (lease, operations) in by_lease(&history.operations) {
        let mut spans: Vec<Span> = in_the_way.to_vec();
        spans.extend(operations.iter().filter_map(|o| occupied(history, &decided, o, within.1)));
        spans.extend(history.jumps.iter().map(|jump| (*jump, *jump)));
        spans.extend(operations.iter().filter_map(|o| signs_of_life(o)).map(|at| (at, at)));
        for (from, to) in gaps(within, spans) {
            if to - from > most {
                let what = format!(
                    "{lease} was not granted or renewed for {:.1} s with nothing in the way",
                    seconds(to - from)
                );
                found.push(Violation::new("a lease does not stay free", what));
            }
        }
    }
    found
}

fn by_lease(operations: &[Operation]) -> BTreeMap<&str, Vec<&Operation>> {
    let mut leases: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in operations {
        if let Some(lease) = operation.lease() {
            leases.entry(lease).or_default().push(operation);
        }
    }
    leases
}

/// When an operation showed that the lease can be had.
fn signs_of_life(operation: &Operation) -> Option<Micros> {
    let (at, answer) = operation.answered.as_ref()?;
    let alive = match (&operation.ask, answer) {
        (_, Answer::Granted(_) | Answer::Kept(_)) => true,
        (Ask::Renew { .. } | Ask::Release { .. }, Answer::Done) => true,
        (Ask::Write(write), Answer::Done) => write.token.is_none(),
        _ => false,
    };
    alive.then_some(*at)
}

/// How long an operation had the lease in a way that candidates have to wait for.
fn occupied(
    history: &History,
    decided: &HashMap<&str, Option<Micros>>,
    operation: &Operation,
    end: Micros,
) -> Option<Span> {
    let Ask::Write(write) = &operation.ask else { return None };
    if !write.changes_ownership() && !write.prepared {
        return None;
    }
    let by_others = decided.get(operation.name.as_str()).copied();
    let death = history.deaths.get(&operation.client).copied();
    let over = by_others.unwrap_or(operation.ended_at()).or(death);
    Some((operation.asked_at, over.unwrap_or(end)))
}

/// When what others had prepared was decided.
fn decisions(operations: &[Operation]) -> HashMap<&str, Option<Micros>> {
    let decided = operations.iter().filter_map(|operation| match &operation.ask {
        Ask::Decide { write, .. } => Some((write.as_str(), operation.ended_at())),
        _ => None,
    });
    decided.collect()
}

/// What is left of a stretch of time between the spans.
fn gaps(within: Span, mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut gaps = Vec::new();
    let mut from = within.0;
    for (begin, end) in spans {
        if begin > from {
            gaps.push((from, begin.min(within.1)));
        }
        from = from.max(end);
    }
    gaps.push((from, within.1));
    gaps.retain(|(from, to)| to > from);
    gaps
}

#[cfg(test)]
mod tests {
    use super::super::story::{acquire_op, answered, history, write_op};
    use super::*;

    const WITHIN: Span = (0, 8_000_000);

    fn at(seconds: f64) -> Micros {
        (seconds * 1e6) as Micros
    }

    #[test]
    fn what_is_left_between() {
        assert_eq!(gaps((0, 10), vec![(2, 4), (3, 5), (9, 20)]), [(0, 2), (5, 9)]);
        assert_eq!(gaps((5, 10), vec![(0, 2)]), [(5, 10)]);
    }

    fn found(mut operations: Vec<Operation>, in_the_way: &[Span]) -> usize {
        operations.push(acquire_op("y", 9, at(7.9), at(8.0), 9));
        check(&history(operations), WITHIN, in_the_way).len()
    }

    #[test]
    fn a_lease_that_stays_free_is_found() {
        assert_eq!(found(vec![acquire_op("x", 1, 0, 10, 1)], &[]), 1);
        let between = acquire_op("x", 2, at(3.9), at(4.4), 2);
        assert_eq!(
            found(vec![acquire_op("x", 1, at(0.9), at(1.0), 1), between], &[(at(4.5), at(5.0))]),
            0
        );
    }

    #[test]
    fn faults_in_the_way_do_not_count() {
        assert_eq!(found(Vec::new(), &[(at(0.0), at(5.0))]), 0);
        assert_eq!(found(Vec::new(), &[(at(0.0), at(4.0))]), 1);
    }

    #[test]
    fn an_open_change_of_ownership_is_in_the_way_until_its_client_dies() {
        let mut open = write_op("x", 1, None, at(0.1));
        open.answered = None;
        let mut history = history(vec![open, acquire_op("y", 9, at(7.9), at(8.0), 9)]);
        assert_eq!(check(&history, WITHIN, &[]).len(), 0);
        history.deaths.insert("x".to_owned(), at(2.0));
        assert_eq!(check(&history, WITHIN, &[]).len(), 1);
    }

    #[test]
    fn a_prepared_write_is_in_the_way_until_it_is_decided() {
        let mut open = write_op("x", 1, Some(1), at(0.1));
        if let Ask::Write(write) = &mut open.ask {
            write.prepared = true;
        }
        let decide = |when| {
            let ask = Ask::Decide { write: "x/1".to_owned(), commit: true };
            answered("janitor", 1, ask, at(when), at(when), Answer::Done)
        };
        assert_eq!(found(vec![open.clone(), decide(5.0)], &[]), 0);
        assert_eq!(found(vec![open, decide(2.0)], &[]), 1);
    }
}
