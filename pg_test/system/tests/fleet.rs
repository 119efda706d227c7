//! A fleet goes on whatever becomes of one worker: nothing is held by nobody for long, nothing by two
//! at once, and passes cost nobody a wait.
//!
//! The same at the times that it is meant for, which takes minutes, under `make test-slow`.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::{Pooler, Server, wait_until};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use system_tests::fleet::{Connect, Enqueuer, Ledger, Times, Worker, ask, pass, rows};
use system_tests::lease::{guarded_table, present, write};
use system_tests::shared::{Shared, alone, database};

static SERVER: Shared = Shared::new();

const SHARDS: usize = 256;
const SINGLETONS: &str = "singleton:sweeper,singleton:gc";
const ALL: usize = SHARDS + 2;
const SLACK: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

fn tables(client: &mut Client) -> Result<()> {
    let sql = "CREATE TABLE todo (key text PRIMARY KEY); CREATE TABLE ran (key text, worker text)";
    Ok(client.batch_execute(sql)?)
}

fn straight(database: &str) -> Result<Connect> {
    let server = SERVER.server()?;
    let database = database.to_owned();
    Ok(Arc::new(move || server.connect(&database)))
}

/// A takes everything, B starts, A's connections die while keys are added all the time.
fn failover(
    superuser: &mut Client,
    more: Client,
    connect: &Connect,
    times: Times,
    kill: Kill,
) -> Result<()> {
    let ledger = Arc::new(Ledger::default());
    let keys = Enqueuer::start(more, 400, Duration::from_millis(2));
    let a = Worker::start("a", SINGLETONS, times, connect, &ledger)?;
    wait_until("a to hold everything", PATIENCE, || Ok(a.leases().len() == ALL))?;
    wait_until("a to work", PATIENCE, || Ok(a.ran() > 20))?;
    let b = Worker::start("b", SINGLETONS, times, connect, &ledger)?;
    wait_until("b to have passed", PATIENCE, || Ok(live(superuser)? == 2))?;
    let killed = Instant::now();
    match kill {
        Kill::Backends => a.kill(superuser)?,
        Kill::Client => a.vanish()?,
    }
    let bound = times.ttl + times.renew + SLACK;
    wait_until("b to hold everything", bound, || Ok(b.leases().len() == ALL))?;
    println!("b holds all {ALL} leases {:.2} s after a was killed", killed.elapsed().as_secs_f64());
    let before = b.ran();
    wait_until("b to work on", PATIENCE, || Ok(b.ran() > before + 100))?;
    b.stop()?;
    keys.stop()?;
    ensure!(ledger.overlaps.load(Ordering::SeqCst) == 0, "a key ran on both at once");
    let by = "SELECT count(DISTINCT worker)::text FROM ran";
    ensure!(ask(superuser, by)?.as_deref() == Some("2"), "only one of them has worked");
    Ok(())
}

#[derive(Clone, Copy)]
enum Kill {
    Backends,
    Client,
}

fn live(superuser: &mut Client) -> Result<i64> {
    let live = "SELECT count(*) FROM lease_fleet() WHERE state = 'live'";
    Ok(superuser.query_one(live, &[])?.get(0))
}

fn failover_in(name: &str, times: Times) -> Result<()> {
    let (server, mut superuser) = SERVER.database(name)?;
    tables(&mut superuser)?;
    let more = server.connect(name)?;
    failover(&mut superuser, more, &straight(name)?, times, Kill::Backends)
}

/// Breaks if orphans had to wait until the dead worker is out of the live set, if a live lease could
/// be taken, or if a shard that moved could be worked on by both.
#[test]
fn a_killed_workers_leases_are_held_again_within_a_ttl_and_a_renewal() -> Result<()> {
    let _alone = alone();
    failover_in("failover", Times::divided_by(10))
}

#[test]
#[ignore = "takes half a minute: make test-slow"]
fn a_killed_workers_leases_at_the_times_of_the_seed() -> Result<()> {
    let _alone = alone();
    failover_in("failover_slow", Times::divided_by(1))
}

/// Breaks if a pass needed its session to be the same from one call to the next.
#[test]
fn a_fleet_works_through_a_pooler_in_transaction_mode() -> Result<()> {
    let _alone = alone();
    let (server, mut superuser) = SERVER.database("pooled")?;
    tables(&mut superuser)?;
    let pooler = Arc::new(Pooler::over(server, 3)?);
    let through = Arc::clone(&pooler);
    let connect: Connect = Arc::new(move || through.connect("pooled"));
    let more = pooler.connect("pooled")?;
    failover(&mut superuser, more, &connect, Times::divided_by(10), Kill::Client)
}

