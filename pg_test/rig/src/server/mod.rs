//! A private server: a cluster of its own, in a directory of its own, gone when dropped.

mod builder;
mod client;
mod cluster;
mod standby;

pub use builder::Builder;
pub use client::quoted;
pub use cluster::clean_environment;

use crate::port::Port;
use crate::process;
use crate::site::{self, Site};
use crate::tree::Tree;
use crate::user::RunAs;
use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a server may take to start, to stop or to be promoted on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running (or stopped) private server. Dropping it stops it at once and removes its data.
///
/// All methods take `&self`, so a server can be shared between threads.
pub struct Server {
    name: String,
    tree: Tree,
    user: RunAs,
    port: Port,
    environment: Vec<(String, String)>,
    postmaster: Mutex<Option<Child>>,
    site: Site,
}

impl Server {
    /// A running server with the usual settings. The extension is installed, not yet created.
    pub fn start(name: &str) -> Result<Self> {
        Self::builder(name).start()
    }

    /// A server to be set up before it starts.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of its socket, as libpq's `host`.
    pub fn host(&self) -> String {
        self.site.dir.display().to_string()
    }

    /// Its port, for the socket and on 127.0.0.1. It stays the same while this value lives.
    pub fn port(&self) -> u16 {
        self.port.number
    }

    pub fn data_dir(&self) -> PathBuf {
        self.site.data()
    }

    /// The installation that it runs from.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The pid of its first process.
    pub fn pid(&self) -> Result<i32> {
        let child = self.postmaster();
        Ok(child.as_ref().with_context(|| format!("\"{}\" does not run", self.name))?.id() as i32)
    }

    pub fn is_running(&self) -> bool {
        self.pid().is_ok_and(process::alive)
    }

    /// Stops it as an administrator would (fast: transactions are rolled back).
    pub fn stop(&self) -> Result<()> {
        self.stop_with(Signal::SIGINT)
    }

    /// Stops it without a checkpoint: its next start recovers.
    pub fn stop_immediate(&self) -> Result<()> {
        self.stop_with(Signal::SIGQUIT)
    }

    /// Kills every process of it, as a power cut would, and waits until all are gone.
    pub fn kill9(&self) -> Result<()> {
        process::send(self.pid()?, Signal::SIGKILL)?;
        site::kill_all_in(&self.data_dir())?;
        self.reap()
    }

    /// Starts it again with the same data and port.
    pub fn start_again(&self) -> Result<()> {
        if self.is_running() {
            bail!("\"{}\" runs already", self.name);
        }
        self.launch()
    }

    pub fn restart(&self) -> Result<()> {
        self.stop()?;
        self.launch()
    }

    /// Adds lines to its configuration and reloads it.
    pub fn configure(&self, lines: &[&str]) -> Result<()> {
        self.append_conf(lines)?;
        process::send(self.pid()?, Signal::SIGHUP)
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Its whole log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.site.log()).unwrap_or_default()).into_owned()
    }

    /// Lets it run on after this process. Whoever has the returned directory can
    /// [`site::end`](crate::site::end) it.
    pub fn keep(mut self) -> Result<PathBuf> {
        self.site.keep()
    }

    fn stop_with(&self, signal: Signal) -> Result<()> {
        process::send(self.pid()?, signal)?;
        process::wait_until_deserted(&self.data_dir(), PATIENCE)
            .with_context(|| self.log_tail())?;
        self.reap()
    }

    fn reap(&self) -> Result<()> {
        if let Some(mut child) = self.postmaster().take() {
            child.wait().context("waiting for a stopped server")?;
        }
        Ok(())
    }

    fn postmaster(&self) -> MutexGuard<'_, Option<Child>> {
        self.postmaster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    /// A panicking test is helped by the server's last words.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the log of \"{}\" ends:\n{}", self.name, self.log_tail());
        }
        if self.site.clear().is_ok() && !self.site.is_kept() {
            let _ = self.reap();
        }
    }
}
