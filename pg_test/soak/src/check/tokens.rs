//! Tokens, over all servers: none goes to two holders, and who asks later gets more.

use super::{History, Violation};
use crate::clock::Micros;
use crate::history::{Answer, Operation};
use crate::node::Change;
use std::collections::HashMap;

pub fn check(history: &History) -> Vec<Violation> {
    let mut found = twice(history);
    found.extend(out_of_order(history));
    found
}

/// Every token has one lease and one owner, wherever it was seen, and is granted once.
fn twice(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut holders: HashMap<i64, (String, String)> = HashMap::new();
    let mut granted: HashMap<i64, String> = HashMap::new();
    let mut see = |token: i64, lease: &str, owner: &str, found: &mut Vec<Violation>| {
        let holder = (lease.to_owned(), owner.to_owned());
        let first = holders.entry(token).or_insert_with(|| holder.clone());
        if *first != holder {
            let what = format!("token {token} is {first:?}'s and {holder:?}'s");
            found.push(Violation::new("no token to two holders", what));
        }
    };
    for operation in &history.operations {
        let lease = operation.lease().unwrap_or_default();
        if let Some((_, token)) = operation.granted() {
            see(token, lease, &operation.client, &mut found);
            if let Some(other) = granted.insert(token, operation.name.clone()) {
                let what =
                    format!("token {token} was granted to {other} and to {}", operation.name);
                found.push(Violation::new("no token is granted twice", what));
            }
        }
        if let Some(Answer::Kept(token)) = operation.answer() {
            see(*token, lease, &operation.client, &mut found);
        }
    }
    for node in history.nodes.iter().filter(|node| !node.is_resource) {
        for change in node.transactions.iter().flatten() {
            if let Change::Lease { name, row } = change
                && let Some(owner) = &row.owner
            {
                see(row.token, name, owner, &mut found);
            }
        }
    }
    found
}

/// A grant that was asked for after another was acknowledged. Acknowledgements alone may come in
/// another order than the commits.
fn out_of_order(history: &History) -> Vec<Violation> {
    let mut events: Vec<(Micros, bool, i64, &Operation)> = Vec::new();
    for operation in &history.operations {
        if let Some((at, token)) = operation.granted() {
            events.push((operation.asked_at, true, token, operation));
            events.push((at, false, token, operation));
        }
    }
    events.sort_by_key(|(at, is_question, ..)| (*at, !is_question));
    let mut found = Vec::new();
    let mut highest: HashMap<&str, (i64, &str)> = HashMap::new();
    for (_, is_question, token, operation) in events {
        if is_question {
            let known = lineage(history, &operation.server).filter_map(|s| highest.get(s)).max();
            if let Some((known, by)) = known
                && *known >= token
            {
                let what = format!(
                    "{} asked after {by} had {known}, and was given {token}",
                    operation.name
                );
                found.push(Violation::new("who asks later gets the larger token", what));
            }
        } else {
            let entry = highest.entry(&operation.server).or_insert((token, &operation.name));
            *entry = (*entry).max((token, &operation.name));
        }
    }
    found
}

/// A server and all that it came of.
fn lineage<'a>(history: &'a History, server: &'a str) -> impl Iterator<Item = &'a str> {
    std::iter::successors(Some(server), |server| history.parents.get(*server).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::super::story::{acquire_op, grant, history, node};
    use super::*;

    fn rules(history: &History) -> Vec<&'static str> {
        check(history).iter().map(|v| v.rule).collect()
    }

    #[test]
    fn a_token_for_two_is_found() {
        let two = history(vec![acquire_op("x", 1, 0, 10, 7), acquire_op("y", 1, 5, 12, 7)]);
        assert_eq!(rules(&two), ["no token to two holders", "no token is granted twice"]);
    }

    #[test]
    fn a_token_granted_twice_to_one_is_found() {
        let two = history(vec![acquire_op("x", 1, 0, 10, 7), acquire_op("x", 2, 5, 12, 7)]);
        assert_eq!(rules(&two), ["no token is granted twice"]);
    }

    #[test]
    fn another_owner_in_the_table_is_found() {
        let mut one = history(vec![acquire_op("x", 1, 0, 10, 7)]);
        one.nodes.push(node("a", vec![vec![grant(7, "y")]]));
        assert_eq!(rules(&one), ["no token to two holders"]);
    }

    #[test]
    fn a_smaller_token_is_found_only_if_it_was_asked_for_later() {
        let later = history(vec![acquire_op("x", 1, 0, 10, 8), acquire_op("y", 1, 11, 20, 7)]);
        assert_eq!(rules(&later), ["who asks later gets the larger token"]);
        let meanwhile = history(vec![acquire_op("x", 1, 0, 10, 8), acquire_op("y", 1, 9, 20, 7)]);
        assert!(rules(&meanwhile).is_empty());
    }

    #[test]
    fn two_servers_that_live_side_by_side_have_no_order() {
        let mut two = history(vec![acquire_op("x", 1, 0, 10, 8), acquire_op("y", 1, 11, 20, 7)]);
        two.operations[0].server = "zombie".to_owned();
        assert!(rules(&two).is_empty());
        two.parents.insert("a".to_owned(), "zombie".to_owned());
        assert_eq!(rules(&two), ["who asks later gets the larger token"]);
    }
}
