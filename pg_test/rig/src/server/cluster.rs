//! The files of a cluster and the programs that make and run it.

use super::{PATIENCE, Server};
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Set for every server; the builder's lines come after these.
const DEFAULTS: &str = "\
listen_addresses = '127.0.0.1'
max_prepared_transactions = 20
fsync = off
dynamic_shared_memory_type = mmap
log_line_prefix = '%m [%p] %q%u@%d '
lc_messages = 'C'
timezone = 'UTC'
log_timezone = 'UTC'
";

impl Server {
    pub(super) fn initdb(&self) -> Result<()> {
        let mut initdb = self.command("initdb");
        initdb.args(["--no-sync", "--no-instructions", "--auth=trust", "--username=postgres"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "--pgdata"]).arg(self.data_dir());
        run(&mut initdb)
    }

    pub(super) fn copy_data_of(&self, stopped: &Server) -> Result<()> {
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(stopped.data_dir()).arg(self.data_dir());
        run(&mut copy)?;
        let _ = fs::remove_file(self.data_dir().join("postmaster.pid"));
        Ok(())
    }

    pub(super) fn upgrade(&self, stopped: &Server) -> Result<()> {
        let mut upgrade = self.command("pg_upgrade");
        upgrade.args(["--username=postgres", "--no-sync", "--socketdir", &self.host()]);
        upgrade.arg("--old-datadir").arg(stopped.data_dir());
        upgrade.arg("--new-datadir").arg(self.data_dir());
        upgrade.arg("--old-bindir").arg(&stopped.tree.own.bin);
        upgrade.arg("--new-bindir").arg(&self.tree.own.bin);
        run(&mut upgrade)
    }

    /// Writes our configuration beside the cluster's own, which then includes it.
    pub(super) fn write_conf(&self, lines: &[String]) -> Result<()> {
        let place = format!(
            "port = {}\nunix_socket_directories = '{}'\ncluster_name = '{}'\n",
            self.port(),
            self.host(),
            self.name.replace('\'', "''"),
        );
        fs::write(self.conf(), format!("{DEFAULTS}{place}{}\n", lines.join("\n")))?;
        self.user.own(&self.conf())?;
        let main = self.data_dir().join("postgresql.conf");
        let include = "include 'rig.conf'\n";
        if !fs::read_to_string(&main)?.ends_with(include) {
            OpenOptions::new().append(true).open(&main)?.write_all(include.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn append_hba(&self, lines: &[String]) -> Result<()> {
        let mut hba = OpenOptions::new().append(true).open(self.data_dir().join("pg_hba.conf"))?;
        Ok(lines.iter().try_for_each(|line| writeln!(hba, "{line}"))?)
    }

    pub(super) fn append_conf(&self, lines: &[&str]) -> Result<()> {
        let mut conf = OpenOptions::new().append(true).open(self.conf())?;
        Ok(writeln!(conf, "{}", lines.join("\n"))?)
    }

    fn conf(&self) -> PathBuf {
        self.data_dir().join("rig.conf")
    }

    /// Starts the server and waits until it takes connections. It gets a process group of its
    /// own: a Ctrl-C is ours to handle.
    pub(super) fn launch(&self) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.site.log())?;
        let mut postgres = self.command("postgres");
        postgres.arg("-D").arg(self.data_dir()).process_group(0);
        postgres.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        postgres.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let child = postgres.spawn().context("cannot start postgres")?;
        let pid = child.id();
        *self.postmaster() = Some(child);
        let started = wait_until(&format!("\"{}\" to start", self.name), PATIENCE, || {
            if let Some(child) = self.postmaster().as_mut()
                && let Some(status) = child.try_wait()?
            {
                bail!("it ended ({status})");
            }
            Ok(self.takes_connections(pid))
        });
        started.with_context(|| format!("its log ends:\n{}", self.log_tail()))
    }

    /// The server says so itself, in its pid file: its pid first, its status last. A crashed
    /// server's file stays until the next one has written its own.
    fn takes_connections(&self, pid: u32) -> bool {
        let pid_file = self.data_dir().join("postmaster.pid");
        let written = fs::read_to_string(pid_file).unwrap_or_default();
        let line = |number: usize| written.lines().nth(number).map(str::trim);
        line(0) == Some(&pid.to_string()) && matches!(line(7), Some("ready" | "standby"))
    }

    /// A program of the tree that works on the cluster's files: as the cluster's user, in its
    /// directory, where it is found and ended with the site.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.tree.program(program));
        clean_environment(&mut command);
        command.current_dir(&self.site.dir);
        self.user.apply(&mut command);
        command
    }
}

/// Takes from a program what would change its behaviour from one person's shell to another's.
pub fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let libpq = name.starts_with("PG") && name.len() > 2 && !name.contains('_');
        if libpq || name.starts_with("LC_") || name.starts_with("RUST_") || name == "PG_COLOR" {
            command.env_remove(name);
        }
    }
    command.env("LANG", "C").env("LC_ALL", "C").env("TZ", "UTC").env_remove("LANGUAGE");
}

/// Runs a program to its end. What it said is shown only if it failed.
pub fn run(command: &mut Command) -> Result<()> {
    let name = PathBuf::from(command.get_program());
    let name = name.file_name().unwrap_or_default().display().to_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed ({}): {}", output.status, said.trim_end());
    }
    Ok(())
}
