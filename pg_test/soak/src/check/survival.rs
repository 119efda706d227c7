//! What is there at the end, and what is not.

use super::{History, Violation};
use crate::history::{Answer, Ask, Operation, Write};
use crate::node::{Change, Node, Row};
use crate::worker::UNDONE;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What was refused or rolled back is nowhere; nothing is there in part; no rolled-back savepoint is.
pub fn absent(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for node in &history.nodes {
        let parts = parts(node);
        for operation in &history.operations {
            let Ask::Write(write) = &operation.ask else { continue };
            if let Some(there) = parts.get(operation.name.as_str()) {
                found.extend(wrong(node, operation, write, there));
            }
        }
        for (operation, commit) in decisions(history, &[&node.server]) {
            if !commit && parts.contains_key(operation) {
                let what = format!("{}: {operation} was rolled back when prepared", node.server);
                found.push(Violation::new("what was rolled back is not there", what));
            }
        }
    }
    found
}

fn wrong(node: &Node, operation: &Operation, write: &Write, there: &[i32]) -> Option<Violation> {
    let named = |what: &str| format!("{}: {} {what}", node.server, operation.name);
    let rule = match operation.answer() {
        Some(Answer::Refused { state, .. }) => {
            let what = named(&format!("was refused with {state}"));
            return Some(Violation::new("what was refused is not there", what));
        }
        Some(Answer::RolledBack) => "what was rolled back is not there",
        Some(Answer::No(_)) => "what was not begun is not there",
        _ if there.contains(&UNDONE) => "what a savepoint undid is not there",
        _ if there.len() != write.parts => "nothing is there in part",
        _ => return None,
    };
    Some(Violation::new(rule, named(&format!("left parts {there:?} of {}", write.parts))))
}

fn parts(node: &Node) -> HashMap<&str, Vec<i32>> {
    let mut parts: HashMap<&str, Vec<i32>> = HashMap::new();
    for (operation, part) in node.works() {
        parts.entry(operation).or_default().push(part);
    }
    parts
}

/// What others decided of prepared transactions, as far as it was acknowledged.
fn decisions<'a>(history: &'a History, servers: &[&str]) -> impl Iterator<Item = (&'a str, bool)> {
    let there = history.operations.iter().filter(|o| servers.contains(&o.server.as_str()));
    there.filter_map(|operation| match (&operation.ask, operation.answer()) {
        (Ask::Decide { write, commit }, Some(Answer::Done)) => Some((write.as_str(), *commit)),
        _ => None,
    })
}

/// What was acknowledged on one of `servers` and is not on `node`.
#[derive(Debug, Default)]
pub struct Lost {
    pub grants: Vec<String>,
    pub writes: Vec<String>,
    /// By clients that had asked not to wait for the disk.
    pub careless: usize,
}

pub fn lost(history: &History, servers: &[&str], node: &Node) -> Lost {
    let there = There::of(node);
    let mut lost = Lost::default();
    let ours = |o: &&Operation| servers.contains(&o.server.as_str());
    for operation in history.operations.iter().filter(ours) {
        if !there.keeps_grant(operation) {
            lost.grants.push(operation.name.clone());
        }
        let Ask::Write(write) = &operation.ask else { continue };
        let gone = operation.answer() == Some(&Answer::Done)
            && !there.works.contains(operation.name.as_str());
        if gone && write.parts > 0 {
            // one that acquired what it had already has changed nothing
            let changes = write.releases || operation.shown.is_some();
            match write.durable || changes {
                true => lost.writes.push(operation.name.clone()),
                false => lost.careless += 1,
            }
        }
    }
    for (operation, commit) in decisions(history, servers) {
        if commit && !there.works.contains(operation) {
            lost.writes.push(operation.to_owned());
        }
    }
    lost
}

/// What a server has in the end.
struct There<'a> {
    works: HashSet<&'a str>,
    tokens: HashSet<i64>,
    released: HashSet<i64>,
    before: &'a BTreeMap<String, Row>,
}

impl<'a> There<'a> {
    fn of(node: &'a Node) -> Self {
        let mut there = Self {
            works: node.works().map(|(operation, _)| operation).collect(),
            tokens: HashSet::new(),
            released: HashSet::new(),
            before: &node.before,
        };
        for change in node.transactions.iter().flatten() {
            if let Change::Lease { row, .. } = change {
                there.tokens.insert(row.token);
                if row.owner.is_none() {
                    there.released.insert(row.token);
                }
            }
        }
        there
    }

