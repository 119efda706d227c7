//! One member: Patroni, and the PostgreSQL that it runs.

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use rig::port::Port;
use rig::server::clean_environment;
use rig::user::RunAs;
use rig::{process, site};
use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What a member is given.
pub struct Place {
    pub name: String,
    pub root: PathBuf,
    pub bin: PathBuf,
    pub etcd: u16,
    pub synchronous: bool,
}

pub struct Node {
    place: Place,
    user: RunAs,
    sql: Port,
    rest: Port,
    patroni: Option<Child>,
}

impl Node {
    pub fn make(place: Place, user: RunAs) -> Result<Self> {
        let node =
            Self { place, user, sql: Port::reserve()?, rest: Port::reserve()?, patroni: None };
        fs::create_dir(node.dir())?;
        fs::write(node.config(), node.settings())?;
        File::create(node.log())?;
        for path in [node.dir(), node.config(), node.log()] {
            user.own(&path)?;
        }
        Ok(node)
    }

    pub fn name(&self) -> &str {
        &self.place.name
    }

    pub fn port(&self) -> u16 {
        self.sql.number
    }

    pub fn rest_port(&self) -> u16 {
        self.rest.number
    }

    pub fn start(&mut self) -> Result<()> {
        let log = OpenOptions::new().append(true).open(self.log())?;
        let mut patroni = Command::new("patroni");
        clean_environment(&mut patroni);
        patroni.arg(self.config()).current_dir(self.dir()).process_group(0);
        self.user.apply(&mut patroni);
        patroni.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child =
            patroni.spawn().context("cannot start patroni: the Debian package is patroni")?;
        self.patroni = Some(child);
        Ok(())
    }

    /// As a machine that loses its power: Patroni first, so that it starts nothing again.
    pub fn kill9(&mut self) -> Result<()> {
        if let Some(mut patroni) = self.patroni.take() {
            process::send(patroni.id() as i32, Signal::SIGKILL)?;
            patroni.wait()?;
        }
        site::kill_all_in(&self.dir().join("data"))
    }

    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("{}:\n{}", self.name(), lines[lines.len().saturating_sub(15)..].join("\n"))
    }

    fn dir(&self) -> PathBuf {
        self.place.root.join(self.name())
    }

    fn config(&self) -> PathBuf {
        self.place.root.join(format!("{}.yml", self.name()))
    }

    fn log(&self) -> PathBuf {
        self.place.root.join(format!("{}.log", self.name()))
    }

    /// Patroni's settings, in YAML. The times are the shortest that it allows.
    fn settings(&self) -> String {
        let Place { name, bin, etcd, synchronous, .. } = &self.place;
        let (bin, dir) = (bin.display(), self.dir().display().to_string());
        let (sql, rest) = (self.port(), self.rest_port());
        format!(
            "scope: jobs
name: {name}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{host: '127.0.0.1:{etcd}'}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 16777216
    synchronous_mode: {synchronous}
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters: {{wal_log_hints: 'on', track_commit_timestamp: 'on', max_connections: 50}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, {{auth: trust}}, no-sync]
postgresql:
  listen: '127.0.0.1:{sql}'
  connect_address: '127.0.0.1:{sql}'
  data_dir: '{dir}/data'
  bin_dir: '{bin}'
  pgpass: '{dir}/pgpass'
  authentication:
    superuser: {{username: postgres, password: loopback}}
    replication: {{username: replicator, password: loopback}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {{unix_socket_directories: '{dir}', dynamic_shared_memory_type: mmap, timezone: UTC}}
"
        )
    }
}
