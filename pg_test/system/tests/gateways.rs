//! Better Compute's gateways, with 3,000 nodes: one is killed, and every node is at another one under a
//! new epoch, no command runs twice, and no node that came back is ever called unreachable.
//!
//! The arrangement is the one of docs/gateways.md, whose view this test runs, in times that are ten
//! times shorter. A node is a row; a gateway is a thread with sessions of its own.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::{Server, home, wait_until};
use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use system_tests::refusal::refused;
use system_tests::shared::database;
use system_tests::watch::PATIENCE;

const NODES: i32 = 3_000;
/// The node that does not come back.
const LOST: i32 = 1;
const GATEWAY_TTL: &str = "2 s";
const SESSION_TTL: &str = "4 s";
const GRACE: &str = "12 s";
/// What one call renews at most.
const BATCH: usize = 1_000;

struct Session {
    token: i64,
    /// Commands that the gateway has read and not yet run.
    pending: Vec<i64>,
}

/// A process that holds sessions.
struct Gateway {
    name: String,
    client: Client,
    own_token: i64,
    stop_at: Instant,
    sessions: HashMap<i32, Session>,
}

impl Gateway {
    fn start(server: &Server, name: &str) -> Result<Self> {
        let mut client = server.connect("jobs")?;
        let asked = Instant::now();
        let own = "SELECT token, extract(epoch FROM stop_after)::float8
                   FROM lease_acquire('gateway:' || $1, $1 || '/self', $2::text::interval)";
        let row = client.query_one(own, &[&name, &GATEWAY_TTL])?;
        let stop_at = asked + Duration::from_secs_f64(row.get(1));
        let name = name.to_owned();
        Ok(Self { name, client, own_token: row.get(0), stop_at, sessions: HashMap::new() })
    }

    /// A node says hello: it is here from now on, under a new epoch, and the gateway reads what is to be
    /// done for it.
    fn hello(&mut self, node: i32) -> Result<i64> {
        let take = "SELECT token FROM lease_takeover('node:' || $1::int, $2, $3::text::interval)";
        let token: i64 = self.client.query_one(take, &[&node, &self.name, &SESSION_TTL])?.get(0);
        let todo = "SELECT id FROM command WHERE node = $1 AND NOT done";
        let pending = self.client.query(todo, &[&node])?.iter().map(|row| row.get(0)).collect();
        self.sessions.insert(node, Session { token, pending });
        Ok(token)
    }

    /// Runs one command that it has read, for good or not at all. It looks at nothing but its epoch.
    fn run(&mut self, node: i32, command: i64, token: i64) -> Result<(), postgres::Error> {
        let mut transaction = self.client.transaction()?;
        let check = "SELECT lease_fence_check('node:' || $1::int, $2)";
        transaction.execute(check, &[&node, &token])?;
        transaction.execute("UPDATE command SET done = true WHERE id = $1", &[&command])?;
        transaction.execute("INSERT INTO ran VALUES ($1, $2)", &[&command, &self.name])?;
        transaction.commit()
    }

    /// Runs a command of each of its next `most` sessions that have one.
    fn work(&mut self, most: usize) -> Result<usize> {
        let next = |(node, session): (&i32, &mut Session)| {
            session.pending.pop().map(|command| (*node, command, session.token))
        };
        let batch: Vec<_> = self.sessions.iter_mut().filter_map(next).take(most).collect();
        for (node, command, token) in &batch {
            self.run(*node, *command, *token)?;
        }
        Ok(batch.len())
    }

