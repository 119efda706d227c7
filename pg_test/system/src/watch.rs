//! Waiting for what the server shows of its sessions: never for a time.

use anyhow::Result;
use postgres::{Client, GenericClient};
use rig::wait_until;
use std::time::Duration;

/// How long a state may take to come on a busy machine. Reaching it is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The process that serves this connection.
pub fn backend(client: &mut impl GenericClient) -> Result<i32> {
    Ok(client.query_one("SELECT pg_backend_pid()", &[])?.get(0))
}

/// Waits until a question is answered with true.
pub fn until(client: &mut Client, what: &str, question: &str) -> Result<()> {
    wait_until(what, PATIENCE, || Ok(client.query_one(question, &[])?.get(0)))
}

/// Waits until a backend waits for `event` (SyncRep, transactionid, advisory, …).
pub fn until_waiting(client: &mut Client, backend: i32, event: &str) -> Result<()> {
    let question = format!(
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = {backend} AND wait_event = '{event}'"
    );
    until(client, &format!("process {backend} to wait for {event}"), &question)
}

/// Waits until a backend is gone.
pub fn until_gone(client: &mut Client, backend: i32) -> Result<()> {
    let question = format!("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = {backend}");
    until(client, &format!("process {backend} to end"), &question)
}
