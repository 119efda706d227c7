//! What is told to those who run it: notifications, counters, and refused writes in the server's log.

use anyhow::{Context, Result};
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, NoTls};
use rig::Server;
use std::sync::mpsc;
use std::time::Duration;
use system_tests::lease::{self, acquire, expire, grant, guarded_table, present, renew};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};

static SHARED: Shared = Shared::new();

/// What has been notified so far: whatever a session has sent before it answers is there.
fn heard(listener: &mut Client) -> Result<Vec<String>> {
    listener.batch_execute("SELECT 1")?;
    let mut notifications = listener.notifications();
    let some = notifications.timeout_iter(Duration::from_millis(200));
    Ok(some.map(|n| Ok(format!("{}: {}", n.channel(), n.payload()))).collect()?)
}

/// The payload as the server reads it.
fn said(client: &mut Client, notification: &str) -> Result<String> {
    let payload = notification.strip_prefix("pg_lease: ").context("another channel")?;
    let read = "SELECT concat_ws(' ', j->>'name', j->>'why', j->>'old_owner', j->>'new_owner',
                    j->>'reason', j->>'acquisitions')
                FROM (SELECT $1::text::jsonb AS j) AS s";
    Ok(client.query_one(read, &[&payload])?.get(0))
}

/// Breaks if a change of ownership was not notified, or anything else was, or before its commit.
#[test]
fn each_change_of_ownership_is_notified_and_nothing_else() -> Result<()> {
    let (server, mut client) = SHARED.database("notified")?;
    let mut listener = server.connect("notified")?;
    listener.batch_execute("LISTEN pg_lease")?;
    grant(&mut client, "job", "off")?;
    client
        .batch_execute("SET pg_lease.notify = on; SELECT lease_takeover('job', 'a', '1 hour')")?;
    let token = acquire(&mut client, "job", "a", "1 hour")?.token.unwrap_or(0);
    for _ in 0..3 {
        renew(&mut client, "job", "a", token, "1 hour")?;
    }
    assert_eq!(acquire(&mut client, "job", "b", "1 hour")?.status, "held");
    client.batch_execute("BEGIN; SELECT lease_takeover('job', 'c', '1 hour'); ROLLBACK")?;
    let mut open = client.transaction()?;
    open.batch_execute("SELECT lease_takeover('job', 'é \"quoted\"', '1 hour', 'why')")?;
    assert_eq!(heard(&mut listener)?.len(), 1, "told before the commit");
    open.commit()?;
    expire(&mut client, "job")?;
    let last = grant(&mut client, "job", "d")?;
    lease::release(&mut client, "job", "d", last)?;
    let mut told = Vec::new();
    for notification in heard(&mut listener)? {
        told.push(said(&mut client, &notification)?);
    }
    assert_eq!(
        told,
        ["job forced a é \"quoted\" why 3", "job expired é \"quoted\" d 4", "job released d 4"]
    );
    Ok(())
}

/// Breaks if a notification could make a grant fail: by its length, or by how many there are.
#[test]
fn no_grant_fails_for_its_notification() -> Result<()> {
    let (server, mut client) = SHARED.database("long")?;
    let mut listener = server.connect("long")?;
    listener.batch_execute("LISTEN pg_lease")?;
    client.batch_execute(
        "SET pg_lease.notify = on;
         SELECT lease_takeover(repeat('n', 200), repeat('🂡', 200), '1 hour', repeat(E'\\x01', 100000));
         SELECT lease_takeover(repeat('n', 200), repeat('🂢', 200), '1 hour', repeat('🂡', 100000))",
    )?;
    let told = heard(&mut listener)?;
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|one| one.len() < 8_000 + "pg_lease: ".len()));
    for _ in 0..11 {
        client.execute(
            "SELECT FROM lease_acquire_many(ARRAY(SELECT 'n' || i || '_' || (SELECT count(*) FROM
             lease.lease) FROM generate_series(1, 1000) i), 'a', '1 hour')",
            &[],
        )?;
    }
    heard(&mut listener)?;
    // one transaction that ends more leases than it sends notifications
    client.batch_execute("SELECT lease_void_all()")?;
    assert_eq!(heard(&mut listener)?.len(), 10_000);
    assert!(server.log().contains("more than 10000 leases change hands in one transaction"));
    Ok(())
}

