//! The example workers, in Python and in Rust, do their work: each node's wake-up is answered once,
//! a worker that is killed is followed, and one that is told to stop hands everything back. The sink
//! goes on from its predecessor's cursor, without a gap or a double.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use postgres::Client;
use rig::{Server, home, process, wait_until};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use system_tests::program::Program;
use system_tests::shared::database;
use system_tests::watch::PATIENCE;

const TTL: &str = "1.5";

fn example(file: &str) -> Result<PathBuf> {
    Ok(home::checkout()?.join("examples/worker-python").join(file))
}

/// Python with psycopg, in a virtual environment of this checkout.
fn python() -> Result<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = MAKING.lock().map_err(|_| anyhow::anyhow!("another test failed"))?;
    let venv = home::target()?.join("venv");
    let python = venv.join("bin/python");
    let psycopg = Command::new(&python).args(["-c", "import psycopg"]).output();
    if psycopg.is_ok_and(|output| output.status.success()) {
        return Ok(python);
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).status();
    ensure!(made.is_ok_and(|status| status.success()), "python3 -m venv does not work here");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    let installed = pip.arg(example("requirements.txt")?).status()?;
    ensure!(installed.success(), "pip cannot install psycopg, without which this cannot be tested");
    Ok(python)
}

/// The Rust worker, which is built when it is first asked for.
fn rust() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "worker-rust"]).current_dir(home::checkout()?);
    ensure!(cargo.status()?.success(), "worker-rust does not build");
    Ok(home::target()?.join("debug/worker-rust"))
}

const NODES: i64 = 200;
/// As many as tables.sql has tables.
const SHARDS: i64 = 16;

struct Fleet {
    server: Server,
    superuser: Client,
}

impl Fleet {
    fn new(name: &str) -> Result<Self> {
        let server = Server::start(name)?;
        let mut superuser = database(&server, "jobs")?;
        superuser.batch_execute(&std::fs::read_to_string(example("tables.sql")?)?)?;
        Ok(Self { server, superuser })
    }

    fn start(&self, command: &mut Command, name: &str) -> Result<Program> {
        command.args([&self.server.conn_string("jobs"), name, TTL]);
        Program::start(command.env("PYTHONUNBUFFERED", "1"), &self.server)
    }

    fn count(&mut self, query: &str) -> Result<i64> {
        Ok(self.superuser.query_one(query, &[])?.get(0))
    }

    fn until(&mut self, query: &str, wanted: i64) -> Result<()> {
        wait_until(&format!("{wanted} from {query}"), PATIENCE, || Ok(self.count(query)? == wanted))
    }

    fn wake_all(&mut self) -> Result<()> {
        let wake = "SELECT lease_work_add('nodes', n, shard => lease_shard_of(n, $1::int))
                    FROM (SELECT 'node-' || n FROM generate_series(1, $2::bigint) AS n) AS node (n)";
        self.superuser.execute(wake, &[&(SHARDS as i32), &NODES])?;
        Ok(())
    }

    /// Waits until each node was looked at this often, and none more often.
    fn looked_at(&mut self, times: i64) -> Result<()> {
        self.until(&format!("SELECT count(*) FROM node WHERE looks >= {times}"), NODES)?;
        let more = format!("SELECT count(*) FROM node WHERE looks > {times}");
        assert_eq!(self.count(&more)?, 0, "a node was looked at twice");
        Ok(())
    }

    fn round(&mut self, times: i64) -> Result<()> {
        self.wake_all()?;
        self.looked_at(times)
    }

    /// Waits until this many shards are held by the workers of this name.
    fn until_held(&mut self, worker: &str, shards: i64) -> Result<()> {
        let held = "SELECT count(*) FROM lease.status WHERE name LIKE 'shard:%' AND state = 'held'";
        self.until(&format!("{held} AND owner LIKE '{worker}#%'"), shards)
    }

    /// Somebody else takes a shard: its worker ends the work on it, and goes on with the others.
    fn lose_one(&mut self, worker: &Program, times: i64) -> Result<()> {
        let take = "SELECT token FROM lease_takeover('shard:5', 'operator', '10 min')";
        let token = self.count(take)?;
        worker.says("lost shard:5")?;
        self.wake_all()?;
        let others = format!(
            "SELECT count(*) FROM node WHERE looks = {times}
                                          OR looks = {times} - 1 AND lease_shard_of(id, 16) = 5"
        );
        let waiting = "SELECT count(*) FROM lease.work_status WHERE shard <> 5";
        self.until(waiting, 0)?;
        assert_eq!(self.count(&others)?, NODES);
        let of_it = format!("SELECT count(*) FROM node_5 WHERE looks = {times} - 1");
        assert_eq!(self.count(&of_it)?, self.count("SELECT count(*) FROM node_5")?);
        self.superuser.execute("SELECT lease_release('shard:5', 'operator', $1)", &[&token])?;
        self.looked_at(times)
    }

