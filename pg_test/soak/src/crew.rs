//! The clients of a scenario, each a process of its own.

use crate::clock::{self, Micros};
use crate::worker::Order;
use anyhow::{Context, Result};
use rig::process;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a client may take to finish what it is doing.
const PATIENCE: Duration = Duration::from_secs(15);

struct Member {
    order: Order,
    life: u32,
    child: Child,
}

/// Running clients. Dropping it kills them.
pub struct Crew {
    /// Where their histories go.
    pub directory: PathBuf,
    /// What they work in, so that they never outlive the server.
    site: PathBuf,
    /// How to start one elsewhere: a program with its arguments, or nothing.
    through: Vec<String>,
    members: Vec<Member>,
    pub deaths: BTreeMap<String, Micros>,
}

impl Crew {
    pub fn new(directory: &Path, site: &str) -> Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            site: site.into(),
            through: Vec::new(),
            members: Vec::new(),
            deaths: BTreeMap::new(),
        })
    }

    /// Starts those that follow through another program.
    pub fn through(&mut self, program: &[String]) {
        self.through = program.to_vec();
    }

    pub fn hire(&mut self, order: Order) -> Result<()> {
        let child = self.start(&order)?;
        self.members.push(Member { order, life: 0, child });
        Ok(())
    }

    fn start(&self, order: &Order) -> Result<Child> {
        let own = std::env::current_exe()?.display().to_string();
        let mut words = self.through.clone();
        words.extend([own, "client".to_owned(), serde_json::to_string(order)?]);
        let errors = self.directory.join("errors");
        let errors = OpenOptions::new().create(true).append(true).open(errors)?;
        let mut command = Command::new(words.first().context("no program")?);
        command.args(&words[1..]).current_dir(&self.site);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command.spawn().with_context(|| format!("cannot start {}", order.name))
    }

    pub fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.order.name.clone()).collect()
    }

    pub fn pid(&self, name: &str) -> Option<i32> {
        self.find(name).map(|at| self.members[at].child.id() as i32)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.order.name == name)
    }

    /// Kills a client and starts its next life, under another name.
    pub fn kill(&mut self, name: &str) -> Result<()> {
        let at = self.find(name).context("no such client")?;
        self.bury(at)?;
        let life = self.members[at].life + 1;
        let mut order = self.members[at].order.clone();
        let born = order.name.split('.').next().unwrap_or_default();
        order.name = format!("{born}.{life}");
        let child = self.start(&order)?;
        self.members[at] = Member { order, life, child };
        Ok(())
    }

    fn bury(&mut self, at: usize) -> Result<()> {
        let member = &mut self.members[at];
        member.child.kill()?;
        member.child.wait()?;
        self.deaths.insert(member.order.name.clone(), clock::now());
        Ok(())
    }

    /// Tells all to stop, and waits until they have. One that does not is killed.
    pub fn dismiss(&mut self) -> Result<()> {
        for member in &self.members {
            process::thaw(member.child.id() as i32)?;
            fs::write(&member.order.stop, "")?;
        }
        let end = std::time::Instant::now() + PATIENCE;
        for at in 0..self.members.len() {
            let waited = rig::wait_until("a client to stop", PATIENCE, || {
                let over = self.members[at].child.try_wait()?.is_some();
                Ok(over || std::time::Instant::now() > end)
            });
            waited?;
            if self.members[at].child.try_wait()?.is_none() {
                self.bury(at)?;
            }
        }
        self.members.clear();
        Ok(())
    }

    /// What clients said before they gave up: nothing, if all is well.
    pub fn errors(&self) -> Vec<String> {
        let said = fs::read_to_string(self.directory.join("errors")).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}
