//! Taking away all that this checkout made, and nothing else.

use anyhow::{Context, Result};
use rig::{home, site};
use std::fs;
use std::path::Path;

pub fn all() -> Result<()> {
    if home::path()?.exists() {
        empty_home()?;
    }
    remove(&home::target()?)
}

/// The home may be a directory that somebody chose: only what we put there is removed.
fn empty_home() -> Result<()> {
    for dir in site::all()? {
        eprintln!("rig: ending {}", dir.display());
        site::end(&dir)?;
    }
    let home = home::ensure()?;
    for entry in fs::read_dir(&home)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.trim_end_matches("-mutants").strip_prefix("pg");
        let tree = number.is_some_and(|n| n.parse::<u32>().is_ok());
        let tree = tree || name.starts_with("clock-");
        let ours = ["run", "server.json", rig::wheel::DIRECTORY];
        if tree || ours.contains(&name.as_str()) || name.ends_with(".lock") {
            remove(&entry.path())?;
        }
    }
    let _ = fs::remove_dir(&home);
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(fs::remove_file(path)?);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
