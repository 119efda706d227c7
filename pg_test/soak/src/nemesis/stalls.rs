//! Whether the machine itself stands still: a fault as well, though none of ours.

use super::Faults;
use crate::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

const STEP: Duration = Duration::from_millis(50);
/// How late a sleeper may wake.
const LATE: Duration = Duration::from_millis(400);

pub const KIND: &str = "the machine stood still";

/// Looks until dropped.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn start(faults: &Faults) -> Self {
        let (faults, over) = (faults.clone(), Arc::new(AtomicBool::new(false)));
        let seen = Arc::clone(&over);
        let thread = spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                let before = clock::now();
                sleep(STEP);
                if clock::now() - before > clock::micros(STEP + LATE) {
                    faults.past(KIND, before);
                }
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
