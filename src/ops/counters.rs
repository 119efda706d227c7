//! What is counted of what lease functions answer: lease.counters.

use crate::pg::answer::Status;
use crate::pg::call::Args;
use crate::pg::counters::{self, Counted};
pub use crate::pg::counters::{Event, count};
use crate::pg::key::Key;
use crate::rules::refusal::Result;

/// lease.count_events.
pub fn counted(_: &Args) -> Result<Vec<Counted>> {
    Ok(counters::counted())
}

/// Counts an answer. Grants and releases are counted where they happen, as some have no answer.
pub fn answered(key: &Key, status: Status) {
    match status {
        Status::Renewed => count(key, Event::Renewal),
        Status::Held => count(key, Event::Held),
        Status::Busy => count(key, Event::Busy),
        Status::Quiet => count(key, Event::Quiet),
        Status::Stalled => count(key, Event::Stalled),
        Status::Lost | Status::NotHeld => count(key, Event::Lost),
        Status::Granted | Status::Released => {}
    }
}
