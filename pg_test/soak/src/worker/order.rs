//! How a client is told to work.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The longest ttl that anybody asks for, in milliseconds.
pub const LONGEST_TTL_MS: u64 = 1_500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Takes leases, and works under them in every way.
    Worker,
    /// Has the first lease, and is in the middle of a transaction nearly all the time.
    Holder,
    /// Tries every lease again and again, so that none stays free for long.
    Sweeper,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Its name, and which life of it this is: `w3.0`.
    pub name: String,
    pub seed: u64,
    pub role: Role,
    /// Where the history goes.
    pub directory: PathBuf,
    /// Where to connect (see `Place`).
    pub place: PathBuf,
    /// A resource on another server, with guards in mode newest.
    pub resource: Option<PathBuf>,
    /// It ends when this file is there.
    pub stop: PathBuf,
    pub leases: usize,
    /// Behind a pooler in transaction mode: no session of its own.
    pub pooled: bool,
    /// It uses two-phase commit.
    pub prepares: bool,
    /// What it sets for its sessions.
    pub settings: Vec<String>,
    /// Whether its acknowledged writes survive a crash by its own settings.
    pub durable: bool,
}

impl Order {
    pub fn lease(number: usize) -> String {
        format!("job:{number}")
    }

    pub fn table(lease: &str) -> String {
        lease.replace("job:", "work_")
    }
}
