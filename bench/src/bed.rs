//! The private server that a part runs on: settings of its own, the same for every variant.

use crate::scale::Scale;
use anyhow::{Context, Result, bail};
use rig::{Server, home};
use std::fs;
use std::path::{Path, PathBuf};

/// The lease that the guarded tables are under, and the one that lives elsewhere (mode newest).
pub const LEASE: &str = "job/bench";
pub const FAR: &str = "job/far";
pub const FAR_TOKEN: i64 = 17;

/// What differs from PostgreSQL's defaults and from the rig's. The report shows them all.
const SETTINGS: [&str; 11] = [
    "fsync = on",
    "listen_addresses = ''",
    "shared_buffers = 1GB",
    "max_wal_size = 16GB",
    "min_wal_size = 2GB",
    "wal_keep_size = 1GB",
    "checkpoint_timeout = 1h",
    "autovacuum = off",
    "jit = off",
    "max_connections = 60",
    "track_io_timing = off",
];

pub struct Bed {
    pub server: Server,
    pub scale: Scale,
    /// Of [`LEASE`].
    pub token: i64,
    scripts: PathBuf,
}

impl Bed {
    /// A fresh server with the extension, one lease held, and the tables of sql/tables.sql.
    pub fn start(part: &str, scale: Scale) -> Result<Self> {
        let builder = Server::builder("bench");
        let server = SETTINGS.iter().fold(builder, |b, line| b.conf(line)).start()?;
        refuse_debug_builds(&server)?;
        server.create_extension("postgres")?;
        server.execute("postgres", include_str!("../sql/tables.sql"))?;
        let taken = format!("SELECT token FROM lease_acquire('{LEASE}', 'bench', '1 day')");
        let token = server.connect("postgres")?.query_one(&taken, &[])?.get(0);
        let scripts = output_dir(scale)?.join("scripts").join(part);
        fs::create_dir_all(&scripts)?;
        Ok(Self { server, scale, token, scripts })
    }

    /// Writes a script for pgbench, where a reader of the report can find it.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.scripts.join(format!("{name}.sql"));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// What pg_lease.token is set to, so that the guards of both leases let the session through.
    pub fn presented(&self) -> String {
        format!("{LEASE}={},{FAR}={FAR_TOKEN}", self.token)
    }

    /// What stands in the server's own configuration.
    pub fn settings(&self) -> Result<Vec<(String, String)>> {
        let changed = "SELECT name, current_setting(name) FROM pg_settings \
            WHERE source = 'configuration file' AND name !~ 'director|^port|cluster_name|log|lc_' \
            ORDER BY name";
        let rows = self.server.connect("postgres")?.query(changed, &[])?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}

/// Where the report, the plots and the scripts go. A tiny run must not overwrite a real one.
pub fn output_dir(scale: Scale) -> Result<PathBuf> {
    let dir = home::target()?.join(scale.pick("bench", "bench-tiny"));
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}

/// A number from a debug build is worse than none.
fn refuse_debug_builds(server: &Server) -> Result<()> {
    let asserts: String =
        server.connect("postgres")?.query_one("SHOW debug_assertions", &[])?.get(0);
    if asserts == "on" {
        bail!("this PostgreSQL is built with assertions: its numbers would mean nothing");
    }
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or_else(home::target, |d| Ok(d.into()))?;
    let installed = server.tree().own.pkglib.join("pg_lease.so");
    refuse_unless_same(&installed, &built.join("release/libpg_lease.so"))
}

fn refuse_unless_same(installed: &Path, release: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("no {}", path.display()));
    if read(installed)? != read(release)? {
        bail!(
            "{} is not the release build {}: a debug build's numbers would mean nothing",
            installed.display(),
            release.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_the_release_build_is_refused() -> Result<()> {
        let dir = output_dir(Scale::Tiny)?;
        let (one, other) = (dir.join("one.so"), dir.join("other.so"));
        fs::write(&one, "release")?;
        fs::write(&other, "debug")?;
        assert!(refuse_unless_same(&one, &one).is_ok());
        let refused = refuse_unless_same(&other, &one).map_err(|e| e.to_string());
        assert!(refused.is_err_and(|message| message.contains("is not the release build")));
        assert!(refuse_unless_same(&dir.join("none.so"), &one).is_err());
        [one, other].iter().try_for_each(fs::remove_file)?;
        Ok(())
    }
}