/// Breaks if the successors had to wait for an expiry after a worker left in good order.
#[test]
fn after_a_worker_has_left_the_next_pass_has_everything() -> Result<()> {
    let (server, mut superuser) = SERVER.database("left")?;
    tables(&mut superuser)?;
    let (times, ledger) = (Times::divided_by(1), Arc::new(Ledger::default()));
    let a = Worker::start("a", SINGLETONS, times, &straight("left")?, &ledger)?;
    wait_until("a to hold everything", PATIENCE, || Ok(a.leases().len() == ALL))?;
    let mut b = server.connect("left")?;
    let more = format!(", singletons => '{{{SINGLETONS}}}'");
    pass(&mut b, "b", times, &more)?;
    a.stop()?;
    let left = ask(&mut superuser, "SELECT lease_worker_leave('a')")?;
    let (leases, changes) = pass(&mut b, "b", times, &more)?;
    ensure!(leases.len() == ALL, "{left:?} released, then {changes:?}");
    Ok(())
}

/// Breaks if a renewal waited for the worker's own open transaction, or its commit for the renewal.
#[test]
fn a_long_batch_does_not_starve_the_renewals() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("batch")?;
    tables(&mut client)?;
    guarded_table(&mut client, "shard:7")?;
    let (times, ledger) = (Times::divided_by(10), Arc::new(Ledger::default()));
    let a = Worker::start("a", "", times, &straight("batch")?, &ledger)?;
    wait_until("a to hold all shards", PATIENCE, || Ok(a.leases().len() == SHARDS))?;
    let token = a.leases().get("shard:7").context("no shard 7")?.token;
    let mut batch = server.connect("batch")?;
    present(&mut batch, "shard:7", token)?;
    let mut open = batch.transaction()?;
    write(&mut open, "first")?;
    let end = Instant::now() + 3 * times.ttl;
    let mut rival = server.connect("batch")?;
    while Instant::now() < end {
        let tried = ask(&mut rival, "SELECT status FROM lease_acquire('shard:7', 'rival')")?;
        ensure!(tried.as_deref() == Some("held"), "{tried:?}");
        thread::sleep(times.renew / 5);
    }
    write(&mut open, "last")?;
    open.commit()?;
    let now = a.leases().get("shard:7").context("no shard 7")?.token;
    ensure!(now == token, "{now} instead of {token}");
    a.stop()
}

/// Who has each shard, once as many passes have been made as it takes.
fn settled(client: &mut Client, workers: &[String]) -> Result<BTreeMap<String, String>> {
    for _ in 0..2 {
        for worker in workers {
            pass(client, worker, Times::divided_by(1), "")?;
        }
    }
    let held = rows(client, "SELECT name, owner FROM lease.lease WHERE owner IS NOT NULL")?;
    let text = |row: &postgres::SimpleQueryRow, at| row.get(at).unwrap_or_default().to_owned();
    let held: BTreeMap<_, _> = held.iter().map(|row| (text(row, 0), text(row, 1))).collect();
    ensure!(held.len() == SHARDS, "{} shards are held", held.len());
    Ok(held)
}

/// Breaks if owners were drawn anew when the live set changes, or if a shard stayed where it was.
#[test]
fn one_worker_more_or_less_moves_its_own_shards_only() -> Result<()> {
    let (_, mut client) = SERVER.database("moves")?;
    for size in [3, 7, 20] {
        client.batch_execute("DELETE FROM lease.worker; DELETE FROM lease.lease")?;
        let mut workers: Vec<String> = (1..=size).map(|n| format!("w{n}")).collect();
        let before = settled(&mut client, &workers)?;
        workers.push("new".to_owned());
        let with_new = settled(&mut client, &workers)?;
        let moved: Vec<_> = before.iter().filter(|(shard, w)| with_new[*shard] != **w).collect();
        ensure!(moved.iter().all(|(shard, _)| with_new[*shard] == "new"), "moved between others");
        let share = SHARDS / (size + 1);
        ensure!((share / 3..share * 2).contains(&moved.len()), "{} of {share}", moved.len());
        println!("{size} workers and one more: {} shards moved, evenly {share}", moved.len());
        let gone = workers.remove(0);
        client.batch_execute(&format!("SELECT lease_worker_leave('{gone}')"))?;
        let without = settled(&mut client, &workers)?;
        let others = with_new.iter().filter(|(_, worker)| **worker != gone);
        ensure!(others.clone().all(|(shard, w)| without[shard] == *w), "others' shards moved");
    }
    Ok(())
}

