//! For the people who run it: what happened, and to whom; who is in the middle of work; what is wrong.

pub mod counters;
pub mod doctor;
pub mod evict;
pub mod history;
pub mod refused;
pub mod timeline;
