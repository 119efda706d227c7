//! Many wait for one lease: a release wakes one of them, and locks one row for it.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::Server;
use std::thread::sleep;
use std::time::{Duration, Instant};
use system_tests::lease::{grant, release};
use system_tests::program::times_slept;
use system_tests::shared::database;
use system_tests::waiter::{Waiter, queued};

#[test]
fn sixty_wait_and_one_is_woken() -> Result<()> {
    crowd(60, 20)
}

#[test]
#[ignore = "starts 500 sessions: make test-slow"]
fn five_hundred_wait_and_one_is_woken() -> Result<()> {
    crowd(500, 50)
}

/// Breaks if all woke up to see who gets it (a herd), if those who do not get it locked the row, or if
/// more than one got it.
fn crowd(count: usize, handovers: usize) -> Result<()> {
    let server = Server::builder("crowd")
        .conf(&format!("max_connections = {}", count + 20))
        .conf("autovacuum = off")
        // nobody wakes up for another reason
        .conf("client_connection_check_interval = '1 h'")
        .conf("deadlock_timeout = '10 min'")
        .start()?;
    let mut watcher = database(&server, "crowd")?;
    watcher.batch_execute("CREATE EXTENSION pg_walinspect")?;
    let mut holder = server.connect("crowd")?;
    let mut token = grant(&mut holder, "job", "holder")?;
    let mut owner = "holder".to_owned();
    let mut waiters = Vec::new();
    for number in 0..count {
        let client = server.connect("crowd")?;
        waiters.push(Waiter::queue(client, "job", &format!("w{number}"), &mut watcher)?);
    }
    assert_eq!(queued(&mut watcher)?, count as i64);
    sleep(Duration::from_millis(50));

    let asleep = slept(&waiters)?;
    let (from, began) = (wal(&mut watcher)?, Instant::now());
    let mut waiters = waiters.into_iter();
    for _ in 0..handovers {
        let released = release(&mut holder, "job", &owner, token)?;
        assert_eq!(released.status, "released");
        let (answer, client, _) = waiters.next().context("nobody is left")?.granted()?;
        holder = client;
        owner = answer.owner.context("no owner")?;
        token = answer.token.context("no token")?;
    }
    let took = began.elapsed();
    let waiters: Vec<Waiter> = waiters.collect();
    let locked = row_locks(&mut watcher, &from)?;
    ensure!(waiters.iter().all(|waiter| !waiter.has_ended()), "more than one got it");
    // the one behind the last that got it is the head by now, and looks
    let woken: Vec<u64> =
        slept(&waiters)?.iter().zip(&asleep[handovers..]).map(|(now, then)| now - then).collect();
    eprintln!(
        "{count} waiting, {handovers} handovers in {took:?}: {locked} row locks, \
         {} wake-ups of those who still wait, of which the head's {}",
        woken.iter().sum::<u64>(),
        woken[0]
    );
    // the server wakes a session that is far behind with its news, now and then one; a herd would wake
    // each of them every time
    let most = woken[1..].iter().max().context("nobody is left")?;
    ensure!(*most <= 2, "one of those who get nothing woke up {most} times");
    let all: u64 = woken[1..].iter().sum();
    ensure!(all < 3 * handovers as u64, "those who get nothing woke up {all} times");
    ensure!(woken[0] < 20, "the head woke up {} times", woken[0]);
    // one for each release, one for each grant; an attempt that comes to nothing is rare
    let (least, most) = (2 * handovers as i64, 2 * handovers as i64 + 3);
    ensure!((least..=most).contains(&locked), "{locked} row locks");
    let grants = "SELECT acquisitions FROM lease.status";
    assert_eq!(watcher.query_one(grants, &[])?.get::<_, i64>(0), 1 + handovers as i64);
    Ok(())
}

fn slept(waiters: &[Waiter]) -> Result<Vec<u64>> {
    waiters.iter().map(|waiter| times_slept(waiter.backend)).collect()
}

fn wal(client: &mut Client) -> Result<String> {
    Ok(client.query_one("SELECT pg_current_wal_insert_lsn()::text", &[])?.get(0))
}

/// How many rows have been locked since then: each leaves a record.
fn row_locks(client: &mut Client, from: &str) -> Result<i64> {
    client.batch_execute("SELECT pg_switch_wal()")?;
    let count =
        "SELECT count(*) FROM pg_get_wal_records_info($1::text::pg_lsn, pg_current_wal_flush_lsn())
                 WHERE resource_manager = 'Heap' AND record_type ~ '^LOCK'";
    Ok(client.query_one(count, &[&from])?.get(0))
}
