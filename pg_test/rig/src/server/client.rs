//! Talking to a server.

use super::Server;
use super::cluster::clean_environment;
use anyhow::{Context, Result, bail};
use postgres::{Client, Config, NoTls};
use std::process::{Command, Stdio};

impl Server {
    /// A libpq connection string, through the socket.
    pub fn conn_string(&self, database: &str) -> String {
        format!("host={} port={} user=postgres dbname={database}", self.host(), self.port())
    }

    /// A libpq connection string, through TCP: for a pooler.
    pub fn tcp_conn_string(&self, database: &str) -> String {
        format!("host=127.0.0.1 port={} user=postgres dbname={database}", self.port())
    }

    /// How to connect, to be changed before connecting (another user, an application name).
    pub fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config.host(&self.host()).port(self.port()).user("postgres").dbname(database);
        config
    }

    /// A connection as the superuser.
    pub fn connect(&self, database: &str) -> Result<Client> {
        let connected = self.config(database).connect(NoTls);
        connected.with_context(|| format!("cannot connect to {database} on \"{}\"", self.name))
    }

    /// Runs statements as the superuser, in a connection of their own, each by itself.
    pub fn execute(&self, database: &str, statements: &str) -> Result<()> {
        let ran = self.connect(database)?.batch_execute(statements);
        ran.with_context(|| format!("running {statements}"))
    }

    pub fn create_database(&self, name: &str) -> Result<()> {
        self.execute("postgres", &format!("CREATE DATABASE {}", quoted(name)))
    }

    pub fn create_extension(&self, database: &str) -> Result<()> {
        self.execute(database, "CREATE EXTENSION pg_lease")
    }

    /// Runs a script with psql, which stops at the first error, and returns what it printed:
    /// rows alone, columns parted by `|`.
    pub fn psql(&self, database: &str, script: &str) -> Result<String> {
        let mut psql = self.client("psql", database);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", script]);
        let output = psql.stdin(Stdio::null()).output().context("cannot run psql")?;
        if !output.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A client program of the tree (`psql`, `pg_dump`, `pgbench`), set to connect to `database`.
    pub fn client(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.tree.program(program));
        clean_environment(&mut command);
        command.env("PGHOST", self.host()).env("PGPORT", self.port().to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", database);
        command
    }
}

/// A name as SQL wants it, whatever is in it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