/// Breaks if the setting of a database were not that of everybody's sessions in it.
#[test]
fn a_database_notifies_whoever_changes_ownership() -> Result<()> {
    let (server, mut client) = SHARED.database("everybody")?;
    client.batch_execute(
        "ALTER DATABASE everybody SET pg_lease.notify = on;
         CREATE ROLE taker LOGIN; SELECT lease_allow('taker', 'job')",
    )?;
    let mut listener = server.connect("everybody")?;
    listener.batch_execute("LISTEN pg_lease")?;
    let mut taker = server.config("everybody").user("taker").connect(NoTls)?;
    grant(&mut taker, "job", "a")?;
    assert_eq!(heard(&mut listener)?.len(), 1);
    refused(taker.batch_execute("SET pg_lease.notify = off"), "42501")?;
    Ok(())
}

fn preloaded(name: &str) -> Result<Server> {
    Server::builder(name).conf("shared_preload_libraries = 'pg_lease'").start()
}

/// The counters of one lease, or of all.
fn counters(client: &mut Client, name: Option<&str>) -> Result<String> {
    let row = client.query_opt(
        "SELECT concat_ws(' ', grants, takeovers, renewals, releases, held, busy, quiet, stalled, lost,
             refused_at_statement, refused_at_commit, waits)
         FROM lease.counters WHERE name IS NOT DISTINCT FROM $1::text",
        &[&name],
    )?;
    Ok(row.map(|row| row.get(0)).unwrap_or_default())
}

/// Breaks if an event was not counted, or not where it belongs, or in another database.
#[test]
fn events_are_counted() -> Result<()> {
    let server = preloaded("counting")?;
    let mut client = database(&server, "jobs")?;
    guarded_table(&mut client, "job")?;
    let first = grant(&mut client, "job", "a")?;
    renew(&mut client, "job", "a", first, "1 hour")?;
    acquire(&mut client, "job", "a", "1 hour")?;
    acquire(&mut client, "job", "b", "1 hour")?;
    let second = lease::takeover(&mut client, "job", "b", "1 hour")?.token.unwrap_or(0);
    refused(renew(&mut client, "job", "a", first, "1 hour"), "55000")?;
    lease::release(&mut client, "job", "a", first)?;
    // a stale write at the statement, one without a token, and one at the commit
    present(&mut client, "job", first)?;
    refused(lease::write(&mut client, "stale"), "55000")?;
    client.batch_execute("RESET pg_lease.token")?;
    refused(lease::write(&mut client, "none"), "55000")?;
    let mut writer = server.connect("jobs")?;
    present(&mut writer, "job", second)?;
    writer.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('late')")?;
    lease::takeover(&mut client, "job", "c", "1 hour")?;
    refused(writer.batch_execute("COMMIT"), "55000")?;
    // busy: somebody has the row
    writer.batch_execute("BEGIN; SELECT FROM lease.lease FOR UPDATE")?;
    client.batch_execute("SET lock_timeout = '10 ms'")?;
    expire_elsewhere(&mut writer)?;
    assert_eq!(acquire(&mut client, "job", "d", "1 hour")?.status, "held");
    refused(lease::takeover(&mut client, "job", "d", "1 hour"), "55P03")?;
    writer.batch_execute("ROLLBACK")?;
    let other = grant(&mut client, "other", "x")?;
    lease::release(&mut client, "other", "x", other)?;
    // one that is quiet, and one whose work stands still
    client.batch_execute("SELECT lease_acquire('calm', 'x', quiet_period => '1 hour')")?;
    expire(&mut client, "calm")?;
    assert_eq!(acquire(&mut client, "calm", "y", "1 hour")?.status, "quiet");
    client.batch_execute("SELECT lease_acquire('still', 'x', stall_after => '1 ms')")?;
    client.batch_execute("SELECT pg_sleep(0.002)")?;
    let still: i64 =
        client.query_one("SELECT token FROM lease.lease WHERE name = 'still'", &[])?.get(0);
    refused(renew(&mut client, "still", "x", still, "1 hour"), "55000")?;
    assert_eq!(counters(&mut client, Some("calm"))?, "1 0 0 0 0 0 1 0 0 0 0 0");
    assert_eq!(counters(&mut client, Some("still"))?, "1 0 0 0 0 0 0 1 0 0 0 0");
    assert_eq!(counters(&mut client, Some("job"))?, "3 2 2 0 2 1 0 0 2 2 1 0");
    assert_eq!(counters(&mut client, Some("other"))?, "1 0 0 1 0 0 0 0 0 0 0 0");
    assert_eq!(counters(&mut client, None)?, "6 2 2 1 2 1 1 1 2 2 1 0");
    let mut elsewhere = database(&server, "elsewhere")?;
    grant(&mut elsewhere, "job", "a")?;
    assert_eq!(counters(&mut elsewhere, Some("job"))?, "1 0 0 0 0 0 0 0 0 0 0 0");
    assert_eq!(counters(&mut elsewhere, None)?, "1 0 0 0 0 0 0 0 0 0 0 0");
    server.restart()?;
    assert_eq!(counters(&mut server.connect("jobs")?, Some("job"))?, "");
    Ok(())
}

