//! Sessions that wait for a lease, and what the server shows of them.

use crate::lease::Answer;
use crate::watch::{self, backend};
use anyhow::{Context, Result, anyhow};
use postgres::{Client, Error};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The fourth field of the tag of a queue's lock (`Class::Queue`).
pub const QUEUE: u32 = 0x4c08;

/// What the answers to a wait are: a grant, or why not, and when it came.
pub type Ended = (Result<Answer, Error>, Client, Instant);

/// A session that waits, in a thread of its own.
pub struct Waiter {
    pub backend: i32,
    thread: JoinHandle<Ended>,
}

impl Waiter {
    /// Has the session wait for `name` as `owner`.
    pub fn start(mut client: Client, name: &str, owner: &str, wait: &str) -> Result<Self> {
        let backend = backend(&mut client)?;
        let (name, owner, wait) = (name.to_owned(), owner.to_owned(), wait.to_owned());
        let thread = thread::spawn(move || {
            let answer = wait_for(&mut client, &name, &owner, &wait);
            (answer, client, Instant::now())
        });
        Ok(Self { backend, thread })
    }

    /// The same, and returns when it is in the queue.
    pub fn queue(client: Client, name: &str, owner: &str, watcher: &mut Client) -> Result<Self> {
        let waiter = Self::start(client, name, owner, "2 min")?;
        until_queued(watcher, waiter.backend)?;
        Ok(waiter)
    }

    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn end(self) -> Result<Ended> {
        self.thread.join().map_err(|_| anyhow!("a waiter's thread died"))
    }

    /// What it was granted.
    pub fn granted(self) -> Result<(Answer, Client, Instant)> {
        let (answer, client, at) = self.end()?;
        Ok((answer.context("it was not granted")?, client, at))
    }
}

/// lease_acquire with a wait and a ttl of an hour.
pub fn wait_for(client: &mut Client, name: &str, owner: &str, wait: &str) -> Result<Answer, Error> {
    let call = "lease_acquire($1, $2, '1 hour', wait => $3::text::interval)";
    crate::lease::ask(client, call, &[&name, &owner, &wait])
}

/// How many processes are in queues of this database, heads included.
pub fn queued(watcher: &mut Client) -> Result<i64> {
    Ok(watcher.query_one(&format!("SELECT count(*) FROM ({IN_QUEUES}) q"), &[])?.get(0))
}

const IN_QUEUES: &str = "SELECT pid, granted FROM pg_locks WHERE locktype = 'advisory'
    AND objsubid = 19464
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Waits until this process is in a queue, and asleep in it.
pub fn until_queued(watcher: &mut Client, backend: i32) -> Result<()> {
    let asleep = format!(
        "SELECT count(*) = 1 FROM ({IN_QUEUES}) q JOIN pg_stat_activity a USING (pid)
         WHERE pid = {backend}
           AND wait_event_type = CASE WHEN granted THEN 'Extension' ELSE 'Lock' END"
    );
    watch::until(watcher, &format!("process {backend} to wait in a queue"), &asleep)
}

/// Waits until this process is in no queue any more.
pub fn until_not_queued(watcher: &mut Client, backend: i32) -> Result<()> {
    let out = format!("SELECT count(*) = 0 FROM ({IN_QUEUES}) q WHERE pid = {backend}");
    watch::until(watcher, &format!("process {backend} to leave its queue"), &out)
}

/// Waits until this process is the head of a queue.
pub fn until_head(watcher: &mut Client, backend: i32) -> Result<()> {
    let head = format!("SELECT bool_or(granted) FROM ({IN_QUEUES}) q WHERE pid = {backend}");
    watch::until(watcher, &format!("process {backend} to be the head"), &head)
}
