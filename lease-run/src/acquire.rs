//! Getting the lease, or saying who has it.

use crate::clock::{Moment, sleep_until};
use crate::deadline::Term;
use crate::lease::{Answer, Claim};
use crate::say::{self, Level};
use crate::session::{Failure, Link};
use crate::status::{Exit, NOT_ACQUIRED, UNAVAILABLE, USAGE};
use std::time::Duration;

/// How long the server may take to answer at all: its own lock waits are 5 s.
const PATIENCE: Duration = Duration::from_secs(15);

/// Asks until the lease is ours or the wait is over. A server that is away is waited for too.
pub async fn acquire(link: &mut Link, claim: &Claim, wait: Duration) -> Result<(i64, Term), Exit> {
    let until = Moment::now() + wait;
    let mut said = false;
    loop {
        let sent = Moment::now();
        let refused = match link.acquire(claim, sent + PATIENCE).await {
            Ok(answer) => match answer.token {
                Some(token) => return Ok((token, answer.term(sent, claim.ttl))),
                None => Exit::new(NOT_ACQUIRED, held(claim, &answer)),
            },
            Err(failure) if is_passing(&failure) => unavailable(claim, &failure),
            Err(Failure::Refused { code, message }) if code.starts_with("22") => {
                return Err(Exit::new(USAGE, message));
            }
            Err(failure) => return Err(unavailable(claim, &failure)),
        };
        if until.is_over() {
            return Err(refused);
        }
        if !said {
            said = true;
            say::line(Level::All, format!("{}; waiting", refused.why));
        }
        sleep_until(until.min(Moment::now() + pause(claim.ttl))).await;
    }
}

/// Not all at once, and not so rarely that a free lease lies about.
fn pause(ttl: Duration) -> Duration {
    let most = (ttl / 10).clamp(Duration::from_millis(100), Duration::from_secs(1));
    most.mul_f64(0.5 + fastrand::f64() / 2.0)
}

fn held(claim: &Claim, answer: &Answer) -> String {
    let owner = answer.owner.as_deref().unwrap_or("another session");
    let left = answer.left.map(|left| format!(", for another {:.1} s", left.as_secs_f64()));
    let left = left.unwrap_or_default();
    format!("lease \"{}\" is {}: \"{owner}\" has it{left}", claim.name, answer.status)
}

fn unavailable(claim: &Claim, failure: &Failure) -> Exit {
    Exit::new(UNAVAILABLE, format!("cannot ask for lease \"{}\": {failure}", claim.name))
}

/// Whether asking again may help: the server is away, starting, full, a standby, or busy.
fn is_passing(failure: &Failure) -> bool {
    match failure {
        Failure::Unreachable(_) | Failure::Late => true,
        Failure::Refused { code, .. } => {
            let classes = ["08", "40", "53", "55P03", "57", "25006"];
            classes.iter().any(|class| code.starts_with(class))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_waited_for() {
        let refused = |code: &str| Failure::Refused { code: code.into(), message: "x".into() };
        for code in ["57P03", "57P01", "53300", "55P03", "25006", "40001", "08006"] {
            assert!(is_passing(&refused(code)), "{code}");
        }
        for code in ["28P01", "3D000", "42501", "42883", "22023", "55000"] {
            assert!(!is_passing(&refused(code)), "{code}");
        }
        assert!(is_passing(&Failure::Late) && is_passing(&Failure::Unreachable("x".into())));
    }

    #[test]
    fn pauses_differ_and_have_bounds() {
        for ttl in [1, 30, 86_400] {
            let pause = pause(Duration::from_secs(ttl));
            assert!((50..=1_000).contains(&pause.as_millis()), "{pause:?}");
        }
    }
}
