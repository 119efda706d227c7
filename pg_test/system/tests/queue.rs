//! The work queue under load: the database crashes in the middle, directly and behind PgBouncer in
//! transaction mode. What was added and acknowledged is done, each key once, and everybody goes on.

use anyhow::{Context, Result, ensure};
use postgres::{Client, SimpleQueryMessage};
use rig::{Pooler, Server, wait_until};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;
use system_tests::shared::database;
use system_tests::watch::PATIENCE;

/// How a client gets to the database.
type Connect<'a> = &'a (dyn Fn() -> Result<Client> + Sync);

/// The rows that a query returns, as texts. A simple query: the pooler does not follow prepared ones.
fn rows(client: &mut Client, query: &str) -> Result<Vec<Vec<String>>, postgres::Error> {
    let text = |row: &postgres::SimpleQueryRow| {
        (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()
    };
    let messages = client.simple_query(query)?;
    Ok(messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(text(row)),
            _ => None,
        })
        .collect())
}

/// A client that connects again when it has to.
struct Patient<'a> {
    connect: Connect<'a>,
    client: Option<Client>,
}

impl Patient<'_> {
    /// What a query returns, or None where its outcome is not known: its connection broke.
    fn ask(&mut self, query: &str) -> Option<Vec<Vec<String>>> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            thread::sleep(Duration::from_millis(20));
            self.client = (self.connect)().ok();
        }
        let client = self.client.as_mut()?;
        let answer = rows(client, query).ok();
        if answer.is_none() && rows(client, "ROLLBACK").is_err() {
            self.client = None;
        }
        answer
    }
}

/// What is under way while the server crashes.
struct Load<'a> {
    connect: Connect<'a>,
    stop: AtomicBool,
    added: AtomicI64,
}

impl<'a> Load<'a> {
    fn client(&self) -> Patient<'a> {
        Patient { connect: self.connect, client: None }
    }

    /// Adds keys until told to stop, and notes those that were acknowledged, in the process and not in
    /// the database. One whose outcome is unknown is not tried again.
    fn add(&self) -> Vec<String> {
        let mut client = self.client();
        let mut acknowledged = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let key = format!("k{}", self.added.fetch_add(1, Ordering::Relaxed));
            if client.ask(&format!("SELECT lease_work_add('q', '{key}')")).is_some() {
                acknowledged.push(key);
            }
        }
        acknowledged
    }

    /// Claims, and does each key's work and ends its claim in one transaction.
    fn work(&self, worker: &str, idle: &AtomicBool) {
        let mut client = self.client();
        while !idle.load(Ordering::Relaxed) {
            let claim =
                format!("SELECT key, generation FROM lease_work_claim('q', '{worker}', 5, '1 s')");
            let claimed = client.ask(&claim).unwrap_or_default();
            if claimed.is_empty() {
                thread::sleep(Duration::from_millis(10));
            }
            for row in claimed {
                let (key, generation) = (&row[0], &row[1]);
                client.ask(&format!(
                    "BEGIN; INSERT INTO result VALUES ('{key}', '{worker}');
                     SELECT lease_work_done('q', '{key}', {generation}); COMMIT"
                ));
            }
        }
    }
}

/// Runs two adders and three workers, crashes the server in the middle, and checks what was done.
fn survives_a_crash(server: &Server, connect: Connect) -> Result<()> {
    let load = Load { connect, stop: AtomicBool::new(false), added: AtomicI64::new(0) };
    let idle = AtomicBool::new(false);
    let count = |what: &str| -> Result<i64> {
        Ok(server.connect("jobs")?.query_one(&format!("SELECT count(*) FROM {what}"), &[])?.get(0))
    };
    let done = || -> Result<i64> { Ok(count("result").unwrap_or(0)) };
    let acknowledged = thread::scope(|scope| -> Result<Vec<String>> {
        let adders: Vec<_> = (0..2).map(|_| scope.spawn(|| load.add())).collect();
        for worker in ["w1", "w2", "w3"] {
            let (load, idle) = (&load, &idle);
            scope.spawn(move || load.work(worker, idle));
        }
        let crash = || -> Result<()> {
            wait_until("work to be under way", PATIENCE, || Ok(done()? > 100))?;
            server.kill9()?;
            server.start_again()?;
            let before = done()?;
            wait_until("everybody to go on", PATIENCE, || Ok(done()? > before + 100))
        };
        let crashed = crash();
        load.stop.store(true, Ordering::Relaxed);
        let acknowledged: Vec<String> =
            adders.into_iter().flat_map(|adder| adder.join().unwrap_or_default()).collect();
        let empty = crashed.and_then(|()| {
            wait_until("the queue to be empty", PATIENCE, || Ok(count("lease.work")? == 0))
        });
        idle.store(true, Ordering::Relaxed);
        empty.map(|()| acknowledged)
    })?;
    ensure!(acknowledged.len() > 200, "only {} keys were added", acknowledged.len());
    let mut client = server.connect("jobs")?;
    let lost = "SELECT count(*) FROM unnest($1::text[]) AS k (key) WHERE NOT EXISTS
                (SELECT FROM result AS r WHERE r.key = k.key)";
    assert_eq!(client.query_one(lost, &[&acknowledged])?.get::<_, i64>(0), 0, "keys were lost");
    let twice = "SELECT count(*) FROM (SELECT FROM result GROUP BY key HAVING count(*) > 1) AS t";
    assert_eq!(client.query_one(twice, &[])?.get::<_, i64>(0), 0, "keys were done twice");
    let workers = "SELECT count(DISTINCT worker) FROM result";
    assert_eq!(client.query_one(workers, &[])?.get::<_, i64>(0), 3);
    Ok(())
}

fn server(name: &str) -> Result<Server> {
    let server = Server::start(name)?;
    database(&server, "jobs")?.batch_execute("CREATE TABLE result (key text, worker text)")?;
    Ok(server)
}

/// Breaks if an acknowledged wake-up was lost, if a claim outlived its worker's crash, or if a claim
/// was ended by somebody who no longer had it.
#[test]
fn nothing_is_lost_and_nothing_done_twice_over_a_crash() -> Result<()> {
    let server = server("queue")?;
    survives_a_crash(&server, &|| server.connect("jobs"))
}

/// Breaks if a claim, or what ends it, needed its session.
#[test]
fn nothing_is_lost_and_nothing_done_twice_behind_a_pooler() -> Result<()> {
    let server = server("pooled")?;
    let pooler = Pooler::over(&server, 3)?;
    survives_a_crash(&server, &|| pooler.connect("jobs"))
}

/// lease_drain is a procedure that commits: it works behind a pooler too, which gives it one session
/// for as long as it runs; lease_once needs no session either.
#[test]
fn draining_and_once_work_behind_a_pooler() -> Result<()> {
    let server = server("drained")?;
    let pooler = Pooler::over(&server, 1)?;
    let mut client = pooler.connect("jobs")?;
    let names = "ARRAY(SELECT 'node:' || n FROM generate_series(1, 50) AS n)";
    rows(&mut client, &format!("SELECT FROM lease_acquire_many({names}, 'gw_1', '1 h')"))?;
    rows(&mut client, "CALL lease_drain('gw_1', '200 ms')")?;
    let left = rows(&mut client, "SELECT count(*) FROM lease.status WHERE owner IS NOT NULL")?;
    assert_eq!(left, [["0"]]);
    for expected in ["t", "f"] {
        let answer = rows(&mut client, "SELECT lease_once('payout', 'today')")?;
        assert_eq!(answer.first().context("no answer")?, &[expected]);
    }
    Ok(())
}
