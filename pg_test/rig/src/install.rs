//! Building the extension into the tree, when its sources have changed.

use crate::home;
use crate::pg_config::PgConfig;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// What the extension is made of, below the checkout.
const SOURCES: [&str; 6] = ["src", "sql", "Cargo.toml", "Cargo.lock", "pg_lease.control", ".cargo"];
const STAMP: &str = "installed-from";

/// Set for the tests of one run, so that sources edited meanwhile do not change under them.
pub const SETTLED: &str = "PG_LEASE_INSTALLED";

/// The cargo feature that builds the ways to break the extension in (`src/mutant.rs`).
pub const MUTANTS: &str = "mutants";

/// Builds and installs the extension unless the tree holds what the sources make.
pub fn ensure(tree: &Tree) -> Result<()> {
    let settled = std::env::var_os(SETTLED).is_some() && tree.root.join(STAMP).exists();
    if settled { Ok(()) } else { ensure_with(tree, "") }
}

/// The same with the mutants: only the fault test asks for it, so it is built when that runs.
pub fn ensure_breakable(tree: &Tree) -> Result<()> {
    ensure_with(tree, MUTANTS)
}

fn ensure_with(tree: &Tree, feature: &str) -> Result<()> {
    let stamp = tree.root.join(STAMP);
    let _lock = home::lock("install.lock")?;
    let sources = fingerprint(tree)?;
    if fs::read_to_string(&stamp).ok().as_deref() == Some(&sources) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    write_pgrx_config(&tree.origin)?;
    build(&tree.own, feature)?;
    fs::write(&stamp, sources)?;
    Ok(())
}

/// pgrx's settings: which PostgreSQL to make bindings for. The original one, because a change of
/// this file makes pgrx build everything anew, and the tree may be removed at any time.
pub fn write_pgrx_config(origin: &PgConfig) -> Result<()> {
    let dir = pgrx_home()?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let path = dir.join("config.toml");
    let old = fs::read_to_string(&path).unwrap_or_default();
    let feature = origin.feature()?;
    let others = old.lines().filter(|l| l.starts_with("pg") && !l.starts_with(&feature));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(format!("{feature} = {:?}", origin.program));
    lines.sort_unstable();
    let new = format!("[configs]\n{}\n", lines.join("\n"));
    if new != old {
        fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Builds the extension and installs it into a PostgreSQL.
pub fn into(postgres: &PgConfig) -> Result<()> {
    build(postgres, "")
}

fn build(postgres: &PgConfig, feature: &str) -> Result<()> {
    eprintln!("rig: building pg_lease and installing it into {}", postgres.pkglib.display());
    let began = SystemTime::now();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"umask 022; exec "$@" >&2"#, "install"]);
    command.args(["cargo", "pgrx", "install", "--release", "--pg-config"]);
    command.arg(&postgres.program).args(["--no-default-features", "--features"]);
    command
        .arg(format!("{} {feature}", postgres.feature()?))
        .current_dir(home::checkout()?)
        .stdin(Stdio::null());
    let status = with_tools(&mut command)?.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("the extension did not build ({status})");
    }
    remove_older(&postgres.share.join("extension"), began)
}

fn pgrx_home() -> Result<PathBuf> {
    Ok(home::target()?.join("pgrx"))
}

/// Gives a command our tools and pgrx's settings, and takes from it what `cargo run` told us
/// about the crate that *we* are.
pub fn with_tools(command: &mut Command) -> Result<&mut Command> {
    let tools = home::target()?.join("tools/bin");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", tools.display())).env("PGRX_HOME", pgrx_home()?);
    for (name, _) in std::env::vars_os() {
        let ours =
            ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if ours.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    Ok(command)
}

/// Scripts of ours that this build did not write come from an older checkout.
fn remove_older(extension_dir: &Path, began: SystemTime) -> Result<()> {
    for entry in fs::read_dir(extension_dir)? {
        let entry = entry?;
        let ours = entry.file_name().to_string_lossy().starts_with("pg_lease");
        if ours && entry.metadata()?.modified()? < began - std::time::Duration::from_secs(2) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A number that changes with any source file, or with the installation built for.
fn fingerprint(tree: &Tree) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    tree.origin.version.hash(&mut hasher);
    tree.origin.program.hash(&mut hasher);
    let checkout = home::checkout()?;
    for source in SOURCES {
        hash_into(&checkout.join(source), &mut hasher)?;
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn hash_into(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    path.hash(hasher);
    if path.is_dir() {
        let listed: std::io::Result<Vec<_>> = fs::read_dir(path)?.collect();
        let mut entries: Vec<PathBuf> = listed?.iter().map(fs::DirEntry::path).collect();
        entries.sort();
        return entries.iter().try_for_each(|entry| hash_into(entry, hasher));
    }
    match fs::read(path) {
        Ok(bytes) => bytes.hash(hasher),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0.hash(hasher),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    }
    Ok(())
}
