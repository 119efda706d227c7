//! One connection, opened again when it is needed, and one question at a time on it.

use crate::clock::{Moment, within};
use crate::conninfo::{Candidate, Conninfo};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// The server has answered: with an error.
    Refused { code: String, message: String },
    /// No server that takes writes could be reached, or the connection broke.
    Unreachable(String),
    /// No answer came in time. What was asked may have been done.
    Late,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { message, .. } => f.write_str(message),
            Self::Unreachable(why) => f.write_str(why),
            Self::Late => f.write_str("no answer in time"),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(said) => {
                let detail = said.detail().map(|d| format!(": {d}")).unwrap_or_default();
                let message = format!("{}{detail}", said.message());
                Self::Refused { code: said.code().code().to_owned(), message }
            }
            None => Self::Unreachable(all_of(&error)),
        }
    }
}

/// An error and what is behind it.
fn all_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        text = format!("{text}: {error}");
        behind = error.source();
    }
    text
}

/// A connection to a server that takes writes and has the extension.
struct Session {
    client: Client,
    /// Where the extension's functions are, quoted.
    schema: String,
    connection: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// How much earlier one host is tried than the next.
const HEAD_START: Duration = Duration::from_millis(250);

const SCHEMA: &str = "SELECT pg_catalog.quote_ident(n.nspname::pg_catalog.text)
    FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
    WHERE e.extname OPERATOR(pg_catalog.=) 'pg_lease'";

impl Session {
    /// Tries the servers, each a little after the one before it: the first has the preference, but
    /// one that is silent must not keep us from the others.
    async fn open(candidates: Vec<Candidate>) -> Result<Self, Failure> {
        let alone = candidates.len() == 1;
        let mut attempts = JoinSet::new();
        for (at, candidate) in (0..).zip(candidates) {
            attempts.spawn(async move {
                tokio::time::sleep(HEAD_START * at).await;
                let in_time = Moment::now() + candidate.timeout;
                let opened = within(in_time, Self::open_one(&candidate)).await;
                opened.unwrap_or(Err(Failure::Late)).map_err(|failure| (candidate.shown, failure))
            });
        }
        let mut failures = Vec::new();
        while let Some(Ok(attempt)) = attempts.join_next().await {
            match attempt {
                Ok(session) => return Ok(session),
                Err((_, refused @ Failure::Refused { .. })) if alone => return Err(refused),
                Err((shown, failure)) => failures.push(format!("{shown}: {failure}")),
            }
        }
        Err(Failure::Unreachable(failures.join("; ")))
    }

    async fn open_one(candidate: &Candidate) -> Result<Self, Failure> {
        let connected = candidate.config.connect(candidate.tls.connector.clone()).await;
        let (client, connection) = connected?;
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut session = Self { client, schema: String::new(), connection };
        let found = session.client.query_typed(SCHEMA, &[]).await?;
        let Some(row) = found.first() else {
            let message = "this database has no extension pg_lease".to_owned();
            return Err(Failure::Refused { code: NO_EXTENSION.to_owned(), message });
        };
        session.schema = row.try_get(0)?;
        Ok(session)
    }
}

/// What the server would say of an unknown function.
const NO_EXTENSION: &str = "42883";

/// What is asked: `{}` in the text stands for the schema of the extension's functions.
pub struct Question<'a> {
    pub text: &'a str,
    pub with: &'a [(&'a (dyn ToSql + Sync), Type)],
}

/// The way to the server.
pub struct Link {
    conninfo: Conninfo,
    session: Option<Session>,
}

impl Link {
    pub fn new(conninfo: Conninfo) -> Self {
        Self { conninfo, session: None }
    }

    /// Asks, over a new connection if there is none, and gives up at `by`. A connection that
    /// did not answer is not used again.
    pub async fn ask(&mut self, question: &Question<'_>, by: Moment) -> Result<Row, Failure> {
        let answer = within(by, self.ask_for_long(question)).await.unwrap_or(Err(Failure::Late));
        if !matches!(answer, Ok(_) | Err(Failure::Refused { .. })) {
            self.session = None;
        }
        answer
    }

    async fn ask_for_long(&mut self, question: &Question<'_>) -> Result<Row, Failure> {
        let open = self.session.take().filter(|session| !session.client.is_closed());
        let session = match open {
            Some(session) => session,
            None => {
                let candidates = self.conninfo.candidates().map_err(Failure::Unreachable)?;
                Session::open(candidates).await?
            }
        };
        let session = self.session.insert(session);
        // unnamed statements in one round trip: they pass through poolers
        let text = question.text.replace("{}", &session.schema);
        Ok(session.client.query_typed_one(&text, question.with).await?)
    }

    /// Returns when the connection has broken; never while there is none.
    pub async fn broken(&mut self) {
        match &mut self.session {
            Some(session) if session.connection.is_finished() => {}
            Some(session) => drop((&mut session.connection).await),
            None => std::future::pending().await,
        }
    }
}
