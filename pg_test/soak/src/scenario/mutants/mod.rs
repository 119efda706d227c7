//! Ways to break the extension, each with a short story in which it must be noticed. The checks are
//! those of all scenarios, and each story is told to the whole extension too, which must pass.

mod actor;
mod stories;

use super::Run;
use crate::check::{History, Violation, survival};
use crate::history;
use crate::node::{self, Node};
use crate::part::Part;
use crate::stage;
use crate::worker::Place;
use actor::Actor;
use anyhow::{Context, Result, ensure};
use rig::Server;
use std::collections::BTreeMap;
use std::path::PathBuf;

type Story = fn(&Stage) -> Result<()>;

/// The mutants, by the name that `src/mutant.rs` gives them, and what is told to find them.
const STORIES: [(&str, Story); 8] = [
    ("snapshot", stories::late_commit_under_a_snapshot),
    ("commit_check", stories::late_commit),
    ("pre_prepare", stories::late_prepare),
    ("lock_mode", stories::takeover_during_a_commit),
    ("deaf", stories::late_commit),
    ("durable_commit", stories::crash_after_a_grant),
    ("incarnation", stories::grants_lost_by_a_failover),
    ("early_expiry", stories::grant_after_a_wait),
];

/// What a standby is called once it is promoted.
const PROMOTED: &str = "promoted";

/// Where a story is played: a database of its own.
pub struct Stage<'a> {
    server: &'a Server,
    database: String,
    directory: PathBuf,
}

impl Stage<'_> {
    fn place(&self) -> Place {
        let connection = self.server.conn_string(&self.database);
        Place { server: self.server.name().to_owned(), connection }
    }

    fn actor(&self, name: &str, settings: &[&str]) -> Result<Actor> {
        Actor::enter(&self.directory, name, &self.place(), settings)
    }
}

/// What each mutant was caught by.
pub type Caught = BTreeMap<String, Option<String>>;

pub fn run(run: &Run) -> Result<(Part, Caught)> {
    let server = stage::builder("mutants").breakable();
    let server = server.conf("wal_writer_delay = '10 s'").start()?;
    let (mut whole, mut caught) = (Part::default(), Caught::new());
    for (mutant, story) in STORIES {
        let control = tell(run, &server, story, &format!("whole_{mutant}"), None)?;
        whole.violations.extend(control);
        let found = tell(run, &server, story, mutant, Some(mutant))?;
        let by =
            found.first().map(|violation| format!("\"{}\", {}", violation.rule, violation.what));
        caught.insert(mutant.to_owned(), by);
    }
    whole.unexplained.extend(stage::crashes(&server));
    Ok((whole, caught))
}

/// Tells one story in a database of its own, and checks what came of it.
fn tell(
    run: &Run,
    server: &Server,
    story: Story,
    database: &str,
    mutant: Option<&str>,
) -> Result<Vec<Violation>> {
    let directory = run.path(database);
    std::fs::create_dir_all(&directory)?;
    let mut client = stage::set_up_in(server, database, 1, "current")?;
    let mut node = node::watch(&mut client, server.name(), false)?;
    if let Some(mutant) = mutant {
        let set = format!("ALTER DATABASE {database} SET soak.mutant = '{mutant}'");
        client.batch_execute(&set)?;
    }
    let stage = Stage { server, database: database.to_owned(), directory };
    story(&stage).with_context(|| format!("the story of {database}"))?;
    let mut client = server.connect(database)?;
    node.read(&mut client)?;
    client.batch_execute("SELECT pg_drop_replication_slot(current_database())")?;
    judge(&stage, node)
}

fn judge(stage: &Stage, node: Node) -> Result<Vec<Violation>> {
    let operations = history::read(&stage.directory)?;
    ensure!(!operations.is_empty(), "nothing happened");
    let parents = [(PROMOTED.to_owned(), stage.server.name().to_owned())].into();
    let history = History { operations, nodes: vec![node], parents, ..History::default() };
    let mut found = history.check();
    let node = &history.nodes[0];
    found.extend(survival::present(&history, stage.server.name(), node));
    Ok(found)
}
