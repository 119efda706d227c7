//! Client programs that can be frozen and killed, and whose every line is kept.

use crate::watch::PATIENCE;
use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use postgres::Client;
use rig::{Server, process, wait_until};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A running program. Dropping it kills it.
pub struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Arc<Mutex<Vec<String>>>,
    readers: [JoinHandle<()>; 2],
}

impl Program {
    /// Starts it in the server's directory, so that it never outlives the server.
    pub fn start(command: &mut Command, server: &Server) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.current_dir(server.host()).spawn().context("cannot start it")?;
        let said = Arc::default();
        let out = keep(child.stdout.take().context("no stdout")?, &said);
        let err = keep(child.stderr.take().context("no stderr")?, &said);
        Ok(Self { stdin: child.stdin.take(), child, said, readers: [out, err] })
    }

    /// psql, which reads its statements from us one after the other and tells SQLSTATEs.
    pub fn psql(server: &Server, database: &str) -> Result<Self> {
        let mut psql = server.client("psql", database);
        psql.args(["-X", "-q", "-A", "-t", "-v", "VERBOSITY=verbose"]);
        Self::start(psql.env("PGAPPNAME", "frozen"), server)
    }

    pub fn send(&mut self, statements: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("it is closed")?;
        Ok(writeln!(stdin, "{statements}")?)
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Everything that it has printed.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has printed a line with this in it, and returns the first one.
    pub fn says(&self, part: &str) -> Result<String> {
        let found = || self.said().into_iter().find(|line| line.contains(part));
        let waited = wait_until(&format!("\"{part}\""), PATIENCE, || Ok(found().is_some()));
        waited.with_context(|| format!("it said {:#?}", self.said()))?;
        found().context("what it said is gone")
    }

    pub fn kill9(&mut self) -> Result<()> {
        // the pid of one that has been waited for may be another's by now
        if self.child.try_wait()?.is_none() {
            process::send(self.pid(), Signal::SIGKILL)?;
            self.child.wait()?;
        }
        Ok(())
    }

    /// Waits until it has ended by itself, and everything that it said is there.
    pub fn ends(&mut self) -> Result<ExitStatus> {
        let ended = wait_until("it to end", PATIENCE, || Ok(self.child.try_wait()?.is_some()));
        ended.with_context(|| format!("it said {:#?}", self.said()))?;
        let all = "all that it said";
        wait_until(all, PATIENCE, || Ok(self.readers.iter().all(JoinHandle::is_finished)))?;
        Ok(self.child.wait()?)
    }

    pub fn thaw(&self) -> Result<()> {
        process::thaw(self.pid())
    }

    /// Stops it in the middle of a transaction that has written: its session waits for the next
    /// statement, and nothing that it has sent is still under way.
    pub fn freeze_in_transaction(&self, superuser: &mut Client, application: &str) -> Result<()> {
        wait_until("a transaction to freeze it in", PATIENCE, || {
            process::freeze(self.pid())?;
            wait_until("it to stop", PATIENCE, || Ok(is_stopped(self.pid())))?;
            let caught = is_in_transaction(superuser, application)?;
            if !caught {
                self.thaw()?;
            }
            Ok(caught)
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Err(error) = self.kill9() {
            eprintln!("cannot end process {}: {error:#}", self.pid());
        }
        if thread::panicking() {
            eprintln!("process {} said {:#?}", self.pid(), self.said());
        }
    }
}

fn keep(pipe: impl Read + Send + 'static, said: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let said = Arc::clone(said);
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            said.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}

/// Whether the session of a stopped client waits in a transaction that has written. A session that
/// sleeps has read everything that was sent to it; only then is what it shows of itself final.
fn is_in_transaction(superuser: &mut Client, application: &str) -> Result<bool> {
    let question = "SELECT pid, state, backend_xid IS NOT NULL FROM pg_stat_activity
                    WHERE application_name = $1 AND datname = current_database()";
    let mut caught = false;
    wait_until("a frozen client's session to settle", PATIENCE, || {
        let row = superuser.query_one(question, &[&application])?;
        if !threads_are(row.get(0), 'S') {
            return Ok(false);
        }
        let row = superuser.query_one(question, &[&application])?;
        let state: String = row.get(1);
        caught = state == "idle in transaction" && row.get(2);
        Ok(state != "active")
    })?;
    Ok(caught)
}

fn is_stopped(pid: i32) -> bool {
    threads_are(pid, 'T')
}

/// Whether every thread of a process is in this state.
fn threads_are(pid: i32, state: char) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(state))
    })
}

/// How often a process has gone to sleep.
pub fn times_slept(pid: i32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
    let count = line.and_then(|line| line.split_whitespace().nth(1)).context("no count")?;
    count.parse().with_context(|| format!("\"{count}\" is no number"))
}

/// The memory that a process has for itself, in kB: without what it has touched of shared buffers and
/// of the WAL's, which is more the more others write.
pub fn own_kb(pid: i32) -> Result<i64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).context("no RssAnon")?;
    let kb = line.split_whitespace().nth(1).context("no number")?.parse()?;
    ensure!(kb > 0, "process {pid} has no memory");
    Ok(kb)
}
