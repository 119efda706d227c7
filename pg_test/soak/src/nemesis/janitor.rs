//! Decides what clients have left prepared, as an operator would.

use crate::dice::Dice;
use crate::history::{Answer, Ask, Recorder};
use crate::worker::{Place, Session, Trouble};
use anyhow::{Result, anyhow};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// How long a client has for its own decision.
const AGE: Duration = Duration::from_millis(2_500);

pub struct Janitor {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

struct Work {
    place: PathBuf,
    recorder: Recorder,
    dice: Dice,
    seen: HashMap<String, Instant>,
}

impl Janitor {
    pub fn start(directory: &Path, place: &Path, seed: u64) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let mut work = Work {
            place: place.to_owned(),
            recorder: Recorder::start(directory, "janitor")?,
            dice: Dice::of(seed, "janitor"),
            seen: HashMap::new(),
        };
        let thread = spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                work.round(AGE)?;
                sleep(Duration::from_millis(200));
            }
            while !work.round(Duration::ZERO)? {
                sleep(Duration::from_millis(200));
            }
            Ok(())
        });
        Ok(Self { over, thread: Some(thread) })
    }

    /// Decides everything that is left. The clients must have stopped, and the server must run.
    pub fn finish(mut self) -> Result<()> {
        self.over.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            _ => Err(anyhow!("the janitor died")),
        }
    }
}

impl Work {
    /// Whether nothing is left prepared.
    fn round(&mut self, age: Duration) -> Result<bool> {
        match self.try_round(age) {
            Ok(clean) => Ok(clean),
            Err(Trouble::Broken(error)) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn try_round(&mut self, age: Duration) -> Result<bool, Trouble> {
        let mut session = Session::open(&Place::read(&self.place)?, "janitor", &[])?;
        let question = "SELECT string_agg(gid, ' ') FROM pg_prepared_xacts
                        WHERE database = current_database()";
        let answer = session.row(question)?.into_iter().next().flatten();
        let gids: Vec<String> =
            answer.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        self.seen.retain(|gid, _| gids.contains(gid));
        for gid in &gids {
            let since = self.seen.entry(gid.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= age {
                self.decide(&mut session, gid)?;
            }
        }
        Ok(gids.is_empty())
    }

    fn decide(&mut self, session: &mut Session, gid: &str) -> Result<(), Trouble> {
        let commit = self.dice.chance(50);
        let word = if commit { "COMMIT" } else { "ROLLBACK" };
        self.recorder.asked(&session.server, &Ask::Decide { write: gid.to_owned(), commit })?;
        let answer = match session.run(&format!("{word} PREPARED '{gid}'")) {
            Ok(()) => Answer::Done,
            Err(Trouble::Refused { state, said }) => Answer::No(format!("{state} {said}")),
            Err(Trouble::Lost(why)) => Answer::Unknown(why),
            Err(trouble) => return Err(trouble),
        };
        Ok(self.recorder.answered(&answer)?)
    }
}
