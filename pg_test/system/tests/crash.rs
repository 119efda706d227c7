//! Whatever is killed, what was committed is kept, no token is granted twice, and a lease runs out
//! when it was to.

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use postgres::Client;
use rig::{Server, process, wait_until};
use system_tests::history::all_above;
use system_tests::lease::{
    self, acquire, expire, grant, grant_many, guarded_table, notes, present, renew,
    set_clock_before_expiry,
};
use system_tests::program::Program;
use system_tests::refusal::refused;
use system_tests::shared::database;
use system_tests::watch::{self, PATIENCE};

/// A server that writes its WAL to disk when something asks for it, and hardly ever by itself: what
/// is not forced is lost in a crash.
fn lazy_server(name: &str) -> Result<Server> {
    let lazy = ["wal_writer_delay = 10s", "wal_writer_flush_after = 1GB", "autovacuum = off"];
    lazy.iter().fold(Server::builder(name), |server, line| server.conf(line)).start()
}

/// What is known before a crash: a holder that has written, and tokens that a client has seen in a
/// transaction that never committed. Many, as a sequence writes WAL for 32 numbers at once only.
struct Before {
    held: i64,
    shown: Vec<i64>,
    _open: Client,
}

impl Before {
    fn arrange(server: &Server, client: &mut Client) -> Result<Self> {
        guarded_table(client, "job")?;
        let held = grant(client, "job", "a")?;
        present(client, "job", held)?;
        lease::write(client, "committed")?;
        let mut open = server.connect("jobs")?;
        open.batch_execute("BEGIN")?;
        let names: Vec<String> = (0..100).map(|n| format!("other:{n}")).collect();
        let shown = grant_many(&mut open, &names, "c")?;
        present(&mut open, "job", held)?;
        lease::write(&mut open, "not committed")?;
        Ok(Self { held, shown, _open: open })
    }

    /// Breaks if a grant or a write was lost, if the shown token came again, or if the crash left
    /// something in the successor's way.
    fn holds_after(&self, client: &mut Client) -> Result<()> {
        assert_eq!(lease::state(client, "job")?, ("held".into(), self.held));
        let answer = acquire(client, "job", "b", "1 hour")?;
        assert_eq!((answer.status.as_str(), answer.owner.as_deref()), ("held", Some("a")));
        assert_eq!(renew(client, "job", "a", self.held, "1 hour")?.token, Some(self.held));
        present(client, "job", self.held)?;
        lease::write(client, "afterwards")?;
        assert_eq!(notes(client)?, ["committed", "afterwards"]);
        let next = grant(client, "other:0", "d")?;
        expire(client, "job")?;
        let taken = grant(client, "job", "b")?;
        all_above(&[next, taken], &self.shown)?;
        all_above(&self.shown, &[self.held])?;
        refused(lease::write(client, "late"), "55000")?;
        Ok(())
    }
}

/// Breaks if a dead client's session kept a lock that a successor needs.
#[test]
fn a_killed_client_holds_nothing_up() -> Result<()> {
    let server = Server::start("client")?;
    let mut client = database(&server, "jobs")?;
    guarded_table(&mut client, "job")?;
    let mut holder = Program::psql(&server, "jobs")?;
    holder.send("SELECT token FROM lease_acquire('job', 'a', '1 hour') \\gset")?;
    holder.send("BEGIN; SELECT lease_fence_check('job', :token);")?;
    holder.send("INSERT INTO work (note) VALUES ('not committed'); SELECT 'token', :token;")?;
    let shown = holder.says("token|")?;
    let token: i64 = shown.trim_start_matches("token|").parse()?;
    holder.kill9()?;

    let answer = acquire(&mut client, "job", "b", "1 hour")?;
    assert_eq!(answer.status, "held");
    expire(&mut client, "job")?;
    let next = grant(&mut client, "job", "b")?;
    assert!(next > token);
    let left = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'frozen'";
    watch::until(&mut client, "the killed client's session to end", left)?;
    assert!(notes(&mut client)?.is_empty());
    Ok(())
}

#[test]
fn a_killed_backend_takes_no_grant_with_it() -> Result<()> {
    let server = lazy_server("backend")?;
    let mut client = database(&server, "jobs")?;
    let before = Before::arrange(&server, &mut client)?;
    let postmaster = server.pid()?;
    process::send(watch::backend(&mut client)?, Signal::SIGKILL)?;
    // the postmaster then ends every session, as shared memory may be damaged, and starts anew
    let restarted =
        || Ok(server.log().contains("reinitializing") && server.connect("jobs").is_ok());
    wait_until("the server to come back", PATIENCE, restarted)?;
    assert_eq!(server.pid()?, postmaster);
    before.holds_after(&mut server.connect("jobs")?)
}

