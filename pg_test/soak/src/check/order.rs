//! One server's commits, one after the other: which token was current at each of them.

use super::Violation;
use crate::history::{Ask, Operation};
use crate::node::{Change, Node, Row};
use std::collections::{BTreeMap, HashMap};

/// The leases as they are after some of the commits.
struct State<'a> {
    node: &'a Node,
    leases: BTreeMap<String, Row>,
    rows: HashMap<String, usize>,
    /// How many rows each table had when a token was granted.
    at_grant: HashMap<i64, usize>,
    found: Vec<Violation>,
}

pub fn check(node: &Node, operations: &[Operation]) -> Vec<Violation> {
    let mut state = State {
        node,
        leases: node.before.clone(),
        rows: HashMap::new(),
        at_grant: HashMap::new(),
        found: Vec::new(),
    };
    for (lease, ..) in &node.inherited {
        *state.rows.entry(lease.clone()).or_default() += 1;
    }
    for change in node.transactions.iter().flatten() {
        match change {
            Change::Lease { name, row } => state.lease(name, row),
            Change::Work { lease, operation, token, .. } => state.work(lease, operation, *token),
        }
    }
    state.looks(operations);
    state.found
}

impl State<'_> {
    fn lease(&mut self, name: &str, row: &Row) {
        let before = self.leases.insert(name.to_owned(), row.clone()).unwrap_or_default();
        if row.token < before.token {
            let what = format!("{name}: token {} committed after {}", row.token, before.token);
            self.add("tokens rise in commit order", what);
        }
        if row.token == before.token && !self.node.is_resource {
            let other = row.owner.is_some() && row.owner != before.owner;
            if other {
                let what = format!(
                    "{name}: token {} went from {:?} to {:?}",
                    row.token, before.owner, row.owner
                );
                self.add("a change of hands raises the token", what);
            }
        }
        if row.token > before.token {
            let rows = self.rows.get(name).copied().unwrap_or(0);
            self.at_grant.insert(row.token, rows);
        }
    }

    fn work(&mut self, lease: &str, operation: &str, token: i64) {
        *self.rows.entry(lease.to_owned()).or_default() += 1;
        let row = self.leases.get(lease).cloned().unwrap_or_default();
        let ended = row.owner.is_none() && !self.node.is_resource;
        if row.token != token || ended {
            let state = if ended { ", released" } else { "" };
            let what = format!(
                "{lease}: {operation} committed under token {token}, current was {}{state}",
                row.token
            );
            self.add("a committed write carries the current token", what);
        }
    }

    /// A holder's first transaction after the grant sees what its predecessor committed.
    fn looks(&mut self, operations: &[Operation]) {
        for operation in operations.iter().filter(|o| o.server == self.node.server) {
            let Ask::Write(write) = &operation.ask else { continue };
            let (Some(saw), Some(token)) = (operation.saw, write.token) else { continue };
            let there = self.at_grant.get(&token).copied().unwrap_or(0);
            if saw < there {
                let what = format!(
                    "{}: {} saw {saw} rows under token {token}, {there} were committed before it",
                    write.lease, operation.name
                );
                self.add("a new holder sees what was committed before", what);
            }
        }
    }

    fn add(&mut self, rule: &'static str, what: String) {
        self.found.push(Violation::new(rule, format!("{}: {what}", self.node.server)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::{grant, node, release, work, write_op};
    use super::check;

    fn rules(transactions: Vec<Vec<crate::node::Change>>) -> Vec<&'static str> {
        check(&node("a", transactions), &[]).iter().map(|v| v.rule).collect()
    }

    #[test]
    fn a_write_under_the_current_token_is_right() {
        assert!(rules(vec![vec![grant(1, "x")], vec![work("x/1", 1)]]).is_empty());
    }

    #[test]
    fn a_write_and_the_release_in_one_transaction_are_right() {
        assert!(rules(vec![vec![grant(1, "x")], vec![work("x/1", 1), release(1)]]).is_empty());
    }

    #[test]
    fn a_write_after_the_takeover_is_found() {
        let late = vec![vec![grant(1, "x")], vec![grant(2, "y")], vec![work("x/1", 1)]];
        assert_eq!(rules(late), ["a committed write carries the current token"]);
    }

    #[test]
    fn a_write_after_the_release_is_found() {
        let late = vec![vec![grant(1, "x")], vec![release(1)], vec![work("x/1", 1)]];
        assert_eq!(rules(late), ["a committed write carries the current token"]);
    }

    #[test]
    fn a_lower_token_is_found() {
        assert_eq!(
            rules(vec![vec![grant(2, "x")], vec![grant(1, "y")]]),
            ["tokens rise in commit order"]
        );
    }

    #[test]
    fn a_token_that_changes_hands_is_found() {
        assert_eq!(
            rules(vec![vec![grant(1, "x")], vec![grant(1, "y")]]),
            ["a change of hands raises the token"]
        );
    }

    #[test]
    fn a_look_that_misses_a_row_is_found() {
        let node = node("a", vec![vec![grant(1, "x")], vec![work("x/1", 1)], vec![grant(2, "y")]]);
        let look = |saw| {
            let mut operation = write_op("y", 1, Some(2), 10);
            operation.saw = Some(saw);
            check(&node, &[operation]).len()
        };
        assert_eq!((look(1), look(0)), (0, 1));
    }
}
