//! A lease goes to another only after its term, unless it was released or taken over.
//!
//! The term is counted on the test's own clock, from the first moment at which the grant can have
//! had the row: after it was asked for, and after the transaction that had the row before it was
//! told to end. A grant that had to wait has its full term all the same.

use super::{History, Violation};
use crate::clock::Micros;
use crate::history::{Ask, Operation};
use crate::node::{Change, Node, Row};
use std::collections::{BTreeMap, HashMap};

/// The operations that ended or began a token, by lease and token.
struct Known<'a> {
    grants: HashMap<i64, &'a Operation>,
    releases: HashMap<i64, &'a Operation>,
    /// When each client asked for a new term, and for how long.
    terms: HashMap<(&'a str, &'a str), Vec<(Micros, u64)>>,
}

pub fn check(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let known = Known::of(&history.operations);
    for node in history.nodes.iter().filter(|node| !node.is_resource) {
        found.extend(on_node(history, node, &known));
    }
    found
}

fn on_node(history: &History, node: &Node, known: &Known) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut leases: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for change in node.transactions.iter().flatten() {
        if let Change::Lease { name, row } = change {
            let rows = leases.entry(name).or_default();
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
    }
    for (name, rows) in leases {
        let mut before: Option<&Row> = None;
        for pair in rows.windows(2) {
            if let Some(what) = too_early(history, known, before, pair[0], pair[1]) {
                found.push(Violation::new(
                    "a live lease does not change hands",
                    format!("{}: {name}: {what}", node.server),
                ));
            }
            before = Some(pair[0]);
        }
    }
    found
}

/// `held` went to `next`; `before` is what the row was before `held`.
fn too_early(
    history: &History,
    known: &Known,
    before: Option<&Row>,
    held: &Row,
    next: &Row,
) -> Option<String> {
    if held.owner.is_none() || next.owner.is_none() || held.owner == next.owner {
        return None;
    }
    let (first, second) = (known.grants.get(&held.token)?, known.grants.get(&next.token)?);
    if matches!(second.ask, Ask::Takeover { .. }) {
        return None;
    }
    let began = first.asked_at.max(known.row_was_free_at(before).unwrap_or(Micros::MIN));
    let (told, _) = second.granted()?;
    let early = known.first_end(first, began, told)? - told;
    let moved = history.jumps.iter().any(|jump| (first.asked_at..=told).contains(jump));
    (early > 0 && !moved).then(|| {
        let (first, second) = (&first.name, &second.name);
        format!("{second} was given it {} ms before the term of {first} ended", early / 1_000)
    })
}

impl<'a> Known<'a> {
    fn of(operations: &'a [Operation]) -> Self {
        let mut known =
            Self { grants: HashMap::new(), releases: HashMap::new(), terms: HashMap::new() };
        for operation in operations {
            if let Some((_, token)) = operation.granted() {
                known.grants.insert(token, operation);
            }
            if let (Some(ttl_ms), Some(lease)) = (ttl_ms(operation), operation.lease()) {
                let terms = known.terms.entry((operation.client.as_str(), lease)).or_default();
                terms.push((operation.asked_at, ttl_ms));
            }
            match &operation.ask {
                Ask::Release { token, .. } => {
                    known.releases.insert(*token, operation);
                }
                Ask::Write(write) if write.releases => {
                    known.releases.extend(write.token.map(|token| (token, operation)));
                }
                _ => {}
            }
        }
        known
    }

    /// The first moment at which the term can have ended: a later term may be shorter than the first.
    fn first_end(&self, grant: &Operation, began: Micros, told: Micros) -> Option<Micros> {
        let terms = self.terms.get(&(grant.client.as_str(), grant.lease()?))?;
        let ours = terms.iter().filter(|(at, _)| (grant.asked_at..told).contains(at));
        let ends = ours.map(|(at, ttl_ms)| began.max(*at) + (*ttl_ms as Micros) * 1_000);
        ends.min()
    }

    /// No sooner than this had the transaction that made the row what it was let go of it.
    fn row_was_free_at(&self, before: Option<&Row>) -> Option<Micros> {
        let before = before?;
        let ended = match &before.owner {
            Some(_) => self.grants.get(&before.token),
            None => self.releases.get(&before.token),
        };
        ended.map(|operation| operation.ending_at.unwrap_or(operation.asked_at))
    }
}

fn ttl_ms(operation: &Operation) -> Option<u64> {
    match &operation.ask {
        Ask::Acquire { ttl_ms, .. } | Ask::Takeover { ttl_ms, .. } | Ask::Renew { ttl_ms, .. } => {
            Some(*ttl_ms)
        }
        Ask::Write(write) if write.token.is_none() => Some(write.ttl_ms),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::{acquire_op, answered, grant, history, node, release, write_op};
    use super::*;
    use crate::history::Answer;

    /// x has it for a second, asked for at 0; y is told at `told`.
    fn found(told: Micros, transactions: Vec<Vec<Change>>) -> usize {
        let mut history =
            history(vec![acquire_op("x", 1, 0, 10, 1), acquire_op("y", 1, told - 5, told, 2)]);
        history.nodes.push(node("a", transactions));
        check(&history).len()
    }

    #[test]
    fn a_grant_within_the_term_is_found() {
        let handover = || vec![vec![grant(1, "x")], vec![grant(2, "y")]];
        assert_eq!(found(999_000, handover()), 1);
        assert_eq!(found(1_001_000, handover()), 0);
    }

    #[test]
    fn after_a_release_it_is_right() {
        let released = vec![vec![grant(1, "x")], vec![release(1)], vec![grant(2, "y")]];
        assert_eq!(found(500_000, released), 0);
    }

    #[test]
    fn a_clock_that_jumped_excuses_it() {
        let mut history =
            history(vec![acquire_op("x", 1, 0, 10, 1), acquire_op("y", 1, 20, 30, 2)]);
        history.nodes.push(node("a", vec![vec![grant(1, "x")], vec![grant(2, "y")]]));
        assert_eq!(check(&history).len(), 1);
        history.jumps.push(15);
        assert_eq!(check(&history).len(), 0);
    }

    #[test]
    fn a_shorter_renewal_ends_it_sooner() {
        let mut history =
            history(vec![acquire_op("x", 1, 0, 10, 1), acquire_op("y", 1, 595_000, 600_000, 2)]);
        history.nodes.push(node("a", vec![vec![grant(1, "x")], vec![grant(2, "y")]]));
        assert_eq!(check(&history).len(), 1);
        let ask = Ask::Renew { lease: "job:1".to_owned(), token: 1, ttl_ms: 300 };
        history.operations.push(answered("x", 2, ask, 200_000, 201_000, Answer::Done));
        assert_eq!(check(&history).len(), 0);
    }

    /// x waits for z, who gives the lease back at 800 ms: x has its second from then on.
    #[test]
    fn the_term_begins_after_the_wait() {
        let mut last = write_op("z", 1, Some(1), 0);
        if let Ask::Write(write) = &mut last.ask {
            write.releases = true;
        }
        last.ending_at = Some(800_000);
        let told = |at| {
            let mut history = history(vec![
                last.clone(),
                acquire_op("x", 1, 10, 801_000, 2),
                acquire_op("y", 1, at - 5, at, 3),
            ]);
            let steps = vec![
                vec![grant(1, "z")],
                vec![release(1)],
                vec![grant(2, "x")],
                vec![grant(3, "y")],
            ];
            history.nodes.push(node("a", steps));
            check(&history).len()
        };
        assert_eq!((told(1_500_000), told(1_900_000)), (1, 0));
    }
}
