//! Waiting for a state, never for a time.

use anyhow::{Context, Result, bail};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

/// Polls `holds` until it answers true. `what` completes the sentence "waited for …".
///
/// An error from `holds` ends the wait at once: a question that cannot be asked is not a "no".
pub fn wait_until(
    what: &str,
    timeout: Duration,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let end = Instant::now() + timeout;
    loop {
        if holds().with_context(|| format!("while waiting for {what}"))? {
            return Ok(());
        }
        if Instant::now() >= end {
            bail!("waited {timeout:?} for {what}");
        }
        sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_waited_for() {
        let waited = wait_until("the moon", Duration::from_millis(20), || Ok(false));
        assert_eq!(waited.map_err(|e| e.to_string()), Err("waited 20ms for the moon".into()));
    }

    #[test]
    fn looks_at_least_once_even_without_time() {
        assert!(wait_until("nothing", Duration::ZERO, || Ok(true)).is_ok());
    }

    #[test]
    fn a_question_that_fails_is_not_a_no() {
        let waited = wait_until("an answer", Duration::from_secs(60), || bail!("gone"));
        assert!(waited.is_err_and(|e| format!("{e:#}").contains("an answer: gone")));
    }
}
