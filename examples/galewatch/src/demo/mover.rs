//! A mover's process, which ends when this value does.

use crate::stage::Stage;
use anyhow::{Context, Result, bail};
use galewatch::event::Entry;
use galewatch::log;
use rig::{install, process, wait_until};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A minute of that night takes four seconds here.
pub const TTL: Duration = Duration::from_secs(4);
const POLL: Duration = Duration::from_millis(500);
const BATCH: u32 = 1_000;

pub struct Mover {
    pub name: String,
    child: Child,
    log: PathBuf,
}

/// The program, built if need be: `cargo run` builds only the one that it runs.
pub fn program() -> Result<PathBuf> {
    let ours = std::env::current_exe().context("where is this program?")?;
    let mut build = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    build.args(["build", "--quiet", "-p", "galewatch-demo", "--bin", "mover"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let built = install::with_tools(&mut build)?.current_dir(rig::home::checkout()?).status();
    if !built.context("cannot run cargo")?.success() {
        bail!("the mover did not build");
    }
    Ok(ours.with_file_name("mover"))
}

impl Mover {
    /// Starts a mover. Its events go to a file in `out`.
    pub fn start(program: &Path, name: &str, stage: &Stage, out: &Path) -> Result<Self> {
        let log = out.join(format!("{name}.jsonl"));
        let [routing, source, target] = stage.for_movers();
        let mut command = Command::new(program);
        command.args(["--name", name, "--routing", &routing]);
        command.args(["--source", &source, "--target", &target]);
        command.args(["--ttl-ms", &TTL.as_millis().to_string()]);
        command.args(["--poll-ms", &POLL.as_millis().to_string()]);
        command.args(["--batch", &BATCH.to_string()]);
        command.stdin(Stdio::null()).stdout(File::create(&log)?);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    pub fn freeze(&self) -> Result<()> {
        process::freeze(self.pid()?)
    }

    pub fn thaw(&self) -> Result<()> {
        process::thaw(self.pid()?)
    }

    /// What it has done so far.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        log::parse(&fs::read_to_string(&self.log).context("a mover's log is gone")?)
    }

    /// Whether it still runs. One that ended with an error is an error here.
    pub fn runs(&mut self) -> Result<bool> {
        let Some(status) = self.child.try_wait()? else { return Ok(true) };
        if failed(status) {
            bail!("{} failed ({status})", self.name);
        }
        Ok(false)
    }

    /// Waits for its end.
    pub fn wait(&mut self, patience: Duration) -> Result<()> {
        let what = format!("{} to end", self.name);
        wait_until(&what, patience, || Ok(!self.runs()?))
    }

    fn pid(&self) -> Result<i32> {
        i32::try_from(self.child.id()).context("a strange pid")
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// To have lost the lease is no failure of a mover.
fn failed(status: ExitStatus) -> bool {
    !matches!(status.code(), Some(0 | 3))
}