/// Nothing changes for others until it commits.
fn expire_elsewhere(client: &mut Client) -> Result<()> {
    Ok(client.batch_execute("UPDATE lease.lease SET expires_at = expires_at WHERE name = 'job'")?)
}

/// Breaks if more leases than there is room for were an error, or were left out of the sums.
#[test]
fn more_leases_than_there_is_room_for() -> Result<()> {
    let server = preloaded("crowded")?;
    let mut client = database(&server, "jobs")?;
    for batch in 0..3 {
        client.execute(
            "SELECT FROM lease_acquire_many(ARRAY(SELECT $1 || '/' || i FROM
             generate_series(1, 1000) i), 'a', '1 hour')",
            &[&format!("batch-{batch}")],
        )?;
    }
    let row = client.query_one(
        "SELECT count(*), count(*) FILTER (WHERE grants <> 1 OR name !~ '^batch-[0-2]/[0-9]+$')
         FROM lease.counters WHERE name IS NOT NULL",
        &[],
    )?;
    let (rows, wrong): (i64, i64) = (row.get(0), row.get(1));
    assert!((900..=1_024).contains(&rows) && wrong == 0, "{rows} rows, {wrong} wrong");
    assert_eq!(counters(&mut client, None)?, "3000 0 0 0 0 0 0 0 0 0 0 0");
    // those that were used last are there
    let last = counters(&mut client, Some("batch-2/1000"))?;
    assert_eq!(last, "1 0 0 0 0 0 0 0 0 0 0 0");
    Ok(())
}

/// Breaks if the view failed without preloading, or was open to everybody.
#[test]
fn without_preloading_the_view_says_why_it_is_empty() -> Result<()> {
    let (server, mut client) = SHARED.database("bare")?;
    grant(&mut client, "job", "a")?;
    let row =
        client.query_one("SELECT name, grants, since::text, note FROM lease.counters", &[])?;
    assert_eq!(row.get::<_, Option<&str>>(0), None);
    assert_eq!(row.get::<_, Option<i64>>(1), None);
    assert_eq!(row.get::<_, Option<&str>>(2), None);
    let note: String = row.get(3);
    assert_eq!(note, "pg_lease is not in shared_preload_libraries: nothing is counted");
    client
        .batch_execute("CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor")?;
    let as_role = |role: &str| server.config("bare").user(role).connect(NoTls);
    refused(as_role("plain")?.batch_execute("TABLE lease.counters"), "42501")?;
    as_role("watcher")?.batch_execute("TABLE lease.counters")?;
    Ok(())
}

