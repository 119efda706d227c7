//! The rules, in plain Rust: what is a good name, owner or ttl, who gets a lease, which token is good.
//! Nothing here knows PostgreSQL; the time is always passed in.

pub mod access;
pub mod change;
pub mod fence;
pub mod hash;
pub mod lease;
pub mod name;
pub mod number;
pub mod pass;
pub mod pattern;
pub mod presented;
pub mod progress;
pub mod refusal;
pub mod roster;
pub mod shard;
pub mod signature;
pub mod time;
pub mod timeline;

#[cfg(test)]
mod lease_properties;
#[cfg(test)]
mod pass_properties;
