//! A client that does what a script says, step by step, and writes down what it is told.

use crate::history::{Answer, Ask, Recorder, Write};
use crate::worker::{Order, Place, Session, Trouble, answer_of, taken};
use anyhow::{Result, anyhow};
use std::path::Path;

pub struct Actor {
    name: String,
    lease: String,
    session: Session,
    recorder: Recorder,
    open: Option<String>,
}

impl Actor {
    /// A client of the only lease.
    pub fn enter(directory: &Path, name: &str, place: &Place, settings: &[&str]) -> Result<Self> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let session = Session::open(place, name, &settings).map_err(error)?;
        let recorder = Recorder::start(directory, name)?;
        Ok(Self { name: name.to_owned(), lease: Order::lease(0), session, recorder, open: None })
    }

    pub fn acquire(&mut self, ttl_ms: u64) -> Result<Option<i64>> {
        let (lease, name) = (&self.lease, &self.name);
        let ask = Ask::Acquire { lease: lease.clone(), ttl_ms };
        let call = format!("lease_acquire('{lease}', '{name}', '{ttl_ms} ms', 'never')");
        self.take(&ask, &call)
    }

    pub fn take_over(&mut self) -> Result<Option<i64>> {
        let (lease, name) = (&self.lease, &self.name);
        let ask = Ask::Takeover { lease: lease.clone(), ttl_ms: 60_000 };
        let call = format!("lease_takeover('{lease}', '{name}', '60 s')");
        self.take(&ask, &call)
    }

    fn take(&mut self, ask: &Ask, call: &str) -> Result<Option<i64>> {
        self.recorder.asked(&self.session.server, ask)?;
        let tried = self.session.row(&format!("SELECT status, token FROM {call}"));
        let answer = answer_of(tried.map(|row| taken(&row)))?;
        self.recorder.answered(&answer)?;
        Ok(match answer {
            Answer::Granted(token) => Some(token),
            _ => None,
        })
    }

    /// Begins a transaction and writes a row in it.
    pub fn begin(&mut self, isolation: &str, write: Write) -> Result<()> {
        let write = Write { lease: self.lease.clone(), parts: 1, durable: true, ..write };
        let (operation, token) = (self.recorder.next_name(), write.token.unwrap_or_default());
        let (lease, table) = (self.lease.clone(), Order::table(&self.lease));
        self.recorder.asked(&self.session.server, &Ask::Write(write))?;
        self.run(&format!("BEGIN ISOLATION LEVEL {isolation}"))?;
        self.run(&format!("SELECT lease_fence_check('{lease}', {token})"))?;
        self.run(&format!("INSERT INTO {table} VALUES ('{operation}', 0, {token})"))?;
        self.open = Some(operation);
        Ok(())
    }

    /// A statement that must succeed.
    pub fn run(&mut self, statement: &str) -> Result<()> {
        self.session.run(statement).map_err(error)
    }

    pub fn number(&mut self, question: &str) -> Result<i32> {
        let row = self.session.row(question).map_err(error)?;
        row.first()
            .cloned()
            .flatten()
            .and_then(|n| n.parse().ok())
            .ok_or_else(|| anyhow!("no number"))
    }

    /// Ends the transaction, which may be refused.
    pub fn commit(&mut self) -> Result<()> {
        self.recorder.ending()?;
        let tried = self.session.run("COMMIT").map(|()| Answer::Done);
        self.recorder.answered(&answer_of(tried)?)
    }

    pub fn prepare_and_commit(&mut self) -> Result<()> {
        let operation = self.open.clone().unwrap_or_default();
        self.recorder.ending()?;
        let tried = self.session.run(&format!("PREPARE TRANSACTION '{operation}'"));
        let tried =
            tried.and_then(|()| self.session.run(&format!("COMMIT PREPARED '{operation}'")));
        self.recorder.answered(&answer_of(tried.map(|()| Answer::Done))?)
    }

    pub fn release_and_hold(&mut self, token: i64) -> Result<()> {
        let (lease, name) = (self.lease.clone(), self.name.clone());
        self.run(&format!("SELECT lease_release('{lease}', '{name}', {token})"))
    }
}

fn error(trouble: Trouble) -> anyhow::Error {
    match trouble {
        Trouble::Refused { state, said } => anyhow!("{state} {said}"),
        Trouble::Lost(why) => anyhow!("the connection is lost: {why}"),
        Trouble::Broken(error) => error,
    }
}
