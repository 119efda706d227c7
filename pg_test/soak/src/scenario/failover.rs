//! A primary, a standby that takes over, and a resource on a third server that outlives them all.
//!
//! Round by round: the standby is cut off, the primary goes on granting, is killed, the standby is
//! promoted, and the old primary comes back beside it, with clients that have not noticed. With an
//! asynchronous standby the last acknowledgements are lost. With a synchronous one nothing is, but
//! commits wait, and a client whose wait is cancelled has to take the answer as unknown.

use super::Run;
use crate::check::liveness::{self, Span};
use crate::check::{History, Violation, survival};
use crate::clock;
use crate::crew::Crew;
use crate::dice::Dice;
use crate::history::{self, Operation};
use crate::nemesis::{Faults, stalls};
use crate::node::{self, Node};
use crate::part::Part;
use crate::stage::{self, DATABASE};
use crate::worker::{Order, Place, Role};
use anyhow::{Context, Result};
use rig::Server;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

const LEASES: usize = 4;
const RESOURCE: &str = "resource";
/// What an old primary's name ends with once it has come back.
const BACK: &str = "-back";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standby {
    Asynchronous,
    Synchronous,
}

struct Failover<'a> {
    run: &'a Run,
    kind: Standby,
    primary: Server,
    resource: Server,
    crew: Crew,
    faults: Faults,
    dice: Dice,
    nodes: Vec<Node>,
    parents: BTreeMap<String, String>,
    round: usize,
    unexplained: Vec<String>,
}

pub fn run(run: &Run, kind: Standby) -> Result<Part> {
    std::fs::create_dir_all(&run.directory)?;
    let resource = stage::builder(RESOURCE).start()?;
    let mut client = stage::set_up(&resource, LEASES, "newest")?;
    let far = node::watch(&mut client, RESOURCE, true)?;
    let primary = stage::builder("p0").start()?;
    let mut client = stage::set_up(&primary, LEASES, "current")?;
    let near = node::watch(&mut client, &server_name(kind, 0), false)?;
    let crew = Crew::new(&run.directory, &resource.host())?;
    let failover = Failover {
        run,
        kind,
        primary,
        resource,
        crew,
        faults: Faults::default(),
        dice: Dice::of(run.seed, &format!("{kind:?}")),
        nodes: vec![near],
        parents: BTreeMap::new(),
        round: 0,
        unexplained: Vec::new(),
    };
    failover.play(far)
}

/// What a primary is called in the histories: the first, the second…
fn server_name(kind: Standby, number: usize) -> String {
    match kind {
        Standby::Asynchronous => format!("async-{number}"),
        Standby::Synchronous => format!("sync-{number}"),
    }
}