    fn renew(&mut self) -> Result<()> {
        let asked = Instant::now();
        let own = "SELECT extract(epoch FROM stop_after)::float8
                   FROM lease_renew('gateway:' || $1, $1 || '/self', $2, $3::text::interval)";
        let row = self.client.query_one(own, &[&self.name, &self.own_token, &GATEWAY_TTL])?;
        self.stop_at = asked + Duration::from_secs_f64(row.get(0));
        let sessions: Vec<_> = self.sessions.iter().map(|(n, s)| (*n, s.token)).collect();
        for batch in sessions.chunks(BATCH) {
            let names: Vec<_> = batch.iter().map(|(node, _)| format!("node:{node}")).collect();
            let tokens: Vec<_> = batch.iter().map(|(_, token)| *token).collect();
            let many = "SELECT name FROM lease_renew_many($1, $2, $3, $4::text::interval)
                        WHERE status = 'lost'";
            let lost = self.client.query(many, &[&names, &self.name, &tokens, &SESSION_TTL])?;
            ensure!(lost.is_empty(), "{} lost a session: {lost:?}", self.name);
        }
        Ok(())
    }

    /// Takes hellos of nodes, in the order in which they come, and serves them until told to stop.
    fn serve(mut self, coming: &[i32], stop: &AtomicBool) -> Result<(Self, Instant)> {
        let (mut renewed, mut last) = (Instant::now(), Instant::now());
        let mut coming = coming.chunks(20);
        while !stop.load(Ordering::Relaxed) {
            for node in coming.next().unwrap_or_default() {
                self.hello(*node)?;
                last = Instant::now();
            }
            if renewed.elapsed() > Duration::from_millis(400) {
                self.renew()?;
                renewed = Instant::now();
            }
            if self.work(20)? == 0 && coming.len() == 0 {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok((self, last))
    }
}

/// The view of docs/gateways.md, with a shorter grace.
fn node_state() -> Result<String> {
    let page = fs::read_to_string(home::checkout()?.join("docs/gateways.md"))?;
    let view = page.split("```").find_map(|b| b.split_once("CREATE VIEW node_state"));
    let (_, rest) = view.context("docs/gateways.md has no view node_state")?;
    let body = rest.split_once(';').context("the view has no end")?.0;
    ensure!(body.contains("'120 s'"), "the view has no grace");
    Ok(format!("CREATE VIEW node_state{}", body.replace("120 s", GRACE)))
}

fn nodes(server: &Server) -> Result<Client> {
    let mut client = database(server, "jobs")?;
    client.batch_execute(&format!(
        "CREATE TABLE node (id text PRIMARY KEY);
         INSERT INTO node SELECT n FROM generate_series(1, {NODES}) AS n;
         CREATE TABLE command (id bigint PRIMARY KEY, node int, done bool NOT NULL DEFAULT false);
         INSERT INTO command SELECT n, n FROM generate_series(1, {NODES}) AS n;
         CREATE INDEX ON command (node);
         CREATE TABLE ran (command bigint, gateway text);
         {}",
        node_state()?
    ))?;
    Ok(client)
}

fn count(client: &mut Client, query: &str) -> Result<i64> {
    Ok(client.query_one(query, &[])?.get(0))
}

const UNREACHABLE: &str =
    "SELECT count(*) FROM node_state WHERE state = 'unreachable' AND id <> '1'";

/// Looks all the time whether a node that is alive is called unreachable.
fn watch(server: &Server, stop: &AtomicBool) -> Result<i64> {
    let mut client = server.connect("jobs")?;
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) {
        ensure!(count(&mut client, UNREACHABLE)? == 0, "a living node is called unreachable");
        looks += 1;
        thread::sleep(Duration::from_millis(100));
    }
    Ok(looks)
}

/// Breaks if an old epoch were let through (commands run twice), if a hello did not win at once, or if
/// a node's state followed from anything but the leases.
#[test]
fn a_killed_gateways_nodes_are_at_the_others_and_no_command_runs_twice() -> Result<()> {
    let server = Server::start("gateways")?;
    let mut client = nodes(&server)?;
    let mut dead = Gateway::start(&server, "gw_1")?;
    let homes: Vec<Vec<i32>> =
        (0..3).map(|at| (1..=NODES).filter(|node| node % 3 == (at + 1) % 3).collect()).collect();
    for node in &homes[0] {
        dead.hello(*node)?;
    }
    dead.work(100)?;
    dead.renew()?;
    // killed: nothing is released, and all that it holds in memory stays as it is
    let old: HashMap<i32, i64> = dead.sessions.iter().map(|(n, s)| (*n, s.token)).collect();
    let backend: i32 = dead.client.query_one("SELECT pg_backend_pid()", &[])?.get(0);
    client.execute("SELECT pg_terminate_backend($1)", &[&backend])?;
    let killed = Instant::now();

    // its nodes redial, each at one of the others; one does not
    let moved: Vec<i32> = homes[0].iter().copied().filter(|node| *node != LOST).collect();
    let (to_second, to_third) = moved.split_at(moved.len() / 2);
    let stop = AtomicBool::new(false);
    let (recovery, looks) = thread::scope(|scope| -> Result<(Duration, i64)> {
        let serve = |name: &'static str, own: &[i32], new: &[i32]| {
            let coming = [new, own].concat();
            let (server, stop) = (&server, &stop);
            scope.spawn(move || Gateway::start(server, name)?.serve(&coming, stop))
        };
        let others = [serve("gw_2", &homes[1], to_second), serve("gw_3", &homes[2], to_third)];
        let watcher = scope.spawn(|| watch(&server, &stop));
        let settled = settle(&mut client);
        stop.store(true, Ordering::Relaxed);
        let mut last = killed;
        for gateway in others {
            let ended = gateway.join().map_err(|_| anyhow::anyhow!("a gateway died"))?;
            let (gateway, at) = ended?;
            let worse =
                |node: &&i32| gateway.sessions.get(*node).is_some_and(|s| s.token <= old[*node]);
            ensure!(!moved.iter().any(|node| worse(&node)), "a hello without a new epoch");
            last = last.max(at);
        }
        let looks = watcher.join().map_err(|_| anyhow::anyhow!("the watcher died"))??;
        settled.map(|()| (last - killed, looks))
    })?;
    println!("{NODES} nodes at home within {:.1} s, {looks} looks", recovery.as_secs_f64());
    ensure!(looks > 10, "only {looks} looks");

