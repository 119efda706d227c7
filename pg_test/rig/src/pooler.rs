//! PgBouncer in front of a server, in transaction mode: each transaction may run in another
//! session.

use crate::port::Port;
use crate::server::{Server, clean_environment};
use crate::site::Site;
use crate::user::RunAs;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use postgres::{Client, Config, NoTls};
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const INI: &str = "pgbouncer.ini";

/// A running PgBouncer. Dropping it ends it.
pub struct Pooler {
    child: Child,
    port: Port,
    site: Site,
}

impl Pooler {
    /// Pools all databases of `server`, with at most `sessions` sessions to each.
    pub fn over(server: &Server, sessions: u32) -> Result<Self> {
        let user = RunAs::pick()?;
        let site = Site::make("pooler", user)?;
        let port = Port::reserve()?;
        fs::write(site.dir.join("users"), "\"postgres\" \"\"\n")?;
        fs::write(site.dir.join(INI), settings(server, port.number, &site.dir, sessions))?;
        let mut pooler = Self { child: spawn(&site, user)?, port, site };
        pooler.wait_until_it_answers()?;
        Ok(pooler)
    }

    /// Kills it, with all its connections, and starts it again at the same address.
    pub fn restart(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        let _ = fs::remove_file(self.site.dir.join(format!(".s.PGSQL.{}", self.port.number)));
        self.child = spawn(&self.site, RunAs::pick()?)?;
        self.wait_until_it_answers()
    }

    /// A libpq connection string through the pooler.
    pub fn conn_string(&self, database: &str) -> String {
        let (host, port) = (self.site.dir.display(), self.port.number);
        format!("host={host} port={port} user=postgres dbname={database}")
    }

    /// A connection through the pooler, as the superuser. (It lets every role of the server in.) The `postgres` crate prepares its
    /// statements, which PgBouncer before 1.21 does not follow from session to session: use
    /// `batch_execute` or `simple_query`.
    pub fn connect(&self, database: &str) -> Result<Client> {
        let mut config = Config::new();
        config.host(&self.site.dir.display().to_string()).port(self.port.number);
        let connected = config.user("postgres").dbname(database).connect(NoTls);
        connected.with_context(|| format!("cannot connect to {database} through the pooler"))
    }

    fn wait_until_it_answers(&mut self) -> Result<()> {
        let log = self.site.log();
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let config = self.conn_string("pgbouncer");
        let answers = wait_until("pgbouncer to answer", PATIENCE, || {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended ({status})");
            }
            Ok(Client::connect(&config, NoTls).is_ok())
        });
        answers.with_context(said)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if self.site.clear().is_ok() {
            let _ = self.child.wait();
        }
    }
}

fn spawn(site: &Site, user: RunAs) -> Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(site.log())?;
    let mut command = Command::new(program()?);
    clean_environment(&mut command);
    user.apply(command.arg(INI).current_dir(&site.dir).process_group(0));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().context("cannot start pgbouncer")
}

fn settings(server: &Server, port: u16, dir: &Path, sessions: u32) -> String {
    format!(
        "[databases]\n* = host={} port={}\n\
         [pgbouncer]\npool_mode = transaction\nauth_type = trust\n\
         auth_file = users\nauth_user = postgres\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir = {}\n\
         default_pool_size = {sessions}\nserver_reset_query =\nserver_login_retry = 0.2\nadmin_users = postgres\n\
         ignore_startup_parameters = extra_float_digits\n",
        server.host(),
        server.port(),
        dir.display(),
    )
}

fn program() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let found = dirs.map(|dir| dir.join("pgbouncer")).find(|program| program.is_file());
    found.context("pgbouncer is missing: run `make deps`")
}
