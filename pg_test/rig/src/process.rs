//! Looking at and signalling processes, by pid. Only ever those of a server that we started.

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::wait::wait_until;

/// Sends `signal`. A process that is gone already is no error.
pub fn send(pid: i32, signal: Signal) -> Result<()> {
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot send {signal} to {pid}")),
    }
}

/// Stops a process where it is, as a paused machine would.
pub fn freeze(pid: i32) -> Result<()> {
    send(pid, Signal::SIGSTOP)
}

/// Lets a frozen process go on.
pub fn thaw(pid: i32) -> Result<()> {
    send(pid, Signal::SIGCONT)
}

/// Whether it runs. A zombie, which only waits for its parent to notice, does not.
pub fn alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// When it started, in ticks since boot: with the pid, a name that is never used twice.
pub fn started(pid: i32) -> Option<u64> {
    fields(pid)?.split_whitespace().nth(19)?.parse().ok()
}

/// The processes that work in `dir`: every process of a PostgreSQL server works in its data
/// directory.
pub fn working_in(dir: &Path) -> Vec<i32> {
    let Ok(listed) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = listed.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| works_in(*pid, dir) && alive(*pid)).collect()
}

/// Whether `pid` works in `dir`.
pub fn works_in(pid: i32, dir: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == dir)
}

/// Waits until no process works in `dir`.
pub fn wait_until_deserted(dir: &Path, timeout: Duration) -> Result<()> {
    let what = format!("the processes in {} to end", dir.display());
    wait_until(&what, timeout, || Ok(working_in(dir).is_empty()))
}

fn state(pid: i32) -> Option<char> {
    fields(pid)?.trim_start().chars().next()
}

/// What follows the name, which may hold spaces and brackets.
fn fields(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_zombie_is_not_alive() -> Result<()> {
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let pid = child.id() as i32;
        assert!(alive(pid) && started(pid).is_some());
        send(pid, Signal::SIGKILL)?;
        wait_until("the child to die", Duration::from_secs(10), || Ok(!alive(pid)))?;
        child.wait()?;
        assert_eq!(started(pid), None);
        Ok(())
    }
}