    zombie_is_refused(&server, &mut dead)?;
    let twice = "SELECT count(*) FROM (SELECT FROM ran GROUP BY command HAVING count(*) > 1) AS t";
    assert_eq!(count(&mut client, twice)?, 0);
    Ok(())
}

/// All nodes but the lost one are connected and have run their command; the lost one is first
/// disconnected, then unreachable.
fn settle(client: &mut Client) -> Result<()> {
    let lost = |client: &mut Client| -> Result<String> {
        Ok(client.query_one("SELECT state FROM node_state WHERE id = '1'", &[])?.get(0))
    };
    wait_until("the lost node to be disconnected", PATIENCE, || {
        Ok(lost(client)? == "disconnected")
    })?;
    let left = format!(
        "SELECT {NODES} - 1 - count(*) FROM node_state JOIN command AS c ON c.id::text = node_state.id
         WHERE state = 'connected' AND c.done"
    );
    wait_until("all others to be connected", PATIENCE, || Ok(count(client, &left)? <= 0))?;
    wait_until("the lost node to be unreachable", PATIENCE, || Ok(lost(client)? == "unreachable"))
}

/// It comes back with all that it had in memory. It knows by itself that it must not go on; and if it
/// does, each of its sessions is refused.
fn zombie_is_refused(server: &Server, zombie: &mut Gateway) -> Result<()> {
    ensure!(Instant::now() > zombie.stop_at, "the zombie need not have stopped");
    zombie.client = server.connect("jobs")?;
    let had: Vec<(i32, i64, i64)> = zombie
        .sessions
        .iter()
        .filter(|(node, _)| **node != LOST)
        .flat_map(|(node, s)| s.pending.iter().map(|command| (*node, *command, s.token)))
        .collect();
    ensure!(had.len() > 500, "the zombie has only {} commands left", had.len());
    for (node, command, token) in had {
        refused(zombie.run(node, command, token), "55000")?;
    }
    Ok(())
}
