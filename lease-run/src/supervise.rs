//! Watches over the command: passes signals on, ends it when the lease ends, and whatever it has
//! left behind before the lease is given back.

use crate::clock::{Moment, sleep_until};
use crate::deadline::Term;
use crate::job::Job;
use crate::keeper::Keeper;
use crate::say::{self, Level};
use crate::signals::Signals;
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::sync::watch;

/// How the command is ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    pub signal: Signal,
    pub kill_after: Duration,
}

/// What became of it.
#[derive(Debug)]
pub struct Outcome {
    /// The command's own exit status; None if the lease ended before it did.
    pub status: Option<u8>,
    /// The lease is not ours any more, for certain.
    pub gone: bool,
    /// Nothing of the command runs any more.
    pub all_dead: bool,
}

/// Between two looks at what should be dead.
const AGAIN: Duration = Duration::from_millis(20);
/// A process that SIGKILL has not ended after this long hangs in the kernel.
const GIVE_UP: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Running,
    /// Told to end.
    Ending {
        kill_at: Moment,
    },
    Killing {
        since: Moment,
        again_at: Moment,
    },
}

struct Watch<'a> {
    job: &'a mut Job,
    ending: Ending,
    phase: Phase,
    /// The lease ended before the command.
    lost: bool,
    gone: bool,
    name: String,
}

/// Returns when nothing of the command runs any more, or when it cannot be killed.
pub async fn supervise(
    job: &mut Job,
    keeper: &mut Keeper,
    term: Term,
    signals: &mut Signals,
    ending: Ending,
) -> Outcome {
    let name = keeper.claim.name.clone();
    let (sender, mut terms) = watch::channel(term);
    let mut keeping = std::pin::pin!(keeper.keep(&sender));
    let mut watch = Watch { job, ending, phase: Phase::Running, lost: false, gone: false, name };
    loop {
        let term = *terms.borrow_and_update();
        tokio::select! {
            why = &mut keeping, if !watch.gone => {
                watch.gone = true;
                watch.lose(&why);
            }
            () = sleep_until(watch.deadline(&term)) => watch.time_is_up(),
            signal = signals.next_or_child() => match signal {
                Some(signal) => watch.job.pass_on(signal),
                None => watch.job.reap(),
            },
            // a new term moves the deadline
            _ = terms.changed() => {}
        }
        if watch.job.stopped {
            watch.pause(&term);
        }
        if watch.is_over() {
            return watch.outcome();
        }
    }
}

impl Watch<'_> {
    fn deadline(&self, term: &Term) -> Moment {
        match self.phase {
            Phase::Running => term.stop_at,
            Phase::Ending { kill_at } => kill_at.min(term.kill_by),
            Phase::Killing { again_at, .. } => again_at,
        }
    }

    /// If the lease has run out meanwhile, the command goes on only to be told to end.
    fn pause(&mut self, term: &Term) {
        self.job.stop_with_it();
        if self.deadline(term).is_over() {
            self.job.stopped = false;
            self.time_is_up();
        } else {
            self.job.go_on();
        }
    }

    fn time_is_up(&mut self) {
        match self.phase {
            Phase::Running => self.lose("it could not be renewed in time"),
            Phase::Ending { .. } => {
                let left = self.job.alive();
                self.say(Level::Usual, &format!("killing what still runs: {}", listed(&left)));
                self.kill(Moment::now());
            }
            Phase::Killing { since, .. } => self.kill(since),
        }
    }

    fn lose(&mut self, why: &str) {
        if self.phase == Phase::Running {
            self.lost = true;
            self.say(Level::Error, &format!("lost, ending the command: {why}"));
            self.end();
        }
    }

    fn end(&mut self) {
        self.job.tell_all(self.ending.signal);
        self.phase = Phase::Ending { kill_at: Moment::now() + self.ending.kill_after };
    }

    fn kill(&mut self, since: Moment) {
        self.job.kill_all();
        self.phase = Phase::Killing { since, again_at: Moment::now() + AGAIN };
    }

    /// Whether all is done. What the command has left behind is ended now.
    fn is_over(&mut self) -> bool {
        if self.job.ended.is_none() {
            return self.hangs();
        }
        let left = self.job.alive();
        if !left.is_empty() && self.phase == Phase::Running {
            self.say(Level::Usual, &format!("ending what was left behind: {}", listed(&left)));
            self.end();
        }
        left.is_empty() || self.hangs()
    }

    fn hangs(&self) -> bool {
        matches!(self.phase, Phase::Killing { since, .. } if Moment::now().since(since) > GIVE_UP)
    }

    fn outcome(&self) -> Outcome {
        let left = self.job.alive();
        if !left.is_empty() {
            self.say(Level::Error, &format!("cannot kill {}", listed(&left)));
        }
        let status = self.job.ended.filter(|_| !self.lost);
        Outcome { status, gone: self.gone, all_dead: left.is_empty() }
    }

    fn say(&self, level: Level, what: &str) {
        say::line(level, format!("lease \"{}\": {what}", self.name));
    }
}

fn listed(pids: &[nix::unistd::Pid]) -> String {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    format!("process {}", pids.join(", "))
}
