//! Keeps the lease: renews it on a timer of its own, whatever the command does.

use crate::clock::{Moment, sleep_until};
use crate::deadline::Term;
use crate::lease::{Answer, Claim};
use crate::progress::Progress;
use crate::say::{self, Level};
use crate::session::{Failure, Link};
use std::time::Duration;
use tokio::sync::watch;

/// A lease that we have.
pub struct Keeper {
    pub link: Link,
    pub claim: Claim,
    pub token: i64,
    pub progress: Option<Progress>,
}

impl Keeper {
    /// Renews for as long as the lease is ours, and says why it is not. It goes on past
    /// `stop_at`: to act on that is up to whoever reads the terms.
    pub async fn keep(&mut self, terms: &watch::Sender<Term>) -> String {
        loop {
            let term = *terms.borrow();
            self.wait(&term).await;
            match self.renew(&term).await {
                Ok(renewed) => terms.send_replace(renewed),
                Err(lost) => return lost,
            };
        }
    }

    /// Until it is time, or, a little after the last renewal, the connection has broken: a server
    /// that is away is asked as long as there is time.
    async fn wait(&mut self, term: &Term) {
        let soon = term.sent + (self.claim.ttl / 10).min(Duration::from_secs(1));
        let broken = async {
            sleep_until(soon).await;
            self.link.broken().await;
        };
        tokio::select! {
            () = sleep_until(term.renew_at) => {}
            () = broken => {}
        }
    }

    /// Tries until it has worked, or the lease is lost.
    pub async fn renew(&mut self, term: &Term) -> Result<Term, String> {
        let mut said = false;
        loop {
            let sent = Moment::now();
            let progress = self.progress.as_mut().map(Progress::look);
            let by = term.give_up_at(sent);
            let asked = self.link.renew(&self.claim, self.token, progress, by).await;
            let why = match asked {
                Ok(answer) if answer.status == "renewed" => {
                    if said {
                        self.say(Level::Usual, "renewed again");
                    }
                    return Ok(answer.term(sent, self.claim.ttl));
                }
                Ok(answer) if answer.status == "lost" => return Err(successor(&answer)),
                Ok(answer) => format!("it is {}", answer.status),
                Err(failure) => failure.to_string(),
            };
            if !said {
                said = true;
                self.say(Level::Usual, &format!("cannot renew, trying again: {why}"));
            }
            let pause = term.pause(Moment::now());
            sleep_until(Moment::now() + pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        }
    }

    /// Gives the lease back, so that the next one need not wait for its end.
    pub async fn release(&mut self, by: Moment) {
        let mut released = self.link.release(&self.claim, self.token, by).await;
        if matches!(released, Err(Failure::Unreachable(_))) {
            released = self.link.release(&self.claim, self.token, by).await;
        }
        match released {
            Ok(answer) if answer.status == "released" => self.say(Level::All, "released"),
            Ok(_) => self.say(Level::Error, "was not ours any more when the command had ended"),
            Err(failure) => {
                let why = format!("cannot be released, and runs out by itself: {failure}");
                self.say(Level::Error, &why);
            }
        }
    }

    pub fn say(&self, level: Level, what: &str) {
        say::line(level, format!("lease \"{}\": {what}", self.claim.name));
    }
}

fn successor(answer: &Answer) -> String {
    match &answer.owner {
        Some(owner) => format!("\"{owner}\" has it"),
        None => "it was released or dropped".to_owned(),
    }
}
