//! What a mover is told.

use clap::Parser;
use std::time::Duration;

/// Moves turbines from one shard to another while it holds the lease "mover".
#[derive(Parser)]
pub struct Args {
    /// What this box is called
    #[arg(long)]
    pub name: String,
    /// Connection string of the routing database, which grants the lease and lists the turbines
    #[arg(long)]
    pub routing: String,
    /// Connection string of the shard that the turbines leave
    #[arg(long)]
    pub source: String,
    /// Connection string of the shard that they come to
    #[arg(long)]
    pub target: String,
    /// For how long a lease is asked for, in milliseconds
    #[arg(long, default_value_t = 60_000)]
    pub ttl_ms: u64,
    /// How often to ask for a lease that somebody else holds, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub poll_ms: u64,
    /// How many readings are written in one transaction
    #[arg(long, default_value_t = 2_000)]
    pub batch: u64,
}

impl Args {
    pub fn poll(&self) -> Duration {
        Duration::from_millis(self.poll_ms)
    }

    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }
}