    /// Whether a change of ownership that was acknowledged is there.
    fn keeps_grant(&self, operation: &Operation) -> bool {
        let lease = operation.lease().unwrap_or_default();
        match (&operation.ask, operation.answer()) {
            (Ask::Acquire { .. } | Ask::Takeover { .. }, Some(Answer::Granted(token))) => {
                self.knows(lease, *token)
            }
            (Ask::Release { token, .. }, Some(Answer::Done)) => self.knows_end(lease, *token),
            (Ask::Write(_), Some(Answer::Done)) => {
                operation.shown.is_none_or(|(_, token)| self.knows(lease, token))
            }
            _ => true,
        }
    }

    /// As tokens rise in commit order, a later one says that the earlier ones were there.
    fn knows(&self, lease: &str, token: i64) -> bool {
        let inherited = self.before.get(lease).is_some_and(|row| row.token >= token);
        inherited || self.tokens.contains(&token)
    }

    fn knows_end(&self, lease: &str, token: i64) -> bool {
        let inherited = self
            .before
            .get(lease)
            .is_some_and(|row| row.token > token || (row.token == token && row.owner.is_none()));
        inherited || self.released.contains(&token)
    }
}

/// On a server that was never lost, everything acknowledged is there.
pub fn present(history: &History, server: &str, node: &Node) -> Vec<Violation> {
    let lost = lost(history, &[server], node);
    let grants =
        lost.grants.iter().map(|name| ("an acknowledged change of ownership survives", name));
    let writes = lost.writes.iter().map(|name| ("an acknowledged write survives", name));
    grants
        .chain(writes)
        .map(|(rule, name)| Violation::new(rule, format!("{server}: {name} is gone")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::story::{acquire_op, answered, grant, history, node, part, work, write_op};
    use super::*;

    fn refused() -> Answer {
        Answer::Refused { state: "55000".to_owned(), said: String::new() }
    }

    fn absent_rules(answer: Option<Answer>, left: Vec<Change>) -> Vec<&'static str> {
        let mut operation = write_op("x", 1, Some(1), 0);
        operation.answered = answer.map(|answer| (9, answer));
        let mut history = history(vec![operation]);
        history.nodes.push(node("a", vec![vec![grant(1, "x")], left]));
        absent(&history).iter().map(|v| v.rule).collect()
    }

    #[test]
    fn a_refused_write_that_is_there_is_found() {
        let there = || vec![work("x/1", 1)];
        assert_eq!(absent_rules(Some(refused()), there()), ["what was refused is not there"]);
        assert_eq!(
            absent_rules(Some(Answer::RolledBack), there()),
            ["what was rolled back is not there"]
        );
        assert!(absent_rules(None, there()).is_empty());
        assert!(absent_rules(Some(refused()), Vec::new()).is_empty());
    }

    #[test]
    fn half_a_write_and_an_undone_one_are_found() {
        let half = vec![part("x/1", 0, 1), part("x/1", 1, 1)];
        assert_eq!(absent_rules(Some(Answer::Done), half), ["nothing is there in part"]);
        let undone = vec![part("x/1", UNDONE, 1), part("x/1", 0, 1)];
        assert_eq!(absent_rules(None, undone), ["what a savepoint undid is not there"]);
    }

    #[test]
    fn a_prepared_write_that_was_rolled_back_and_is_there_is_found() {
        let mut write = write_op("x", 1, Some(1), 0);
        write.answered = None;
        let decide = Ask::Decide { write: "x/1".to_owned(), commit: false };
        let decide = answered("janitor", 1, decide, 5, 6, Answer::Done);
        let mut history = history(vec![write, decide]);
        history.nodes.push(node("a", vec![vec![grant(1, "x")], vec![work("x/1", 1)]]));
        assert_eq!(absent(&history).len(), 1);
    }

    #[test]
    fn what_was_acknowledged_and_is_gone_is_found() {
        let history = history(vec![acquire_op("x", 1, 0, 5, 7), write_op("x", 2, Some(7), 6)]);
        let whole = node("a", vec![vec![grant(7, "x")], vec![work("x/2", 7)]]);
        assert!(present(&history, "a", &whole).is_empty());
        assert_eq!(present(&history, "a", &node("a", vec![])).len(), 2);
    }

    #[test]
    fn a_change_of_ownership_is_never_careless() {
        let mut write = write_op("x", 1, None, 0);
        if let Ask::Write(write) = &mut write.ask {
            write.durable = false;
        }
        let gone = |write: &Operation| {
            lost(&history(vec![write.clone()]), &["a"], &node("a", vec![])).writes.len()
        };
        assert_eq!(gone(&write), 0);
        write.shown = Some((1, 7));
        assert_eq!(gone(&write), 1);
    }

    #[test]
    fn a_careless_write_may_be_lost() {
        let mut write = write_op("x", 1, Some(1), 0);
        if let Ask::Write(write) = &mut write.ask {
            write.durable = false;
        }
        let lost = lost(&history(vec![write]), &["a"], &node("a", vec![]));
        assert_eq!((lost.writes.len(), lost.careless), (0, 1));
    }
}
