//! pg_lease on a Patroni cluster of three, on loopback: three workers, of which one has the lease;
//! the leader is killed, comes back, and hands over as planned; with synchronous_mode and without.
//!
//! Ends with status 1 if a token was granted twice or out of order, a refused write is there, a stale
//! write was committed, or, with synchronous_mode, an acknowledged write is missing.

mod cluster;
mod history;
mod node;
mod worker;

use anyhow::{Context, Result};
use cluster::{Cluster, PATIENCE};
use history::History;
use rig::wait_until;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Instant;
use worker::Worker;

const WORKERS: usize = 3;
/// How much is to be written before a fault, and after it.
const WRITES: usize = 100;

fn main() -> ExitCode {
    match [false, true].map(run) {
        [Ok(true), Ok(true)] => ExitCode::SUCCESS,
        outcomes => {
            for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
                eprintln!("patroni: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

/// One cluster. Whether all is well.
fn run(synchronous: bool) -> Result<bool> {
    println!("\n== synchronous_mode: {} ==", if synchronous { "on" } else { "off" });
    let mut cluster = Cluster::start(synchronous)?;
    cluster.connect("postgres")?.batch_execute("CREATE DATABASE jobs")?;
    cluster.connect("jobs")?.batch_execute(
        "CREATE EXTENSION pg_lease;
         CREATE TABLE work (id bigint PRIMARY KEY, token bigint, owner text);
         SELECT lease_guard('work', 'job')",
    )?;
    cluster.wait_until_whole()?;
    let (history, ids, stop) = (History::default(), AtomicI64::new(1), AtomicBool::new(false));
    let url = cluster.url("jobs");
    let played = thread::scope(|scope| {
        for number in 1..=WORKERS {
            let owner = format!("worker-{number}");
            let worker =
                Worker { owner, url: url.clone(), history: &history, ids: &ids, stop: &stop };
            scope.spawn(move || worker.run());
        }
        let played = play(&mut cluster, &history);
        stop.store(true, Ordering::Relaxed);
        played
    });
    played.with_context(|| cluster.logs())?;
    report(&cluster, &history, synchronous)
}

fn play(cluster: &mut Cluster, history: &History) -> Result<()> {
    println!("{:<32}{:>10}  {:<32}", "fault", "no writer", "newest token before, after");
    some_writes(history)?;
    let old = cluster.leader()?;
    fault("leader killed -9", history, || {
        cluster.nodes[old].kill9()?;
        cluster.wait_for_another_leader(old).map(drop)
    })?;
    fault("old leader comes back", history, || {
        cluster.nodes[old].start()?;
        cluster.wait_until_whole()
    })?;
    let from = cluster.leader()?;
    let to = cluster.successor()?;
    fault("planned switchover", history, || {
        cluster.switch_over(from, to)?;
        cluster.wait_for_another_leader(from)?;
        cluster.wait_until_whole()
    })
}

fn some_writes(history: &History) -> Result<()> {
    let since = Instant::now();
    wait_until("the workers to write", PATIENCE, || Ok(history.acknowledged_since(since) >= WRITES))
}

/// Makes a fault, waits until there are writes again, and says how long there were none.
fn fault(name: &str, history: &History, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let (before, since) = (history.newest_token(), Instant::now());
    make()?;
    some_writes(history)?;
    let gap = history.longest_gap_since(since);
    println!("{name:<32}{gap:>8.1} s  {before}, {}", history.newest_token());
    Ok(())
}

fn report(cluster: &Cluster, history: &History, synchronous: bool) -> Result<bool> {
    let mut client = cluster.connect("jobs")?;
    let verdict = history.judge(&mut client)?;
    let (acknowledged, refused, unknown, grants) = history.read(|told| {
        (told.acknowledged.len(), told.refused.len(), told.unknown, told.grants.len())
    });
    let version: String = client.query_one("SHOW server_version", &[])?.get(0);
    println!("PostgreSQL {version}; grants: {grants}");
    println!("writes acknowledged: {acknowledged}, lost: {}", verdict.lost);
    println!("writes refused: {refused}, unknown: {unknown}");
    for violation in verdict.violations.iter().take(20) {
        println!("violation: {violation}");
    }
    println!("violations: {}", verdict.violations.len());
    Ok(verdict.violations.is_empty() && !(synchronous && verdict.lost > 0))
}
