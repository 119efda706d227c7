//! One server in the background, for people: `server`, `psql`, `stop`.

use anyhow::{Context, Result, bail};
use rig::{Server, Tree, home, process, site};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// What is remembered of the server between commands.
#[derive(Serialize, Deserialize)]
struct Background {
    dir: PathBuf,
    connection: String,
}

/// Starts the server unless it runs, and prints its connection string as the only line of stdout.
pub fn start() -> Result<()> {
    let _lock = home::lock("server.lock")?;
    if let Some(running) = running()? {
        eprintln!("rig: it runs already; `make stop` first for a fresh one");
        println!("{}", running.connection);
        return Ok(());
    }
    let server = Server::start("server")?;
    server.create_extension("postgres")?;
    let connection = server.conn_string("postgres");
    let background = Background { dir: server.keep()?, connection };
    fs::write(state_file()?, serde_json::to_string(&background)?)?;
    println!("{}", background.connection);
    Ok(())
}

pub fn stop() -> Result<()> {
    let _lock = home::lock("server.lock")?;
    match read()? {
        Some(background) => site::end(&background.dir)?,
        None => eprintln!("rig: no server was started"),
    }
    forget()
}

/// Becomes psql. Comes back only if that fails.
pub fn psql(arguments: &[String]) -> Result<bool> {
    let Some(background) = running()? else { bail!("no server runs: `make server` first") };
    let mut psql = Command::new(Tree::ensure()?.program("psql"));
    let failed = psql.arg(background.connection).args(arguments).exec();
    Err(failed).context("cannot run psql")
}

/// Forgets the server, which has ended.
pub fn forget() -> Result<()> {
    let _ = fs::remove_file(state_file()?);
    Ok(())
}

fn running() -> Result<Option<Background>> {
    Ok(read()?.filter(|found| !process::working_in(&found.dir.join("data")).is_empty()))
}

fn read() -> Result<Option<Background>> {
    let written = fs::read_to_string(state_file()?).ok();
    written.map(|json| serde_json::from_str(&json).context("server.json is damaged")).transpose()
}

fn state_file() -> Result<PathBuf> {
    Ok(home::ensure()?.join("server.json"))
}