const WORKERS: usize = 50;
/// How long it takes fifty workers to start and to share the shards.
const SETTLING: Duration = Duration::from_secs(5);
const FLEETS: [&str; 3] = ["controllers", "scheduler", "sweepers"];

/// One worker of each fleet passes every second; how long each pass took.
fn pass_every_second(mut client: Client, number: usize, end: Instant) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    let times = Times::divided_by(1);
    thread::sleep(Duration::from_millis(1_000 * number as u64 / WORKERS as u64));
    while Instant::now() < end {
        let second = Instant::now() + Duration::from_secs(1);
        for fleet in FLEETS {
            let began = Instant::now();
            pass(&mut client, &format!("w{number}"), times, &format!(", fleet => '{fleet}'"))?;
            took.push(began.elapsed());
        }
        thread::sleep(second.saturating_duration_since(Instant::now()));
    }
    Ok(took)
}

fn crowd(name: &str, seconds: u64) -> Result<()> {
    let server = Server::start(name)?;
    let mut client = database(&server, name)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut threads = Vec::new();
    let before = counters(&mut client)?;
    for number in 0..WORKERS {
        let session = server.connect(name)?;
        threads.push(thread::spawn(move || pass_every_second(session, number, end)));
    }
    thread::sleep(SETTLING);
    let settled = updates(&mut client)?;
    let mut took = Vec::new();
    for thread in threads {
        took.extend(thread.join().map_err(|_| anyhow::anyhow!("a worker died"))??);
    }
    took.sort();
    let ms = |part: usize| took[(took.len() - 1) * part / 1_000].as_secs_f64() * 1_000.0;
    let (half, most, worst) = (ms(500), ms(990), ms(1_000));
    println!(
        "{} passes of {WORKERS} workers x {} fleets x {SHARDS} shards in {seconds} s: p50 {half:.1} ms, p99 {most:.1} ms, worst {worst:.1} ms",
        took.len(),
        FLEETS.len()
    );
    let after = counters(&mut client)?;
    ensure!(before == after, "deadlocks and multixacts: {before:?}, then {after:?}");
    heap_only(&settled, &updates(&mut client)?)?;
    let held = ask(
        &mut client,
        "SELECT sum(shards) FROM unnest('{controllers,scheduler,sweepers}'::text[]) f, lease_fleet(f)",
    )?;
    ensure!(held.as_deref() == Some("768"), "{held:?} shards are held");
    Ok(())
}

/// Deadlocks, and the next multixact.
fn counters(client: &mut Client) -> Result<(Option<String>, Option<String>)> {
    client.batch_execute("CHECKPOINT")?;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let multixact = "SELECT next_multixact_id FROM pg_control_checkpoint()";
    Ok((ask(client, deadlocks)?, ask(client, multixact)?))
}

/// Updates of lease.lease and of lease.worker, and how many of them were heap-only.
fn updates(client: &mut Client) -> Result<[(i64, i64); 2]> {
    let counted = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
                   WHERE schemaname = 'lease' AND relname = '%'";
    let of = |client: &mut Client, table: &str| -> Result<(i64, i64)> {
        let row = rows(client, &counted.replace('%', table))?.pop().context("no such table")?;
        let number = |at| row.get(at).unwrap_or_default().parse::<i64>();
        Ok((number(0)?, number(1)?))
    };
    Ok([of(client, "lease")?, of(client, "worker")?])
}

/// Once every worker has its shards. (While fifty workers start within a second, pages fill up with
/// versions that somebody may still see, and some rows move.)
fn heap_only(settled: &[(i64, i64); 2], end: &[(i64, i64); 2]) -> Result<()> {
    for (table, (before, after)) in ["lease", "worker"].iter().zip(settled.iter().zip(end)) {
        let (all, heap_only) = (after.0 - before.0, after.1 - before.1);
        println!(
            "lease.{table}: {heap_only} of {all} updates heap-only, {} of {} with the start",
            after.1, after.0
        );
        ensure!(all > 100 && all == heap_only, "{all} updates, {heap_only} of them heap-only");
    }
    Ok(())
}

/// Breaks if passes waited for each other in a circle, locked rows in shares, or changed indexed
/// columns.
#[test]
fn fifty_workers_in_three_fleets_pass_every_second() -> Result<()> {
    let _alone = alone();
    crowd("crowd", 12)
}

#[test]
#[ignore = "takes a minute: make test-slow"]
fn fifty_workers_in_three_fleets_for_a_minute() -> Result<()> {
    let _alone = alone();
    crowd("crowd_slow", 60)
}
