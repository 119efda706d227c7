//! One server, and every fault that a client, a session, a pooler, a clock or the server can have.

use super::Run;
use crate::check::{History, liveness, survival};
use crate::clock::{self, Micros};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::nemesis::clocks::Clock;
use crate::nemesis::janitor::Janitor;
use crate::nemesis::{Faults, sessions, stalls};
use crate::node::{self, Node};
use crate::part::Part;
use crate::stage::{self, DATABASE};
use crate::worker::{Order, Place, Role};
use crate::{history, nemesis};
use anyhow::Result;
use postgres::Client;
use rig::{Pooler, Server, process, wait_until};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LEASES: usize = 8;
const PATIENCE: Duration = Duration::from_secs(30);

/// The only server of this scenario.
const NAME: &str = "a";

struct Single<'a> {
    run: &'a Run,
    clock: Clock,
    server: Server,
    pooler: Pooler,
    crew: Crew,
    faults: Faults,
    dice: Dice,
}

pub fn run(run: &Run) -> Result<Part> {
    std::fs::create_dir_all(&run.directory)?;
    let clock = Clock::make(&rig::home::ensure()?)?;
    let mut builder = stage::builder("single").conf("deadlock_timeout = '10 s'");
    for (name, value) in clock.environment()? {
        builder = builder.environment(&name, &value);
    }
    let server = builder.start()?;
    let mut superuser = stage::set_up(&server, LEASES, "current")?;
    let node = node::watch(&mut superuser, NAME, false)?;
    let pooler = Pooler::over(&server, 4)?;
    let crew = Crew::new(&run.directory, &server.host())?;
    let dice = Dice::of(run.seed, "single");
    Single { run, clock, server, pooler, crew, faults: Faults::default(), dice }.play(node)
}

