//! A network that is cut while the holder of a lease is in the middle of a transaction.
//!
//! The holder lives in a network namespace of its own. The server is told nothing, as nothing
//! arrives: its session stays, with what it has locked, until keepalives find out.

use super::Run;
use crate::check::{History, Violation, liveness};
use crate::clock;
use crate::crew::Crew;
use crate::dice::Dice;
use crate::history;
use crate::nemesis::{Faults, stalls};
use crate::node::{self, Node};
use crate::part::Part;
use crate::stage::{self, DATABASE};
use crate::worker::{Order, Place, Role};
use anyhow::{Context, Result, bail};
use postgres::Client;
use rig::{Server, wait_until};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const NAME: &str = "network";
const LEASES: usize = 2;
const PATIENCE: Duration = Duration::from_secs(30);

/// What finds a dead client: a question after a second, two more, and three seconds at the most for
/// what was sent and not confirmed. Sessions that are there already do not learn of a change.
const KEEPALIVES: [&str; 4] = [
    "tcp_keepalives_idle = 1",
    "tcp_keepalives_interval = 1",
    "tcp_keepalives_count = 3",
    "tcp_user_timeout = 3000",
];
/// The most that these may take, on a busy machine.
const LONGEST_SESSION: Duration = Duration::from_secs(8);

/// A namespace with one wire to the outside.
struct Namespace {
    name: String,
    wire: String,
    subnet: String,
}

impl Namespace {
    fn make() -> Result<Self> {
        sweep()?;
        let number = std::process::id();
        let subnet = format!("10.{}.{}", 200 + number % 50, (number / 50) % 250);
        let (name, wire) = (format!("pgl{number}"), format!("pglw{number}"));
        let space = Self { name: name.clone(), wire: wire.clone(), subnet: subnet.clone() };
        let far = format!("pgln{number}");
        ip(&["netns", "add", &name])?;
        ip(&["link", "add", &wire, "type", "veth", "peer", "name", &far])?;
        ip(&["link", "set", &far, "netns", &name])?;
        ip(&["addr", "add", &format!("{subnet}.1/30"), "dev", &wire])?;
        ip(&["link", "set", &wire, "up"])?;
        ip(&["-n", &name, "addr", "add", &format!("{subnet}.2/30"), "dev", &far])?;
        ip(&["-n", &name, "link", "set", &far, "up"])?;
        Ok(space)
    }

    fn cut(&self) -> Result<()> {
        ip(&["link", "set", &self.wire, "down"])
    }

    fn mend(&self) -> Result<()> {
        ip(&["link", "set", &self.wire, "up"])
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["link", "del", &self.wire]);
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// Removes what a run left that was killed.
fn sweep() -> Result<()> {
    for line in ip_says(&["netns", "list"])?.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        let maker = name.strip_prefix("pgl").and_then(|pid| pid.parse().ok());
        if let Some(pid) = maker.filter(|pid| !rig::process::alive(*pid)) {
            let _ = ip(&["link", "del", &format!("pglw{pid}")]);
            ip(&["netns", "del", name])?;
        }
    }
    Ok(())
}

fn ip(arguments: &[&str]) -> Result<()> {
    ip_says(arguments).map(drop)
}