#[test]
fn a_killed_server_comes_back_with_every_grant() -> Result<()> {
    let server = lazy_server("postmaster")?;
    let mut client = database(&server, "jobs")?;
    let before = Before::arrange(&server, &mut client)?;
    server.kill9()?;
    server.start_again()?;
    before.holds_after(&mut server.connect("jobs")?)
}

/// Each change of ownership, and what the lease must look like after the crash.
const CHANGES: [(&str, &str); 4] = [
    ("SELECT FROM lease_acquire('job', 'a', '1 hour')", "a"),
    ("SELECT FROM lease_takeover('job', 'b', '1 hour')", "b"),
    ("SELECT FROM lease_release('job', 'b', (SELECT token FROM lease.lease))", "nobody"),
    ("SELECT FROM lease_drop('job')", "no lease"),
];

/// An acknowledged change of ownership is on disk even where the session does not ask for that.
/// Breaks without the forced commit: then the change is lost as the ordinary row is.
#[test]
fn an_acknowledged_change_survives_without_synchronous_commit() -> Result<()> {
    let server = lazy_server("durable")?;
    let mut client = database(&server, "jobs")?;
    client.batch_execute("CREATE TABLE ordinary (n int)")?;
    for (number, (change, expected)) in (0..).zip(CHANGES) {
        let mut session = server.connect("jobs")?;
        session.batch_execute("SET synchronous_commit = off")?;
        session.batch_execute(change)?;
        session.execute("INSERT INTO ordinary VALUES ($1)", &[&number])?;
        server.kill9()?;
        server.start_again()?;
        let mut client = server.connect("jobs")?;
        let owner =
            "SELECT coalesce((SELECT coalesce(owner, 'nobody') FROM lease.lease), 'no lease')";
        assert_eq!(client.query_one(owner, &[])?.get::<_, &str>(0), expected, "{change}");
    }
    // the crash is one that loses what is not forced, or this test shows nothing
    let kept: i64 = server.connect("jobs")?.query_one("SELECT count(*) FROM ordinary", &[])?.get(0);
    ensure!(kept < CHANGES.len() as i64, "no crash has lost anything");
    Ok(())
}

/// Breaks if a run could be begun again because the first beginning was not on disk.
#[test]
fn a_run_that_was_begun_stays_begun_without_synchronous_commit() -> Result<()> {
    let server = lazy_server("once")?;
    database(&server, "jobs")?.batch_execute("CREATE TABLE ordinary (n int)")?;
    let once = "SELECT lease_once('payout', 'today')";
    for first in [true, false] {
        let mut session = server.connect("jobs")?;
        session.batch_execute("SET synchronous_commit = off")?;
        assert_eq!(session.query_one(once, &[])?.get::<_, bool>(0), first);
        session.execute("INSERT INTO ordinary VALUES (1)", &[])?;
        server.kill9()?;
        server.start_again()?;
    }
    let kept: i64 = server.connect("jobs")?.query_one("SELECT count(*) FROM ordinary", &[])?.get(0);
    ensure!(kept < 2, "no crash has lost anything");
    Ok(())
}

/// Breaks if a restart gave a lease a new term or ended it.
#[test]
fn a_restart_leaves_the_time_that_was_left() -> Result<()> {
    let server = Server::start("restart")?;
    let mut client = database(&server, "jobs")?;
    acquire(&mut client, "job", "a", "15 s")?;
    let aged = "UPDATE lease.lease SET expires_at = compute_now() + interval '5 s'
                RETURNING expires_at::text";
    let expires_at: String = client.query_one(aged, &[])?.get(0);
    drop(client);
    server.restart()?;
    let mut client = server.connect("jobs")?;
    let after = client.query_one("SELECT expires_at::text FROM lease.lease", &[])?;
    assert_eq!(after.get::<_, &str>(0), expires_at);
    set_clock_before_expiry(&mut client, "3 s")?;
    assert_eq!(acquire(&mut client, "job", "b", "15 s")?.status, "held");
    set_clock_before_expiry(&mut client, "-1 ms")?;
    assert_eq!(acquire(&mut client, "job", "b", "15 s")?.status, "granted");
    Ok(())
}