impl Single<'_> {
    fn play(mut self, node: Node) -> Result<Part> {
        let place = self.run.path("place");
        Place::write(&place, NAME, &self.server.conn_string(DATABASE))?;
        self.hire()?;
        let janitor = Janitor::start(&self.run.directory, &place, self.run.seed)?;
        let began = clock::now();
        let watch = stalls::Watch::start(&self.faults);
        let end = Instant::now() + self.run.lasts;
        while Instant::now() < end {
            sleep(self.dice.millis(300, 1_200));
            self.fault()?;
        }
        self.rest()?;
        let within = (began, clock::now());
        drop(watch);
        self.crew.dismiss()?;
        janitor.finish()?;
        self.judge(node, within)
    }

    fn hire(&mut self) -> Result<()> {
        let pooled = self.run.path("pooled");
        Place::write(&pooled, NAME, &self.pooler.conn_string(DATABASE))?;
        for number in 0..8 {
            let mut order = self.order(&format!("w{number}.0"), Role::Worker);
            match number {
                0 | 1 => (order.pooled, order.place) = (true, pooled.clone()),
                2 | 3 => {
                    order.durable = false;
                    order.settings = vec!["synchronous_commit = off".to_owned()];
                }
                4 => order.settings = vec!["lock_timeout = '500 ms'".to_owned()],
                _ => {}
            }
            self.crew.hire(order)?;
        }
        for number in 0..2 {
            let mut order = self.order(&format!("s{number}.0"), Role::Sweeper);
            order.settings = vec!["lock_timeout = '20 ms'".to_owned()];
            self.crew.hire(order)?;
        }
        Ok(())
    }

    fn order(&self, name: &str, role: Role) -> Order {
        Order {
            name: name.to_owned(),
            seed: self.run.seed,
            role,
            directory: self.run.directory.clone(),
            place: self.run.path("place"),
            resource: None,
            stop: self.run.path("stop"),
            leases: LEASES,
            pooled: false,
            prepares: true,
            settings: Vec::new(),
            durable: true,
        }
    }

    fn fault(&mut self) -> Result<()> {
        match self.dice.below(100) {
            0..=6 => self.kill_backend(),
            7..=12 => self.kill_server(),
            13..=27 => self.freeze_client(),
            28..=45 => self.freeze_client_in_transaction(),
            46..=55 => self.stop_backend(),
            56..=66 => self.signal_backend("a session was terminated", "pg_terminate_backend"),
            67..=76 => self.signal_backend("a statement was cancelled", "pg_cancel_backend"),
            77..=82 => self.restart_pooler(),
            83..=90 => self.jump(),
            _ => self.kill_client(),
        }
    }

    /// A connection of the test's own, once there is one to be had.
    fn superuser(&self) -> Result<Client> {
        let mut found = None;
        wait_until("the server to take connections", PATIENCE, || {
            found = self.server.connect(DATABASE).ok();
            Ok(found.is_some())
        })?;
        found.ok_or_else(|| anyhow::anyhow!("no connection"))
    }

    fn kill_backend(&mut self) -> Result<()> {
        let mut client = self.superuser()?;
        let Some(victim) = sessions::any(&mut client, &mut self.dice, None)? else { return Ok(()) };
        let fault = self.faults.begin("a backend was killed (-9)", None, true);
        process::send(victim.pid, nix::sys::signal::Signal::SIGKILL)?;
        wait_until("the server to notice", PATIENCE, || {
            Ok(client.batch_execute("SELECT 1").is_err())
        })?;
        self.superuser()?;
        self.faults.heal(fault);
        Ok(())
    }

    fn kill_server(&mut self) -> Result<()> {
        let fault = self.faults.begin("the server was killed (-9)", None, true);
        self.server.kill9()?;
        self.server.start_again()?;
        self.superuser()?;
        self.faults.heal(fault);
        Ok(())
    }

    fn any_client(&mut self) -> Option<(String, i32)> {
        let mut names = self.crew.names();
        names.retain(|name| name.starts_with('w'));
        let name = names.get(self.dice.below(names.len()))?.clone();
        let pid = self.crew.pid(&name)?;
        Some((name, pid))
    }

    fn freeze_client(&mut self) -> Result<()> {
        let Some((name, pid)) = self.any_client() else { return Ok(()) };
        let fault = self.faults.freeze("a client was frozen", &name);
        sessions::freeze(pid, self.dice.millis(500, 4_000), &self.faults, fault)
    }

    /// Its session waits for the next statement, with a transaction open; it goes on long after the
    /// lease has gone to another.
    fn freeze_client_in_transaction(&mut self) -> Result<()> {
        let mut client = self.superuser()?;
        let state = Some("idle in transaction");
        let Some(shown) = sessions::any(&mut client, &mut self.dice, state)? else { return Ok(()) };
        let Some(pid) = self.crew.pid(&shown.client) else { return Ok(()) };
        process::freeze(pid)?;
        let caught = sessions::state(&mut client, shown.pid)?.as_deref() == state;
        let kind =
            if caught { "a client was frozen in a transaction" } else { "a client was frozen" };
        let fault = self.faults.freeze(kind, &shown.client);
        sessions::freeze(pid, self.dice.millis(2_500, 5_000), &self.faults, fault)
    }

    /// In the way if it was in the middle of a statement, which may be its commit.
    fn stop_backend(&mut self) -> Result<()> {
        let mut client = self.superuser()?;
        let Some(shown) = sessions::any(&mut client, &mut self.dice, None)? else { return Ok(()) };
        let fault = self.faults.begin("a backend was stopped", None, true);
        sessions::freeze(shown.pid, self.dice.millis(500, 3_000), &self.faults, fault)?;
        let state = sessions::state(&mut client, shown.pid)?.unwrap_or_default();
        if state.starts_with("idle") {
            self.faults.not_in_the_way(fault);
        }
        Ok(())
    }

    fn signal_backend(&mut self, kind: &'static str, function: &str) -> Result<()> {
        let mut client = self.superuser()?;
        let Some(shown) = sessions::any(&mut client, &mut self.dice, None)? else { return Ok(()) };
        self.faults.begin(kind, None, false);
        client.execute(&format!("SELECT {function}($1)"), &[&shown.pid])?;
        Ok(())
    }

    fn restart_pooler(&mut self) -> Result<()> {
        self.faults.begin("the pooler was killed", None, false);
        self.pooler.restart()
    }

    fn jump(&mut self) -> Result<()> {
        let seconds = [0, 3_600, -3_600, 5, -5][self.dice.below(5)];
        self.faults.begin(nemesis::JUMP, None, false);
        self.clock.jump(seconds)
    }

    fn kill_client(&mut self) -> Result<()> {
        let Some((name, _)) = self.any_client() else { return Ok(()) };
        self.faults.begin("a client was killed (-9)", Some(&name), false);
        self.crew.kill(&name)
    }

    /// Everything is healed; the clients go on for a while, and the leases find new holders.
    fn rest(&mut self) -> Result<()> {
        wait_until("everybody to be thawed", PATIENCE, || Ok(self.faults.all_healed()))?;
        sleep(Duration::from_secs(4));
        self.superuser().map(drop)
    }

    fn judge(self, mut node: Node, within: (Micros, Micros)) -> Result<Part> {
        let mut client = self.superuser()?;
        node.read(&mut client)?;
        let faults = self.faults.all();
        std::fs::write(self.run.path("faults.json"), serde_json::to_string_pretty(&faults)?)?;
        let history = History {
            operations: history::read(&self.run.directory)?,
            nodes: vec![node],
            jumps: self.faults.when(nemesis::JUMP),
            deaths: self.crew.deaths.clone(),
            ..History::default()
        };
        let mut part = Part::of(&history, &faults);
        let node = &history.nodes[0];
        part.violations.extend(survival::present(&history, NAME, node));
        part.violations.extend(liveness::check(&history, within, &self.faults.in_the_way()));
        let careless = survival::lost(&history, &[NAME], node).careless;
        part.lost.insert("writes with synchronous_commit off, in a crash".to_owned(), careless);
        part.violations.extend(stage::broken_guards(&mut client, LEASES)?);
        part.unexplained.extend(stage::crashes(&self.server));
        part.unexplained.extend(self.crew.errors());
        Ok(part)
    }
}
