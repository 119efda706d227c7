//! The stories. In each, somebody does what must be refused or must be outlived.

use super::Stage;
use crate::history::Write;
use crate::stage;
use crate::worker::Place;
use anyhow::{Context, Result};
use rig::wait_until;
use std::thread::{scope, sleep};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const LEVELS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];

fn under(token: i64) -> Write {
    Write { token: Some(token), ..Write::default() }
}

/// A has written and goes on only after B has taken over.
fn late(stage: &Stage, isolation: &str, prepare: bool) -> Result<()> {
    let (mut a, mut b) = (stage.actor("a", &[])?, stage.actor("b", &[])?);
    let token = a.acquire(60_000)?.context("no grant")?;
    a.begin(isolation, under(token))?;
    b.take_over()?.context("no takeover")?;
    if prepare { a.prepare_and_commit() } else { a.commit() }
}

pub fn late_commit(stage: &Stage) -> Result<()> {
    late(stage, LEVELS[0], false)
}

pub fn late_commit_under_a_snapshot(stage: &Stage) -> Result<()> {
    late(stage, LEVELS[1], false)
}

pub fn late_prepare(stage: &Stage) -> Result<()> {
    late(stage, LEVELS[0], true)
}

/// B takes over while A's commit is between its check and its end. Emptying a temporary table is the
/// last step of a commit before its record: whoever locks the table stops it there.
pub fn takeover_during_a_commit(stage: &Stage) -> Result<()> {
    let (mut a, mut b) = (stage.actor("a", &[])?, stage.actor("b", &["lock_timeout = '500 ms'"])?);
    a.run("CREATE TEMP TABLE last_step (n integer) ON COMMIT DELETE ROWS")?;
    let table = a.number("SELECT 'last_step'::regclass::oid::integer")?;
    let backend = a.number("SELECT pg_backend_pid()")?;
    let token = a.acquire(60_000)?.context("no grant")?;
    a.begin(LEVELS[0], under(token))?;
    a.run("INSERT INTO last_step VALUES (1)")?;
    let mut stopper = stage.server.connect(&stage.database)?;
    let named = stopper.query_one("SELECT $1::integer::oid::regclass::text", &[&table])?;
    let name: String = named.get(0);
    stopper.batch_execute(&format!("BEGIN; LOCK TABLE {name} IN ACCESS SHARE MODE"))?;
    scope(|threads| {
        let committing = threads.spawn(|| a.commit());
        let waits = "SELECT count(*) = 1 FROM pg_stat_activity
                     WHERE pid = $1 AND wait_event_type = 'Lock'";
        wait_until("the commit to be stopped", PATIENCE, || {
            Ok(stopper.query_one(waits, &[&backend])?.get(0))
        })?;
        b.take_over()?;
        stopper.batch_execute("COMMIT")?;
        committing.join().map_err(|_| anyhow::anyhow!("the committer died"))?
    })
}

/// A does not wait for the disk, and has the lease. A moment later the server dies.
pub fn crash_after_a_grant(stage: &Stage) -> Result<()> {
    let mut a = stage.actor("a", &["synchronous_commit = off"])?;
    a.acquire(60_000)?.context("no grant")?;
    stage.server.kill9()?;
    stage.server.start_again()
}

/// The last grants never reach the standby. More than the 32 numbers that a sequence logs ahead.
pub fn grants_lost_by_a_failover(stage: &Stage) -> Result<()> {
    let standby = stage::builder("mutants2").breakable().start_standby_of(stage.server)?;
    stage.server.wait_for_replay(&standby)?;
    stage::cut_off(&standby)?;
    let mut a = stage.actor("a", &[])?;
    for _ in 0..70 {
        a.acquire(60_000)?.context("no grant")?;
    }
    standby.promote()?;
    let place = Place {
        server: super::PROMOTED.to_owned(),
        connection: standby.conn_string(&stage.database),
    };
    let mut b = super::Actor::enter(&stage.directory, "b", &place, &[])?;
    for _ in 0..20 {
        b.take_over()?.context("no takeover")?;
    }
    Ok(())
}

/// B waits for A's transaction to give the lease back, longer than B's own term; C tries all the time.
pub fn grant_after_a_wait(stage: &Stage) -> Result<()> {
    let (mut a, mut b, mut c) =
        (stage.actor("a", &[])?, stage.actor("b", &[])?, stage.actor("c", &[])?);
    let token = a.acquire(200)?.context("no grant")?;
    a.begin(LEVELS[0], Write { releases: true, ..under(token) })?;
    a.release_and_hold(token)?;
    sleep(Duration::from_millis(250));
    scope(|threads| {
        let waiting = threads.spawn(move || b.acquire(400));
        sleep(Duration::from_millis(700));
        a.commit()?;
        waiting.join().map_err(|_| anyhow::anyhow!("the waiter died"))?
    })?
    .context("no grant after the wait")?;
    wait_until("the next grant", PATIENCE, || Ok(c.acquire(400)?.is_some()))
}