    /// SIGTERM; what it held is a successor's on the successor's next pass.
    fn follow(&mut self, last: &Program) -> Result<()> {
        self.until("SELECT count(*) FROM lease_fleet() WHERE state IN ('live', 'silent')", 1)?;
        let pass = "SELECT count(*) FROM lease_worker_pass(
                        'dora', ttl => '1.5 s', live_for => '3 s', shards => 16)
                    WHERE change IN ('kept', 'gained')";
        assert!(self.count(pass)? < SHARDS);
        ends_when_told(last, "left ")?;
        assert_eq!(self.count(pass)?, SHARDS);
        Ok(())
    }
}

fn ends_when_told(program: &Program, said: &str) -> Result<String> {
    process::send(program.pid(), Signal::SIGTERM)?;
    program.says(said)
}

/// Two workers share the nodes. One is frozen, and finds on waking that the other has taken over; it is
/// killed; a third joins, and the second is told to stop; the third loses a shard; the server
/// restarts; the third is told to stop.
fn works(fleet: &mut Fleet, program: &dyn Fn() -> Command) -> Result<()> {
    let start = |fleet: &Fleet, name: &str| fleet.start(&mut program(), name);
    let mut alba = start(fleet, "alba")?;
    fleet.round(1)?;
    let bruno = start(fleet, "bruno")?;
    bruno.says("gained shard:")?;
    alba.says("released shard:")?;
    fleet.round(2)?;
    process::freeze(alba.pid())?;
    fleet.until_held("bruno", SHARDS)?;
    fleet.round(3)?;
    alba.thaw()?;
    alba.says("lost shard:")?;
    fleet.round(4)?;
    alba.kill9()?;
    fleet.round(5)?;
    let carla = start(fleet, "carla")?;
    carla.says("gained shard:")?;
    fleet.round(6)?;
    let left = ends_when_told(&bruno, "left ")?;
    ensure!(left != "left 0", "it had nothing to hand back");
    fleet.until_held("carla", SHARDS)?;
    fleet.round(7)?;
    fleet.lose_one(&carla, 8)?;
    fleet.server.restart()?;
    fleet.superuser = fleet.server.connect("jobs")?;
    fleet.round(9)?;
    fleet.until_held("carla", SHARDS)?;
    fleet.follow(&carla)
}

#[test]
fn the_python_worker_works() -> Result<()> {
    let python = python()?;
    let script = example("worker.py")?;
    works(&mut Fleet::new("python")?, &|| {
        let mut command = Command::new(&python);
        command.arg(&script);
        command
    })
}

#[test]
fn the_rust_worker_works() -> Result<()> {
    let program = rust()?;
    works(&mut Fleet::new("rust")?, &|| Command::new(&program))
}

/// Stops it where it keeps rows locked.
fn freeze_in_transaction(fleet: &mut Fleet, program: &Program) -> Result<()> {
    let open = "SELECT count(*) FROM pg_stat_activity
                WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL";
    wait_until("a transaction to freeze it in", PATIENCE, || {
        process::freeze(program.pid())?;
        let caught = fleet.count(open)? == 1;
        if !caught {
            program.thaw()?;
        }
        Ok(caught)
    })
}

/// Breaks if a successor began anywhere but at the saved cursor, or if a predecessor that had been
/// frozen delivered after it.
#[test]
fn the_sink_goes_on_where_its_predecessor_was() -> Result<()> {
    let python = python()?;
    let mut fleet = Fleet::new("sink")?;
    let start = |fleet: &Fleet, owner: &str| {
        fleet.start(Command::new(&python).arg(example("sink.py")?), owner)
    };
    let feed = "INSERT INTO event SELECT n, 'event ' || n FROM generate_series($1::bigint, $2::bigint) AS n";
    fleet.superuser.execute(feed, &[&1i64, &5_000i64])?;
    let first = start(&fleet, "one")?;
    first.says("took over at 0")?;
    let delivered = |fleet: &mut Fleet, by: &str| {
        fleet.count(&format!("SELECT count(*) FROM delivered WHERE by = '{by}'"))
    };
    wait_until("deliveries", PATIENCE, || Ok(delivered(&mut fleet, "one")? > 50))?;
    let second = start(&fleet, "two")?;
    freeze_in_transaction(&mut fleet, &first)?;
    second.says("took over at ")?;
    wait_until("more deliveries", PATIENCE, || Ok(delivered(&mut fleet, "two")? > 50))?;
    first.thaw()?;
    wait_until("all deliveries", PATIENCE, || {
        Ok(fleet.count("SELECT count(*) FROM delivered")? >= 5_000)
    })?;
    let runs = "SELECT count(*) = 5000 AND count(DISTINCT id) = 5000 AND
                  (SELECT max(id) FROM delivered WHERE by = 'one')
                    < (SELECT min(id) FROM delivered WHERE by = 'two') FROM delivered";
    let row = fleet.superuser.query_one(runs, &[]).context("no deliveries")?;
    assert!(row.get::<_, bool>(0), "a gap, a double, or a late delivery");
    ends_when_told(&second, "left")?;
    Ok(())
}
