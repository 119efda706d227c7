//! A client's connection: statements one by one, and what an error means.
//!
//! Only simple queries are sent, as a pooler of that age does not follow prepared statements.

use anyhow::{Context, Result};
use postgres::error::Severity;
use postgres::{Client, Config, Error, NoTls, SimpleQueryMessage};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a statement did not succeed.
#[derive(Debug)]
pub enum Trouble {
    /// The server said no: the statement, and the transaction with it, has not happened.
    Refused { state: String, said: String },
    /// The connection is gone: what was under way may have happened.
    Lost(String),
    /// The test itself cannot go on.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

pub type Tried<T> = Result<T, Trouble>;

/// Where to connect, as a file says: a line with the server's name in the report, then a line with
/// a connection string. The test rewrites it when clients are to go elsewhere.
pub struct Place {
    pub server: String,
    pub connection: String,
}

impl Place {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("no {}", path.display()))?;
        let mut lines = text.lines().map(str::to_owned);
        let server = lines.next().context("a place without a name")?;
        Ok(Self { server, connection: lines.next().context("a place without an address")? })
    }

    /// Replaces the file in one step.
    pub fn write(path: &Path, server: &str, connection: &str) -> Result<()> {
        let new = path.with_extension("new");
        fs::write(&new, format!("{server}\n{connection}\n"))?;
        fs::rename(&new, path).context("cannot replace a place")
    }
}

pub struct Session {
    pub server: String,
    client: Client,
    /// The server has said that a commit was not replicated.
    doubtful: Arc<AtomicBool>,
}

impl Session {
    pub fn open(place: &Place, name: &str, settings: &[String]) -> Tried<Self> {
        let doubtful = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&doubtful);
        let mut config: Config =
            place.connection.parse().map_err(|e: Error| Trouble::Broken(e.into()))?;
        config.application_name(name).notice_callback(move |notice| {
            if notice.message().contains("wait for synchronous replication") {
                told.store(true, Ordering::Relaxed);
            }
        });
        // whatever keeps us from connecting passes with the fault that made it
        let client = config.connect(NoTls).map_err(|error| Trouble::Lost(error.to_string()))?;
        let mut session = Self { server: place.server.clone(), client, doubtful };
        settings.iter().try_for_each(|setting| session.run(&format!("SET {setting}")))?;
        Ok(session)
    }

    pub fn run(&mut self, statement: &str) -> Tried<()> {
        self.row(statement).map(drop)
    }

    /// The columns of the first row.
    pub fn row(&mut self, statement: &str) -> Tried<Vec<Option<String>>> {
        let answered = self.client.simple_query(statement).map_err(trouble)?;
        let row = answered.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let columns = |row: &postgres::SimpleQueryRow| {
            (0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()
        };
        Ok(row.map(columns).unwrap_or_default())
    }

    /// Whether the server has cast doubt on an acknowledgement since the last question.
    pub fn was_doubtful(&self) -> bool {
        self.doubtful.swap(false, Ordering::Relaxed)
    }
}

fn trouble(error: Error) -> Trouble {
    let Some(told) = error.as_db_error() else { return Trouble::Lost(error.to_string()) };
    let state = told.code().code().to_owned();
    let severe = matches!(told.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
    if severe || state.starts_with("08") || state.starts_with("57P") {
        return Trouble::Lost(format!("{state} {}", told.message()));
    }
    Trouble::Refused { state, said: told.message().to_owned() }
}