/// Breaks if a refused write was not in the log with lease, token and role; or at another level than
/// was asked for; or if the client got it twice.
#[test]
fn refused_writes_are_in_the_log() -> Result<()> {
    let (server, mut client) = SHARED.database("logged")?;
    guarded_table(&mut client, "job")?;
    let first = grant(&mut client, "job", "a")?;
    let second = lease::takeover(&mut client, "job", "b", "1 hour")?.token.unwrap_or(0);
    client.batch_execute("CREATE ROLE scribe IN ROLE postgres")?;
    let (notice, notices) = mpsc::channel();
    let mut config = server.config("logged");
    config.notice_callback(move |told| drop(notice.send(told.message().to_owned())));
    let mut writer = config.connect(NoTls)?;
    let tell = "SET client_min_messages = debug5; SET ROLE scribe";
    writer.batch_execute(tell)?;
    present(&mut writer, "job", first)?;
    let stale = |writer: &mut Client| refused(lease::write(writer, "stale"), "55000");
    stale(&mut writer)?;
    present(&mut writer, "job", second)?;
    writer.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('late')")?;
    lease::takeover(&mut client, "job", "c", "1 hour")?;
    refused(writer.batch_execute("COMMIT"), "55000")?;
    let line = |level: &str, when: &str, token: i64| {
        format!("{level}:  refused {when}: lease \"job\", token {token}, role \"scribe\"")
    };
    let log = server.log();
    for expected in [line("LOG", "at the statement", first), line("LOG", "at the commit", second)] {
        assert_eq!(log.matches(&expected).count(), 1, "{expected}");
    }
    let set = |client: &mut Client, level: &str| -> Result<()> {
        let as_owner = format!("RESET ROLE; SET pg_lease.log_refusals = {level}; SET ROLE scribe");
        Ok(client.batch_execute(&as_owner)?)
    };
    set(&mut writer, "warning")?;
    stale(&mut writer)?;
    set(&mut writer, "off")?;
    stale(&mut writer)?;
    let log = server.log();
    let count = |level: &str| log.matches(&line(level, "at the statement", second)).count();
    assert_eq!((count("WARNING"), count("LOG")), (1, 0));
    assert!(!notices.try_iter().any(|told| told.contains("refused at")));
    Ok(())
}

/// Breaks if a way to be refused did not tell: a row whose token is above the newest, and a commit under
/// many leases that meets a change of ownership.
#[test]
fn rows_and_commits_under_many_leases_tell_too() -> Result<()> {
    let (server, mut client) = SHARED.database("telling")?;
    client.batch_execute(
        "CREATE TABLE head (chain text, block int);
         SELECT lease_guard('head', lease_column => 'chain', prefix => 'far:', mode => 'newest');
         CREATE TABLE many AS SELECT FROM lease_acquire_many(
             ARRAY(SELECT 'many:' || n FROM generate_series(1, 65) AS n), 'a', '1 hour')",
    )?;
    present(&mut client, "far:a", 9)?;
    refused(client.batch_execute("INSERT INTO head VALUES ('a', 1)"), "55000")?;
    grant(&mut client, "other", "b")?;
    let mut taker = server.connect("telling")?;
    taker.batch_execute("BEGIN; SELECT lease_takeover('other', 'c', '1 hour')")?;
    client.batch_execute(
        "BEGIN; INSERT INTO many DEFAULT VALUES;
         SELECT lease_fence_check(name, token) FROM lease.status WHERE name LIKE 'many:%'",
    )?;
    refused(client.batch_execute("COMMIT"), "55000")?;
    taker.batch_execute("ROLLBACK")?;
    let log = server.log();
    for told in ["at the statement: lease \"far:a\", token 9", "at the commit: lease \"many:"] {
        assert_eq!(log.matches(&format!("refused {told}")).count(), 1, "{told}");
    }
    Ok(())
}
