//! Short histories, for the checkers' own tests. All are about `job:1`.

use super::History;
use crate::clock::Micros;
use crate::history::{Answer, Ask, Operation, Write};
use crate::node::{Change, Node, Row, Transaction};

const LEASE: &str = "job:1";

pub fn grant(token: i64, owner: &str) -> Change {
    let row = Row { token, owner: Some(owner.to_owned()) };
    Change::Lease { name: LEASE.to_owned(), row }
}

pub fn release(token: i64) -> Change {
    Change::Lease { name: LEASE.to_owned(), row: Row { token, owner: None } }
}

pub fn work(operation: &str, token: i64) -> Change {
    part(operation, 0, token)
}

pub fn part(operation: &str, part: i32, token: i64) -> Change {
    Change::Work { lease: LEASE.to_owned(), operation: operation.to_owned(), part, token }
}

pub fn node(server: &str, transactions: Vec<Transaction>) -> Node {
    Node { server: server.to_owned(), transactions, ..Node::default() }
}

pub fn history(operations: Vec<Operation>) -> History {
    History { operations, ..History::default() }
}

pub fn answered(
    client: &str,
    number: u64,
    ask: Ask,
    asked_at: Micros,
    at: Micros,
    answer: Answer,
) -> Operation {
    Operation {
        client: client.to_owned(),
        name: format!("{client}/{number}"),
        server: "a".to_owned(),
        ask,
        asked_at,
        ending_at: None,
        shown: None,
        saw: None,
        answered: Some((at, answer)),
    }
}

pub fn acquire_op(
    client: &str,
    number: u64,
    asked_at: Micros,
    at: Micros,
    token: i64,
) -> Operation {
    let ask = Ask::Acquire { lease: LEASE.to_owned(), ttl_ms: 1_000 };
    answered(client, number, ask, asked_at, at, Answer::Granted(token))
}

pub fn write_op(client: &str, number: u64, token: Option<i64>, asked_at: Micros) -> Operation {
    let write =
        Write { lease: LEASE.to_owned(), token, parts: 1, durable: true, ..Write::default() };
    answered(client, number, Ask::Write(write), asked_at, asked_at + 5, Answer::Done)
}
