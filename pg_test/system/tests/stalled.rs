//! A heartbeat does not keep a worker in charge whose work hangs: the lease runs out, a successor has
//! it, and the worker's late write is refused. A worker that is slow keeps its lease as long as it
//! moves.
//!
//! The workers are processes of their own (`feed_worker`), which wait on a socket; their heartbeat is
//! a thread beside that. These tests take the seconds that they are about.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::{Server, wait_until};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use system_tests::lease::{acquire, guarded_table, notes, state};
use system_tests::program::Program;
use system_tests::shared::Shared;
use system_tests::watch::PATIENCE;

static SERVER: Shared = Shared::new();

/// What the worker reads from: it answers one question each time that the test lets it.
struct Source {
    address: SocketAddr,
    allow: Sender<()>,
}

impl Source {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (allow, allowed) = channel();
        thread::spawn(move || serve(&listener, &allowed));
        Ok(Self { address, allow })
    }

    fn answer(&self) -> Result<()> {
        Ok(self.allow.send(())?)
    }
}

fn serve(listener: &TcpListener, allowed: &Receiver<()>) -> Result<()> {
    let (mut stream, _) = listener.accept()?;
    let questions = BufReader::new(stream.try_clone()?).lines();
    for (number, question) in (1..).zip(questions) {
        question?;
        allowed.recv()?;
        writeln!(stream, "line {number}")?;
    }
    Ok(())
}

fn worker(server: &Server, database: &str, source: &Source, stall: &str) -> Result<Program> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feed_worker"));
    command.arg("a").arg(server.conn_string(database)).arg(source.address.to_string()).arg(stall);
    Program::start(&mut command, server)
}

fn count(worker: &Program, line: &str) -> usize {
    worker.said().iter().filter(|said| said.as_str() == line).count()
}

fn acquisitions(client: &mut Client) -> Result<i64> {
    let shown = "SELECT acquisitions FROM lease.status WHERE name = 'feed'";
    Ok(client.query_one(shown, &[])?.get(0))
}

/// Breaks if a renewal were taken for work, or an acquire of the worker's own got round it.
#[test]
fn a_worker_that_hangs_on_a_socket_loses_its_lease() -> Result<()> {
    let (server, mut candidate) = SERVER.database("hangs")?;
    guarded_table(&mut candidate, "feed")?;
    let source = Source::start()?;
    let worker = worker(server, "hangs", &source, "2 s")?;
    for number in 1..=3 {
        source.answer()?;
        worker.says(&format!("wrote {number}"))?;
    }
    // from here on the source says nothing, and the heartbeat goes on all the same
    wait_until("heartbeats without work", PATIENCE, || Ok(count(&worker, "renewed at 3") >= 2))?;
    let (state, token) = state(&mut candidate, "feed")?;
    ensure!(state == "held", "{state}");
    worker.says("not renewed at 3: lease \"feed\" is stalled")?;
    let bounds = "SELECT expires_at > moved_at + interval '2 s',
                      expires_at <= moved_at + interval '5 s', token FROM lease.status";
    let mut taken = None;
    wait_until("the lease to run out", PATIENCE, || {
        let row = candidate.query_one(bounds, &[])?;
        ensure!(row.get::<_, bool>(0), "the heartbeat had not kept it until then");
        ensure!(row.get::<_, bool>(1), "it was renewed after stall_after");
        ensure!(row.get::<_, i64>(2) == token, "somebody else has it");
        let answer = acquire(&mut candidate, "feed", "b", "1 hour")?;
        taken = answer.token;
        Ok(answer.status == "granted")
    })?;
    ensure!(taken.context("no token")? > token);
    // what it was waiting for comes at last: too late
    source.answer()?;
    worker.says("refused: lease \"feed\" is no longer held")?;
    worker.says("not renewed at 3: lease \"feed\" is no longer held")?;
    assert_eq!(notes(&mut candidate)?, ["a: line 1", "a: line 2", "a: line 3"]);
    Ok(())
}

/// Longer than stall_after and a ttl together.
const LINES: usize = 5;
const PACE: Duration = Duration::from_secs(2);

/// Breaks if progress did not move the time that stall_after counts from.
#[test]
fn a_slow_worker_that_moves_keeps_its_lease() -> Result<()> {
    let (server, mut candidate) = SERVER.database("slow")?;
    guarded_table(&mut candidate, "feed")?;
    let source = Source::start()?;
    let worker = worker(server, "slow", &source, "4 s")?;
    worker.says("has ")?;
    for number in 1..=LINES {
        thread::sleep(PACE);
        let answer = acquire(&mut candidate, "feed", "b", "1 hour")?;
        ensure!(answer.status == "held", "{answer:?}");
        source.answer()?;
        worker.says(&format!("wrote {number}"))?;
    }
    ensure!(acquisitions(&mut candidate)? == 1);
    ensure!(notes(&mut candidate)?.len() == LINES);
    let complaint = worker.said().into_iter().find(|line| line.contains("not renewed"));
    ensure!(complaint.is_none(), "{complaint:?}");
    Ok(())
}