impl Failover<'_> {
    fn play(mut self, mut far: Node) -> Result<Part> {
        let end = Instant::now() + self.run.lasts;
        self.point("place", 0, &self.primary)?;
        self.point("zombies", 0, &self.primary)?;
        let far_place = self.run.path("far");
        Place::write(&far_place, RESOURCE, &self.resource.conn_string(DATABASE))?;
        self.hire(&far_place)?;
        let began = clock::now();
        let watch = stalls::Watch::start(&self.faults);
        while self.round == 0 || Instant::now() < end {
            self.fail_over()?;
        }
        let within = (began, clock::now());
        drop(watch);
        self.crew.dismiss()?;
        let round = self.round;
        self.nodes[round].read(&mut self.primary.connect(DATABASE)?)?;
        far.read(&mut self.resource.connect(DATABASE)?)?;
        self.judge(far, within)
    }

    /// Sends the clients that follow this file to a server.
    fn point(&self, file: &str, number: usize, server: &Server) -> Result<()> {
        let name = server_name(self.kind, number);
        Place::write(&self.run.path(file), &name, &server.conn_string(DATABASE))
    }

    fn hire(&mut self, far: &Path) -> Result<()> {
        for number in 0..6 {
            let place = if number < 2 { "zombies" } else { "place" };
            let mut order = self.order(&format!("w{number}.0"), place, Role::Worker);
            order.resource = Some(far.to_path_buf());
            if number == 3 || number == 4 {
                let level = if number == 3 { "off" } else { "local" };
                order.durable = false;
                order.settings = vec![format!("synchronous_commit = {level}")];
            }
            self.crew.hire(order)?;
        }
        self.crew.hire(self.order("s0.0", "place", Role::Sweeper))
    }

    fn order(&self, name: &str, place: &str, role: Role) -> Order {
        Order {
            name: name.to_owned(),
            seed: self.run.seed,
            role,
            directory: self.run.directory.clone(),
            place: self.run.path(place),
            resource: None,
            stop: self.run.path("stop"),
            leases: LEASES,
            pooled: false,
            prepares: false,
            settings: vec!["lock_timeout = '300 ms'".to_owned()],
            durable: true,
        }
    }

    fn fail_over(&mut self) -> Result<()> {
        let next = self.round + 1;
        let standby = self.follow(next)?;
        sleep(self.dice.millis(1_000, 2_500));
        stage::cut_off(&standby)?;
        let commits_wait = self.kind == Standby::Synchronous;
        let cut = self.faults.begin("the standby was cut off", None, commits_wait);
        match self.kind {
            Standby::Asynchronous => sleep(self.dice.millis(300, 1_500)),
            Standby::Synchronous => self.disturb_waits()?,
        }
        let fault =
            self.faults.begin("the primary was killed (-9), its standby promoted", None, true);
        self.faults.heal(cut);
        self.primary.kill9()?;
        standby.promote()?;
        // as failover managers do: it would wait for a standby that it has not got
        stage::name_standby(&standby, "")?;
        let mut client = standby.connect(DATABASE)?;
        let node = node::watch(&mut client, &server_name(self.kind, next), false)?;
        self.parents.insert(node.server.clone(), server_name(self.kind, self.round));
        self.nodes.push(node);
        self.point("place", next, &standby)?;
        self.faults.heal(fault);
        self.come_back(next, &standby)?;
        self.primary = standby;
        self.round = next;
        Ok(())
    }

    /// A standby of the present primary, in step with it.
    fn follow(&self, number: usize) -> Result<Server> {
        let builder = stage::builder(&format!("p{number}")).application_name("follower");
        let standby = builder.start_standby_of(&self.primary)?;
        self.primary.wait_for_replay(&standby)?;
        if self.kind == Standby::Synchronous {
            stage::wait_for_standby(&self.primary, "follower")?;
        }
        Ok(standby)
    }

    /// Commits wait for the standby. Some waits are cancelled, some sessions are terminated.
    fn disturb_waits(&mut self) -> Result<()> {
        let mut client = self.primary.connect(DATABASE)?;
        let end = Instant::now() + self.dice.millis(1_000, 2_000);
        while Instant::now() < end {
            sleep(self.dice.millis(50, 200));
            let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            let rows = client.query(waiting, &[])?;
            let Some(row) = rows.get(self.dice.below(rows.len())) else { continue };
            let (kind, function) = match self.dice.chance(75) {
                true => ("a wait for the standby was cancelled", "pg_cancel_backend"),
                false => {
                    ("a session that waits for the standby was terminated", "pg_terminate_backend")
                }
            };
            self.faults.begin(kind, None, false);
            client.execute(&format!("SELECT {function}($1)"), &[&row.get::<_, i32>(0)])?;
        }
        Ok(())
    }

    /// The old primary comes back for a while, with the clients that follow it. Then it is read, and
    /// thrown away.
    fn come_back(&mut self, next: usize, standby: &Server) -> Result<()> {
        let (old, zombie) = (self.round, format!("{}{BACK}", server_name(self.kind, self.round)));
        Place::write(&self.run.path("zombies"), &zombie, &self.primary.conn_string(DATABASE))?;
        self.faults.begin("the old primary came back", None, false);
        self.primary.start_again()?;
        self.parents.insert(zombie, server_name(self.kind, old));
        sleep(self.dice.millis(1_500, 2_500));
        self.point("zombies", next, standby)?;
        let mut client = self.primary.connect(DATABASE)?;
        self.nodes[old].read(&mut client).context("the old primary's history")?;
        self.unexplained.extend(stage::crashes(&self.primary));
        self.primary.kill9()
    }

    fn guards(&self) -> Result<Vec<Violation>> {
        let mut found = Vec::new();
        for server in [&self.primary, &self.resource] {
            found.extend(stage::broken_guards(&mut server.connect(DATABASE)?, LEASES)?);
        }
        Ok(found)
    }

    fn judge(mut self, far: Node, within: Span) -> Result<Part> {
        self.nodes.push(far);
        let faults = self.faults.all();
        std::fs::write(self.run.path("faults.json"), serde_json::to_string_pretty(&faults)?)?;
        let history = History {
            operations: history::read(&self.run.directory)?,
            nodes: std::mem::take(&mut self.nodes),
            parents: std::mem::take(&mut self.parents),
            deaths: self.crew.deaths.clone(),
            ..History::default()
        };
        let mut part = Part::of(&history, &faults);
        let far = history.nodes.last().context("no resource")?;
        part.violations.extend(survival::present(&history, RESOURCE, far));
        for pair in history.nodes[..=self.round].windows(2) {
            outlived(self.kind, &history, &pair[0], &pair[1], &mut part);
        }
        part.violations.extend(self.guards()?);
        let spans = self.faults.in_the_way();
        part.violations.extend(liveness::check(&of_primaries(&history), within, &spans));
        let last = &history.nodes[self.round];
        part.violations.extend(survival::present(&history, &last.server, last));
        for server in [&self.primary, &self.resource] {
            part.unexplained.extend(stage::crashes(server));
        }
        part.unexplained.extend(self.unexplained);
        part.unexplained.extend(self.crew.errors());
        part.notes.push(format!(
            "{:?} standby: {} failovers in {:.0} s",
            self.kind,
            self.round,
            span(&history)
        ));
        Ok(part)
    }
}

/// What the old primary had acknowledged, on the new one.
fn outlived(kind: Standby, history: &History, old: &Node, new: &Node, part: &mut Part) {
    match kind {
        Standby::Synchronous => {
            part.violations.extend(survival::present(history, &old.server, new));
        }
        Standby::Asynchronous => {
            let lost = survival::lost(history, &[&old.server], new);
            let mut count = |what: &str, n| *part.lost.entry(what.to_owned()).or_default() += n;
            count("changes of ownership, asynchronous standby", lost.grants.len());
            count("writes, asynchronous standby", lost.writes.len() + lost.careless);
        }
    }
}

/// Without what was done on old primaries that came back, and on the resource.
fn of_primaries(history: &History) -> History {
    let theirs = |o: &&Operation| !o.server.ends_with(BACK) && o.server != RESOURCE;
    let operations = history.operations.iter().filter(theirs).cloned().collect();
    History { operations, deaths: history.deaths.clone(), ..History::default() }
}

fn span(history: &History) -> f64 {
    let first = history.operations.iter().map(|o| o.asked_at).min().unwrap_or_default();
    let last = history.operations.iter().filter_map(|o| o.ended_at()).max().unwrap_or_default();
    clock::seconds(last - first)
}
