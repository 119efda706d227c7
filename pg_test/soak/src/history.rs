//! What each client asked for and what it was told, written down as it happens.
//!
//! One file a client, a line a step, and never rewritten: a client that is killed leaves all that
//! it has said. An operation without an answer may have happened or not.

use crate::clock::{self, Micros};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    Acquire {
        lease: String,
        ttl_ms: u64,
    },
    Takeover {
        lease: String,
        ttl_ms: u64,
    },
    Renew {
        lease: String,
        token: i64,
        ttl_ms: u64,
    },
    Release {
        lease: String,
        token: i64,
    },
    Write(Write),
    /// Somebody decides what another left prepared.
    Decide {
        write: String,
        commit: bool,
    },
}

/// A transaction of guarded writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Write {
    pub lease: String,
    /// What it writes under. None: under the token that it acquires first, in itself.
    pub token: Option<i64>,
    /// The ttl that it acquires it for.
    pub ttl_ms: u64,
    /// How many rows it leaves if it commits.
    pub parts: usize,
    pub isolation: String,
    /// Whether the client waits for the disk, or the standby (synchronous_commit). A change of
    /// ownership always does.
    pub durable: bool,
    /// It is prepared first.
    pub prepared: bool,
    /// It gives the lease back in the same transaction.
    pub releases: bool,
}

impl Write {
    /// Whether its open transaction has the lease's row, so that a candidate finds it busy.
    pub fn changes_ownership(&self) -> bool {
        self.releases || self.token.is_none()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Granted(i64),
    /// The same token goes on.
    Kept(i64),
    /// Held by another, busy, or no longer held.
    No(String),
    Done,
    RolledBack,
    /// An error that says that it has not happened.
    Refused {
        state: String,
        said: String,
    },
    /// Nobody told: it may have happened.
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Step {
    Asked {
        server: String,
        ask: Ask,
    },
    /// A token was shown inside a transaction that is still open.
    Shown(i64),
    /// How many rows the table had, in a transaction begun after the grant.
    Saw(usize),
    /// COMMIT, or the like, was sent.
    Ending,
    Answered(Answer),
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    at: Micros,
    operation: u64,
    step: Step,
}

/// Writes one client's history.
pub struct Recorder {
    client: String,
    file: File,
    last: u64,
}

impl Recorder {
    pub fn start(directory: &Path, client: &str) -> Result<Self> {
        let path = directory.join(format!("{client}.history"));
        let file = OpenOptions::new().create_new(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { client: client.to_owned(), file, last: 0 })
    }

    pub fn client(&self) -> &str {
        &self.client
    }

    /// The name of the next operation: no other of the whole run has it.
    pub fn next_name(&self) -> String {
        name_of(&self.client, self.last + 1)
    }

    pub fn asked(&mut self, server: &str, ask: &Ask) -> Result<()> {
        self.last += 1;
        self.note(Step::Asked { server: server.to_owned(), ask: ask.clone() })
    }

    pub fn shown(&mut self, token: i64) -> Result<()> {
        self.note(Step::Shown(token))
    }

    pub fn saw(&mut self, rows: usize) -> Result<()> {
        self.note(Step::Saw(rows))
    }

    pub fn ending(&mut self) -> Result<()> {
        self.note(Step::Ending)
    }

    pub fn answered(&mut self, answer: &Answer) -> Result<()> {
        self.note(Step::Answered(answer.clone()))
    }

    /// One write, so that a line is there or not.
    fn note(&mut self, step: Step) -> Result<()> {
        let line = Line { at: clock::now(), operation: self.last, step };
        let text = format!("{}\n", serde_json::to_string(&line)?);
        self.file.write_all(text.as_bytes()).context("cannot write the history")
    }
}

fn name_of(client: &str, operation: u64) -> String {
    format!("{client}/{operation}")
}

/// One operation, from the question to the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub client: String,
    pub name: String,
    pub server: String,
    pub ask: Ask,
    pub asked_at: Micros,
    pub ending_at: Option<Micros>,
    pub shown: Option<(Micros, i64)>,
    pub saw: Option<usize>,
    pub answered: Option<(Micros, Answer)>,
}

impl Operation {
    pub fn lease(&self) -> Option<&str> {
        match &self.ask {
            Ask::Acquire { lease, .. }
            | Ask::Takeover { lease, .. }
            | Ask::Renew { lease, .. }
            | Ask::Release { lease, .. } => Some(lease),
            Ask::Write(write) => Some(&write.lease),
            Ask::Decide { .. } => None,
        }
    }

    pub fn answer(&self) -> Option<&Answer> {
        self.answered.as_ref().map(|(_, answer)| answer)
    }

    /// A new token that it was told of, and when.
    pub fn granted(&self) -> Option<(Micros, i64)> {
        match &self.answered {
            Some((at, Answer::Granted(token))) => Some((*at, *token)),
            _ => self.shown,
        }
    }

    /// When it was over, if it was told.
    pub fn ended_at(&self) -> Option<Micros> {
        self.answered.as_ref().map(|(at, _)| *at)
    }
}

/// All operations of all clients in a directory, in the order in which they were asked for.
pub fn read(directory: &Path) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "history") {
            let client = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            operations.extend(of_client(&client, &text).with_context(|| client.clone())?);
        }
    }
    operations.sort_by_key(|operation: &Operation| operation.asked_at);
    Ok(operations)
}

fn of_client(client: &str, text: &str) -> Result<Vec<Operation>> {
    let mut operations: BTreeMap<u64, Operation> = BTreeMap::new();
    for text in text.lines() {
        let line: Line = serde_json::from_str(text).with_context(|| text.to_owned())?;
        if let Step::Asked { server, ask } = line.step {
            let name = name_of(client, line.operation);
            let asked = Operation {
                client: client.to_owned(),
                name,
                server,
                ask,
                asked_at: line.at,
                ending_at: None,
                shown: None,
                saw: None,
                answered: None,
            };
            operations.insert(line.operation, asked);
        } else {
            let operation = operations.get_mut(&line.operation).context("a step of nothing")?;
            operation.take(line.at, line.step);
        }
    }
    Ok(operations.into_values().collect())
}

impl Operation {
    fn take(&mut self, at: Micros, step: Step) {
        match step {
            Step::Asked { .. } => {}
            Step::Shown(token) => self.shown = Some((at, token)),
            Step::Saw(rows) => self.saw = Some(rows),
            Step::Ending => self.ending_at = Some(at),
            Step::Answered(answer) => self.answered = Some((at, answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() -> Result<()> {
        let directory = std::env::temp_dir().join(format!("soak-history-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let mut recorder = Recorder::start(&directory, "w1.0")?;
        let ask = Ask::Acquire { lease: "job:1".to_owned(), ttl_ms: 700 };
        assert_eq!(recorder.next_name(), "w1.0/1");
        recorder.asked("a", &ask)?;
        recorder.answered(&Answer::Granted(41))?;
        recorder.asked("a", &ask)?;
        let read = read(&directory)?;
        fs::remove_dir_all(&directory)?;
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].name.as_str(), &read[0].ask), ("w1.0/1", &ask));
        assert_eq!(read[0].granted().map(|(_, token)| token), Some(41));
        assert_eq!(read[1].answered, None);
        Ok(())
    }
}
