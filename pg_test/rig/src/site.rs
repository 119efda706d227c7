//! The directory of one server, and how nothing of it stays behind.
//!
//! Its name holds the process that made it, so that one whose maker is gone can be swept away.
//! Everything that runs on its behalf works inside it, so that all of it can be found.

use crate::home::{self, make_dir};
use crate::interrupted;
use crate::process::{self, wait_until_deserted, works_in};
use crate::user::RunAs;
use crate::watchdog::Watchdog;
use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// A crash stop takes milliseconds, or the five seconds after which PostgreSQL kills a child that
/// does not listen.
const CRASH_STOP: Duration = Duration::from_secs(10);
const LONGEST_NAME: usize = 14;
const KEPT: &str = "kept";

/// The directory of one server. Dropping it stops the server and removes the directory.
pub struct Site {
    pub dir: PathBuf,
    watchdog: Watchdog,
    kept: bool,
}

impl Site {
    pub fn make(name: &str, user: RunAs) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let us = std::process::id();
        let born = process::started(us as i32).unwrap_or_default();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let short: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let short = short.get(..LONGEST_NAME).unwrap_or(&short);
        let dir = sites()?.join(format!("{short}-{us}-{born}-{count}"));
        clean_up_when_interrupted()?;
        running().insert(dir.clone());
        make_dir(&dir)?;
        user.own(&dir)?;
        Ok(Self { watchdog: Watchdog::over(&dir)?, dir, kept: false })
    }

    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Leaves the site, with whatever runs in it, to whoever calls [`end`] for it one day.
    pub fn keep(&mut self) -> Result<PathBuf> {
        fs::write(self.dir.join(KEPT), "")?;
        self.kept = true;
        Ok(self.dir.clone())
    }

    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// Stops everything in it and removes it, unless it is kept.
    pub fn clear(&self) -> Result<()> {
        if self.kept { Ok(()) } else { end(&self.dir) }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!("rig: {error:#}");
        }
        running().remove(&self.dir);
        self.watchdog.dismiss();
    }
}

/// Stops everything that works in a site at once, and removes it.
pub fn end(dir: &Path) -> Result<()> {
    let data = dir.join("data");
    if let Some(pid) = postmaster(&data) {
        process::send(pid, Signal::SIGQUIT)?;
    }
    if wait_until_deserted(&data, CRASH_STOP).is_err() {
        eprintln!("rig: what works in {} does not stop, killing it", data.display());
    }
    kill_all_in(&data)?;
    kill_all_in(dir)?;
    forget_shared_memory(&data);
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

/// Kills everything that works in `dir`, and waits until it is gone.
pub fn kill_all_in(dir: &Path) -> Result<()> {
    let what = format!("everything in {} to be dead", dir.display());
    crate::wait::wait_until(&what, CRASH_STOP, || {
        let left = process::working_in(dir);
        left.iter().try_for_each(|pid| process::send(*pid, Signal::SIGKILL))?;
        Ok(left.is_empty())
    })
}

/// Ends the sites whose makers are gone without having been able to.
pub fn sweep() -> Result<()> {
    for dir in all()? {
        if !dir.join(KEPT).exists() && !maker_lives(&dir) {
            end(&dir)?;
        }
    }
    Ok(())
}

/// Every site of this home, whoever made it.
pub fn all() -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(sites()?)?;
    Ok(listed.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<_>>()?)
}

fn sites() -> Result<PathBuf> {
    let dir = home::ensure()?.join("run");
    make_dir(&dir)?;
    Ok(dir)
}

fn maker_lives(dir: &Path) -> bool {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplit('-').skip(1);
    let born = parts.next().and_then(|p| p.parse::<u64>().ok());
    let pid = parts.next().and_then(|p| p.parse::<i32>().ok());
    pid.is_some_and(|pid| process::started(pid) == born)
}

/// The server's first process, if it runs: the file may be old and its pid somebody else's.
fn postmaster(data: &Path) -> Option<i32> {
    let written = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid = written.lines().next()?.trim().parse().ok()?;
    works_in(pid, data).then_some(pid)
}

/// A crashed server leaves a small System V segment, which its next start would remove.
fn forget_shared_memory(data: &Path) {
    let written = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let segment = written.lines().nth(6).and_then(|line| line.split_whitespace().nth(1));
    if let Some(segment) = segment {
        let _ = Command::new("ipcrm").args(["-m", segment]).output();
    }
}

fn running() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static RUNNING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// On Ctrl-C, SIGTERM and SIGHUP: end all our sites, then end. The lock is kept to the end of the
/// process, so that no other thread begins a new one.
fn clean_up_when_interrupted() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut set = Ok(());
    ONCE.call_once(|| set = interrupted::call(end_all));
    set
}

fn end_all() {
    let sites = running();
    for dir in sites.iter() {
        let _ = end(dir);
    }
    std::process::exit(130);
}
