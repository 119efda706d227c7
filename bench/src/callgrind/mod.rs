//! Counting instructions: the whole server under callgrind, and a profile for each backend.

mod profile;

pub use profile::Profile;

use crate::bed::Bed;
use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use postgres::{Client, NoTls, Statement};
use rig::user::RunAs;
use rig::{process, wait_until};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server runs some fifty times slower here.
const PATIENCE: Duration = Duration::from_secs(120);

/// Whether it can be used at all.
pub fn is_there() -> bool {
    let asked = Command::new("valgrind").arg("--version").output();
    asked.is_ok_and(|answer| answer.status.success())
}

/// The part's server, running under callgrind instead of by itself.
pub struct Emulated<'a> {
    bed: &'a Bed,
    valgrind: Child,
    profiles: PathBuf,
    /// Databases that somebody has connected to: the first session there prepares files for all.
    visited: RefCell<HashSet<String>>,
}

/// What is counted: a step repeated in one session.
pub struct Run<'a> {
    pub database: &'a str,
    /// Statements before the first step: settings.
    pub before: &'a str,
    /// Prepared in the session, and handed to each step.
    pub statements: &'a [String],
    /// 0: what a session does once counts too.
    pub few: u32,
    pub many: u32,
}

impl<'a> Emulated<'a> {
    /// Stops the part's server and starts it again under callgrind, on the same data.
    pub fn start(bed: &'a Bed) -> Result<Self> {
        bed.server.stop()?;
        let data = bed.server.data_dir();
        let site = data.parent().context("the data directory has no parent")?;
        let profiles = site.join("profiles");
        fs::create_dir_all(&profiles)?;
        let user = RunAs::pick()?;
        user.own(&profiles)?;
        let mut valgrind = Command::new("valgrind");
        rig::server::clean_environment(&mut valgrind);
        let out = format!("--callgrind-out-file={}/%p", profiles.display());
        valgrind.args(["--tool=callgrind", "-q", &out]);
        valgrind.arg(bed.server.tree().program("postgres")).arg("-D").arg(&data);
        // one core's worth of work, without waiting for the disk
        valgrind.args(["-c", "fsync=off", "-c", "synchronous_commit=off"]);
        valgrind.current_dir(site).process_group(0).stdin(Stdio::null());
        valgrind.stdout(Stdio::null()).stderr(fs::File::create(site.join("valgrind"))?);
        user.apply(&mut valgrind);
        let valgrind = valgrind.spawn().context("cannot run valgrind")?;
        let emulated = Self { bed, valgrind, profiles, visited: RefCell::default() };
        emulated.wait_for_start()?;
        Ok(emulated)
    }

    fn wait_for_start(&self) -> Result<()> {
        let pid = self.valgrind.id() as i32;
        wait_until("a server under valgrind to start", PATIENCE, || {
            if !process::alive(pid) {
                bail!("it ended: {}", self.bed.server.log_tail());
            }
            Ok(self.bed.server.config("postgres").connect(NoTls).is_ok())
        })
    }

    /// The instructions of one step, from the difference between a session with many and one with
    /// few: what a session does once does not count.
    pub fn count(
        &self,
        run: &Run,
        mut step: impl FnMut(&mut Client, &[Statement], u32) -> Result<()>,
    ) -> Result<Profile> {
        if run.few > 0 && self.visited.borrow_mut().insert(run.database.to_owned()) {
            self.session(run, 1, &mut step)?;
        }
        let few = match run.few {
            0 => Profile::default(),
            few => self.session(run, few, &mut step)?,
        };
        let many = self.session(run, run.many, &mut step)?;
        Ok(many.less(&few).per(f64::from(run.many - run.few)))
    }

    fn session(
        &self,
        run: &Run,
        times: u32,
        step: &mut impl FnMut(&mut Client, &[Statement], u32) -> Result<()>,
    ) -> Result<Profile> {
        let mut client = self.bed.server.connect(run.database)?;
        let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[])?.get(0);
        client.batch_execute(run.before)?;
        let prepared = run.statements.iter().map(|text| client.prepare(text));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        for at in 0..times {
            step(&mut client, &prepared, at)?;
        }
        client.close()?;
        let what = format!("backend {pid} to end");
        wait_until(&what, PATIENCE, || Ok(!process::alive(pid)))?;
        self.read(&self.profiles.join(pid.to_string()))
    }

    fn read(&self, path: &Path) -> Result<Profile> {
        let text = fs::read(path).with_context(|| format!("no profile {}", path.display()))?;
        fs::remove_file(path)?;
        Profile::parse(&String::from_utf8_lossy(&text))
    }
}

impl Drop for Emulated<'_> {
    /// What does not stop in time is killed with the site.
    fn drop(&mut self) {
        let pid = self.valgrind.id() as i32;
        let _ = process::send(pid, Signal::SIGINT);
        if wait_until("valgrind to end", PATIENCE, || Ok(!process::alive(pid))).is_err() {
            let _ = process::send(pid, Signal::SIGKILL);
        }
        let _ = self.valgrind.wait();
    }
}
