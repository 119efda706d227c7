//! The scenarios of a run.

pub mod mutants;
pub mod single;

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a scenario is told.
pub struct Run<'a> {
    pub seed: u64,
    /// Where its histories go.
    pub directory: &'a Path,
    pub lasts: Duration,
}

impl Run<'_> {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
