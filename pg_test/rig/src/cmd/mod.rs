//! The subcommands, one a file.

pub mod background;
pub mod clean;
pub mod deps;
pub mod lint;
pub mod pgspot;
pub mod suite;
pub mod tally;
pub mod test;

use anyhow::{Context, Result};
use rig::install;
use rig::pg_config::PgConfig;
use std::path::Path;
use std::process::Command;

/// A cargo command in the checkout, with our tools and settings.
pub fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(rig::home::checkout()?);
    install::with_tools(&mut cargo)?;
    Ok(cargo)
}

/// Installs the extension where somebody asked for it, in so many words.
pub fn install_into(arguments: &[String]) -> Result<()> {
    let program = arguments.first().context("install needs the path of a pg_config")?;
    install::into(&PgConfig::ask(Path::new(program))?)
}
