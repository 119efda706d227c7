//! Faults: what was done, when, and whether it was in the way of a takeover.

pub mod clocks;
pub mod janitor;
pub mod sessions;
pub mod stalls;

use crate::check::liveness::Span;
use crate::clock::{self, Micros};
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server's clock was moved.
pub const JUMP: &str = "the clock jumped";

/// One fault.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    pub kind: &'static str,
    pub at: Micros,
    /// When it was healed.
    pub until: Micros,
    /// The client that was hit.
    pub victim: Option<String>,
    pub in_the_way: bool,
}

/// The faults of a scenario. Clones share one list.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<Vec<Fault>>>);

impl Faults {
    fn list(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fault that begins now. One that lasts is over when `heal` says so.
    pub fn begin(&self, kind: &'static str, victim: Option<&str>, lasts: bool) -> usize {
        self.add(kind, victim, lasts, lasts)
    }

    /// A client that stands still until it is healed: nobody waits for it.
    pub fn freeze(&self, kind: &'static str, victim: &str) -> usize {
        self.add(kind, Some(victim), true, false)
    }

    fn add(
        &self,
        kind: &'static str,
        victim: Option<&str>,
        lasts: bool,
        in_the_way: bool,
    ) -> usize {
        let at = clock::now();
        let victim = victim.map(str::to_owned);
        let mut list = self.list();
        let until = if lasts { Micros::MAX } else { at };
        list.push(Fault { kind, at, until, victim, in_the_way });
        list.len() - 1
    }

    pub fn heal(&self, number: usize) {
        if let Some(fault) = self.list().get_mut(number) {
            fault.until = clock::now();
        }
    }

    pub fn not_in_the_way(&self, number: usize) {
        if let Some(fault) = self.list().get_mut(number) {
            fault.in_the_way = false;
        }
    }

    /// Whether everything is healed.
    pub fn all_healed(&self) -> bool {
        self.list().iter().all(|fault| fault.until < Micros::MAX)
    }

    /// A fault that was in the way from then until now.
    pub fn past(&self, kind: &'static str, at: Micros) {
        let until = clock::now();
        self.list().push(Fault { kind, at, until, victim: None, in_the_way: true });
    }

    pub fn all(&self) -> Vec<Fault> {
        self.list().clone()
    }

    pub fn in_the_way(&self) -> Vec<Span> {
        let list = self.list();
        list.iter().filter(|fault| fault.in_the_way).map(|fault| (fault.at, fault.until)).collect()
    }

    pub fn when(&self, kind: &str) -> Vec<Micros> {
        self.list().iter().filter(|fault| fault.kind == kind).map(|fault| fault.at).collect()
    }
}