fn ip_says(arguments: &[&str]) -> Result<String> {
    let output = Command::new("ip").args(arguments).output().context("cannot run ip")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("ip {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

struct Network<'a> {
    run: &'a Run,
    space: Namespace,
    server: Server,
    superuser: Client,
    crew: Crew,
    faults: Faults,
    dice: Dice,
    part: Part,
}

/// Does nothing, and says so, where namespaces cannot be had.
pub fn run(run: &Run) -> Result<Part> {
    std::fs::create_dir_all(&run.directory)?;
    let space = match Namespace::make() {
        Ok(space) => space,
        Err(error) => {
            let note =
                format!("SKIPPED: the cut network, as there are no namespaces here: {error:#}");
            println!("soak: {note}");
            return Ok(Part { notes: vec![note], ..Part::default() });
        }
    };
    let mut builder = stage::builder(NAME)
        .conf(&format!("listen_addresses = '127.0.0.1,{}.1'", space.subnet))
        .hba(&format!("host all all {}.0/30 trust", space.subnet));
    for line in KEEPALIVES {
        builder = builder.conf(line);
    }
    let server = builder.start()?;
    let mut superuser = stage::set_up(&server, LEASES, "current")?;
    let node = node::watch(&mut superuser, NAME, false)?;
    let crew = Crew::new(&run.directory, &server.host())?;
    let (faults, dice) = (Faults::default(), Dice::of(run.seed, NAME));
    let part = Part::default();
    Network { run, space, server, superuser, crew, faults, dice, part }.play(node)
}

impl Network<'_> {
    fn play(mut self, node: Node) -> Result<Part> {
        let began = clock::now();
        let watch = stalls::Watch::start(&self.faults);
        let end = Instant::now() + self.run.lasts;
        self.hire()?;
        let mut rounds = 0;
        while rounds < 2 || Instant::now() < end {
            self.cut(rounds % 2 == 0)?;
            rounds += 1;
        }
        sleep(Duration::from_secs(2));
        let within = (began, clock::now());
        drop(watch);
        self.crew.dismiss()?;
        self.judge(node, within)
    }

    /// A holder in the namespace, and candidates outside.
    fn hire(&mut self) -> Result<()> {
        let near = self.run.path("near");
        Place::write(&near, NAME, &self.server.conn_string(DATABASE))?;
        let far = self.run.path("far");
        let (subnet, port) = (&self.space.subnet, self.server.port());
        let address = format!("host={subnet}.1 port={port} user=postgres dbname={DATABASE}");
        Place::write(&far, NAME, &format!("{address} connect_timeout=2"))?;
        for number in 0..2 {
            let mut order = self.order(&format!("s{number}.0"), Role::Sweeper);
            order.place = near.clone();
            self.crew.hire(order)?;
        }
        let inside = ["ip", "netns", "exec", &self.space.name].map(str::to_owned);
        self.crew.through(&inside);
        let mut order = self.order("w0.0", Role::Holder);
        order.place = far;
        self.crew.hire(order)
    }

    fn order(&self, name: &str, role: Role) -> Order {
        Order {
            name: name.to_owned(),
            seed: self.run.seed,
            role,
            directory: self.run.directory.clone(),
            place: self.run.path("near"),
            resource: None,
            stop: self.run.path("stop"),
            leases: LEASES,
            pooled: false,
            prepares: false,
            settings: vec!["lock_timeout = '50 ms'".to_owned()],
            durable: true,
        }
    }

    /// Cuts the wire of a holder that is idle in a transaction in which it has written: for long, or
    /// for so short a time that its connection lives on.
    fn cut(&mut self, long: bool) -> Result<()> {
        let backend = self.catch_holder()?;
        self.space.cut()?;
        let kind = if long { "the network was cut" } else { "the network was cut for a moment" };
        let fault = self.faults.freeze(kind, "w0.0");
        let began = Instant::now();
        if long {
            self.wait_until_gone(backend, began)?;
            sleep(self.dice.millis(0, 1_000));
        } else {
            sleep(self.dice.millis(1_300, 1_900));
        }
        self.space.mend()?;
        self.faults.heal(fault);
        self.wait_until_idle(backend)
    }

    /// Either the client has gone on, or keepalives have ended the session: the next cut is another's.
    fn wait_until_idle(&mut self, backend: i32) -> Result<()> {
        let question = "SELECT count(*) = 0 FROM pg_stat_activity
                        WHERE pid = $1 AND xact_start < clock_timestamp() - interval '1.2 s'";
        wait_until("the transaction that was cut off to end", PATIENCE, || {
            Ok(self.superuser.query_one(question, &[&backend])?.get(0))
        })
    }

    /// Its only session: one that an earlier cut has left behind must be gone.
    fn catch_holder(&mut self) -> Result<i32> {
        let question = "SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'w0.0'
                        HAVING count(*) = 1 AND bool_and(
                            state = 'idle in transaction' AND backend_xid IS NOT NULL)";
        let mut found = None;
        wait_until("the holder to be in a transaction", PATIENCE, || {
            found = self.superuser.query(question, &[])?.first().map(|row| row.get(0));
            Ok(found.is_some())
        })?;
        found.context("no holder")
    }

    fn wait_until_gone(&mut self, backend: i32, began: Instant) -> Result<()> {
        let question = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1";
        wait_until("keepalives to end the session", PATIENCE, || {
            Ok(self.superuser.query_one(question, &[&backend])?.get(0))
        })?;
        let took = began.elapsed();
        let key = "the network was cut: until its session is gone".to_owned();
        self.part.takeover_times.entry(key).or_default().push(clock::micros(took));
        if took > LONGEST_SESSION {
            let what = format!("a session that was cut off was there for {took:.1?}");
            self.part.violations.push(Violation::new("keepalives end a dead session", what));
        }
        Ok(())
    }

    fn judge(mut self, mut node: Node, within: liveness::Span) -> Result<Part> {
        node.read(&mut self.superuser)?;
        let faults = self.faults.all();
        let history = History {
            operations: history::read(&self.run.directory)?,
            nodes: vec![node],
            deaths: self.crew.deaths.clone(),
            ..History::default()
        };
        let mut part = Part::of(&history, &faults);
        let node = &history.nodes[0];
        part.violations.extend(crate::check::survival::present(&history, NAME, node));
        part.violations.extend(liveness::check(&history, within, &self.faults.in_the_way()));
        part.violations.extend(stage::broken_guards(&mut self.superuser, LEASES)?);
        part.unexplained.extend(stage::crashes(&self.server));
        part.unexplained.extend(self.crew.errors());
        part.add(self.part);
        Ok(part)
    }
}
