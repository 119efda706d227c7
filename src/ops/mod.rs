//! For the people who run it: what happened, and to whom.

pub mod counters;
pub mod history;
pub mod refused;
pub mod timeline;
