//! The fleet: workers that share the shards of a piece of work among themselves.

pub mod shards;
