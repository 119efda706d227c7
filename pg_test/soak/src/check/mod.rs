//! Whether a history is one that pg_lease may have. Everything is looked at once, so that the time
//! that this takes grows with the history's length and no faster.
//!
//! | rule | what must hold |
//! |---|---|
//! | `order` | tokens rise in commit order; a committed write carries the token current at its commit; the first look after a grant sees all that was committed before |
//! | `tokens` | no token to two holders, on any server; a grant that is asked for later has the larger token |
//! | `survival` | what was acknowledged is there, what was refused or rolled back is not, nothing is there in part |
//! | `terms` | no lease goes to another before its term is over, unless it was taken over or released |
//! | `liveness` | with no fault in the way, a lease does not stay free for longer than its term and two seconds |

pub mod liveness;
pub mod order;
pub mod survival;
pub mod terms;
pub mod tokens;

#[cfg(test)]
mod story;

use crate::clock::Micros;
use crate::history::Operation;
use crate::node::Node;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something that may not be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
}

impl Violation {
    pub fn new(rule: &'static str, what: String) -> Self {
        Self { rule, what }
    }
}

/// What becomes of what a server has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// It is there at the end.
    Kept,
    /// It is there unless the server was lost before its standby had it.
    UntilFailover,
}

/// A history from the first client to the last.
#[derive(Default)]
pub struct History {
    pub operations: Vec<Operation>,
    pub nodes: Vec<Node>,
    /// Which server came of which: a promoted standby, or the same one started again beside it.
    pub parents: BTreeMap<String, String>,
    /// When the servers' clock was moved.
    pub jumps: Vec<Micros>,
    /// When clients were killed.
    pub deaths: BTreeMap<String, Micros>,
}

impl History {
    /// The rules that hold in every scenario.
    pub fn check(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for node in &self.nodes {
            found.extend(order::check(node, &self.operations));
        }
        found.extend(tokens::check(self));
        found.extend(survival::absent(self));
        found.extend(terms::check(self));
        found
    }
}
