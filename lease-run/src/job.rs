//! The command and everything that it has started.
//!
//! It has a process group of its own. And lease-run is the reaper of its descendants: who leaves
//! the group and loses its parent becomes a child of ours, so nobody gets away by forking.

use crate::status::{Exit, INTERNAL, NOT_EXECUTABLE, NOT_FOUND};
use crate::terminal;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{AccessFlags, Pid, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub struct Job {
    main: Pid,
    /// The main process's exit status, as a shell tells it.
    pub ended: Option<u8>,
    /// Somebody has stopped it at its terminal (Ctrl-Z).
    pub stopped: bool,
    has_terminal: bool,
    /// Children that were ours before: whoever became lease-run had them.
    strangers: Vec<Pid>,
}

impl Job {
    pub fn start(command: &[OsString], environment: &[(&str, String)]) -> Result<Self, Exit> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Exit::new(NOT_FOUND, "there is no command"));
        };
        let reaper = prctl::set_child_subreaper(true);
        reaper.map_err(|e| Exit::new(INTERNAL, format!("cannot look after orphans: {e}")))?;
        let strangers = descendants();
        let mut command = Command::new(program);
        command.args(arguments).process_group(0);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        dies_with_us(&mut command);
        let started = command.spawn().map_err(|error| not_started(program, &error))?;
        let main = Pid::from_raw(started.id() as i32);
        let mut job = Self { main, ended: None, stopped: false, has_terminal: false, strangers };
        job.go_on();
        Ok(job)
    }

    /// In the foreground of our terminal, if we are. It may have been stopped for asking too soon.
    pub fn go_on(&mut self) {
        self.has_terminal = terminal::lend_to(self.main);
        if self.has_terminal || self.stopped {
            let _ = killpg(self.main, Signal::SIGCONT);
        }
        self.stopped = false;
    }

    /// Stops us too, and returns when we go on.
    pub fn stop_with_it(&mut self) {
        self.give_terminal_back();
        terminal::stop_us();
    }

    fn give_terminal_back(&mut self) {
        if std::mem::take(&mut self.has_terminal) {
            terminal::take_back();
        }
    }

    /// Signals the group: what an operator sends to lease-run is for the command.
    pub fn pass_on(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = killpg(self.main, signal);
        }
    }

    /// Tells everybody to end. A stopped process has to go on to do so.
    pub fn tell_all(&self, signal: Signal) {
        self.signal_all(signal);
        self.signal_all(Signal::SIGCONT);
    }

    pub fn kill_all(&self) {
        self.signal_all(Signal::SIGKILL);
    }

    /// The group is signalled as one, so that nobody in it escapes by forking just then.
    fn signal_all(&self, signal: Signal) {
        let _ = killpg(self.main, signal);
        for pid in self.alive() {
            let _ = kill(pid, signal);
        }
    }

    /// Takes note of who has ended.
    pub fn reap(&mut self) {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
                Ok(WaitStatus::Stopped(pid, _)) if pid == self.main => {
                    self.stopped = self.has_terminal;
                }
                Ok(WaitStatus::Exited(pid, code)) => self.note(pid, code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => self.note(pid, 128 + signal as i32),
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn note(&mut self, pid: Pid, status: i32) {
        if pid == self.main {
            self.ended = Some(status as u8);
        }
        self.strangers.retain(|stranger| *stranger != pid);
    }

    /// What still runs of it.
    pub fn alive(&self) -> Vec<Pid> {
        let all = descendants().into_iter();
        all.filter(|pid| !self.strangers.contains(pid)).collect()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.give_terminal_back();
    }
}

/// Whether there is such a command: asked before anything else, as a typing error should not take a
/// lease, nor use up a run.
pub fn find(program: &OsStr) -> Result<(), Exit> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let places: Vec<_> = if program.as_encoded_bytes().contains(&b'/') {
        vec![program.into()]
    } else {
        env::split_paths(&path).map(|dir| dir.join(program)).collect()
    };
    let files: Vec<_> = places.iter().filter(|place| place.is_file()).collect();
    if files.iter().any(|file| access(file.as_path(), AccessFlags::X_OK).is_ok()) {
        return Ok(());
    }
    let kind = if files.is_empty() { ErrorKind::NotFound } else { ErrorKind::PermissionDenied };
    Err(not_started(program, &Error::from(kind)))
}

fn not_started(program: &OsStr, error: &Error) -> Exit {
    let not_found = error.kind() == ErrorKind::NotFound;
    let status = if not_found { NOT_FOUND } else { NOT_EXECUTABLE };
    Exit::new(status, format!("cannot run {}: {error}", Path::new(program).display()))
}

/// Lets the command be killed when lease-run itself is killed: nobody would renew its lease.
#[allow(unsafe_code)]
fn dies_with_us(command: &mut Command) {
    let us = Pid::this();
    let prepare = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // we may have died before that
        if Pid::parent() == us { Ok(()) } else { Err(Error::from(Errno::ESRCH)) }
    };
    // SAFETY: between fork and exec it makes two system calls, prctl and getppid, and neither
    // allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// All processes below this one that run, by what /proc says of their parents.
fn descendants() -> Vec<Pid> {
    let all = processes();
    let mut found = Vec::new();
    let mut parents = vec![Pid::this().as_raw()];
    while let Some(parent) = parents.pop() {
        for (pid, _, runs) in all.iter().filter(|(_, its_parent, _)| *its_parent == parent) {
            parents.push(*pid);
            if *runs {
                found.push(Pid::from_raw(*pid));
            }
        }
    }
    found
}

/// Each process with its parent, and whether it runs: a zombie does not.
fn processes() -> Vec<(i32, i32, bool)> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let known = pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (state, parent) = state_and_parent(&stat)?;
        Some((pid, parent, state != "Z" && state != "X"))
    });
    known.collect()
}

/// What follows the name, which may hold spaces and brackets.
fn state_and_parent(stat: &str) -> Option<(&str, i32)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        assert_eq!(state_and_parent("7 (a) S (b)) Z 12 7 7 0"), Some(("Z", 12)));
        assert_eq!(state_and_parent("7"), None);
    }

    #[test]
    fn a_command_is_found_where_a_shell_finds_it() {
        let status = |program: &str| find(OsStr::new(program)).map_err(|exit| exit.status);
        assert_eq!(status("sh"), Ok(()));
        assert_eq!(status("/bin/sh"), Ok(()));
        assert_eq!(status("no-such-command-here"), Err(NOT_FOUND));
        assert_eq!(status("/etc/passwd"), Err(NOT_EXECUTABLE));
        assert_eq!(status("/etc"), Err(NOT_FOUND));
    }

    #[test]
    fn descendants_are_found_at_any_depth() -> Result<(), Error> {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn()?;
        let all = || descendants().len();
        let began = std::time::Instant::now();
        while all() < 2 && began.elapsed().as_secs() < 20 {
            std::thread::yield_now();
        }
        let found = descendants();
        for pid in &found {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        shell.wait()?;
        assert!(found.len() >= 2, "{found:?}");
        Ok(())
    }
}
