//! What a server is to be like, before there is one.

use super::Server;
use crate::port::Port;
use crate::site::{self, Site};
use crate::tree::Tree;
use crate::user::RunAs;
use anyhow::{Result, bail};
use std::sync::Mutex;

/// How often a server may find its port taken by a program that is no rig.
const PORTS_TRIED: usize = 3;

/// Which extension it has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Bare,
    Usual,
    Breakable,
}

/// A server to be.
#[derive(Clone, Debug)]
pub struct Builder {
    pub(super) name: String,
    pub(super) conf: Vec<String>,
    pub(super) application_name: Option<String>,
    pub(super) slot: Option<String>,
    environment: Vec<(String, String)>,
    hba: Vec<String>,
    kind: Kind,
}

impl Builder {
    pub(super) fn new(name: &str) -> Self {
        let name = name.to_owned();
        Self {
            name,
            conf: Vec::new(),
            application_name: None,
            slot: None,
            environment: Vec::new(),
            hba: Vec::new(),
            kind: Kind::Usual,
        }
    }

    /// Adds a line to postgresql.conf. Later lines win.
    pub fn conf(mut self, line: &str) -> Self {
        self.conf.push(line.to_owned());
        self
    }

    /// Whether it waits for the disk. Off unless asked for: what is written survives `kill9`
    /// anyhow, as only the machine's own crash loses it.
    pub fn fsync(self, on: bool) -> Self {
        self.conf(if on { "fsync = on" } else { "fsync = off" })
    }

    /// What starts each line of its log.
    pub fn log_line_prefix(self, prefix: &str) -> Self {
        self.conf(&format!("log_line_prefix = '{}'", prefix.replace('\'', "''")))
    }

    /// PostgreSQL alone: the extension is neither built nor installed.
    pub fn bare(mut self) -> Self {
        self.kind = Kind::Bare;
        self
    }

    /// With an extension that can be broken on purpose (`src/mutant.rs`).
    pub fn breakable(mut self) -> Self {
        self.kind = Kind::Breakable;
        self
    }

    /// Sets a variable in the environment of its processes.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a line to pg_hba.conf: it lets in from elsewhere than this machine.
    pub fn hba(mut self, line: &str) -> Self {
        self.hba.push(line.to_owned());
        self
    }

    /// As what a standby appears to its primary; its name unless said otherwise.
    pub fn application_name(mut self, name: &str) -> Self {
        self.application_name = Some(name.to_owned());
        self
    }

    /// A replication slot for a standby, made on the primary.
    pub fn slot(mut self, name: &str) -> Self {
        self.slot = Some(name.to_owned());
        self
    }

    /// Makes a new cluster and starts it.
    pub fn start(self) -> Result<Server> {
        self.start_from(Server::initdb)
    }

    /// Makes a copy of a stopped server's files, as a snapshot of its storage would be, and
    /// starts it: the same system identifier, the same history.
    pub fn start_copy_of(self, stopped: &Server) -> Result<Server> {
        if stopped.is_running() {
            bail!("\"{}\" runs: stop it before copying its files", stopped.name);
        }
        self.start_from(|server| server.copy_data_of(stopped))
    }

    /// Makes a new cluster, brings a stopped server's databases into it by pg_upgrade, and starts it.
    pub fn start_upgrade_of(self, stopped: &Server) -> Result<Server> {
        if stopped.is_running() {
            bail!("\"{}\" runs: stop it before it is upgraded", stopped.name);
        }
        self.start_from(|server| {
            server.initdb()?;
            server.upgrade(stopped)
        })
    }

    /// `fill` puts a cluster into the server's data directory.
    pub(super) fn start_from(self, fill: impl FnOnce(&Server) -> Result<()>) -> Result<Server> {
        let mut server = self.site()?;
        fill(&server)?;
        server.append_hba(&self.hba)?;
        for _ in 1..PORTS_TRIED {
            server.write_conf(&self.conf)?;
            match server.launch() {
                Err(error) if server.log_tail().contains("Address already in use") => {
                    eprintln!("rig: port {} is taken: {error}", server.port());
                    server.port = Port::reserve()?;
                }
                launched => return launched.map(|()| server),
            }
        }
        server.write_conf(&self.conf)?;
        server.launch()?;
        Ok(server)
    }

    fn site(&self) -> Result<Server> {
        let tree = match self.kind {
            Kind::Bare => Tree::ensure()?,
            Kind::Usual => Tree::ready()?.clone(),
            Kind::Breakable => Tree::breakable()?.clone(),
        };
        site::sweep()?;
        let user = RunAs::pick()?;
        Ok(Server {
            name: self.name.clone(),
            tree,
            user,
            environment: self.environment.clone(),
            port: Port::reserve()?,
            postmaster: Mutex::new(None),
            site: Site::make(&self.name, user)?,
        })
    }
}
