//! The scenarios of a run.

pub mod failover;
pub mod mutants;
pub mod network;
pub mod single;

use std::path::PathBuf;
use std::time::Duration;

/// What a scenario is told.
pub struct Run {
    pub seed: u64,
    /// Where its histories go.
    pub directory: PathBuf,
    pub lasts: Duration,
}

impl Run {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
