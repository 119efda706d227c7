//! What `pg_config` says about an installation.

use crate::wheel;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directories of one PostgreSQL installation.
#[derive(Clone, Debug)]
pub struct PgConfig {
    pub program: PathBuf,
    pub version: String,
    pub bin: PathBuf,
    pub lib: PathBuf,
    pub pkglib: PathBuf,
    pub share: PathBuf,
    pub include_server: PathBuf,
    pub pgxs: PathBuf,
}

impl PgConfig {
    /// The installation that this checkout builds for: `PG_CONFIG`, else Debian's place for `PG`.
    pub fn chosen() -> Result<Self> {
        let program = chosen_program();
        if !program.is_file() {
            bail!("there is no {}: run `make deps`, or set PG_CONFIG", program.display());
        }
        Self::ask(&program)
    }

    pub fn ask(program: &Path) -> Result<Self> {
        let one = |what: &str| -> Result<PathBuf> { Ok(PathBuf::from(query(program, what)?)) };
        Ok(Self {
            program: program.to_path_buf(),
            version: query(program, "--version")?,
            bin: one("--bindir")?,
            lib: one("--libdir")?,
            pkglib: one("--pkglibdir")?,
            share: one("--sharedir")?,
            include_server: one("--includedir-server")?,
            pgxs: one("--pgxs")?,
        })
    }

    /// The major version, from a line such as `PostgreSQL 15.20 (Debian 15.20-0+deb12u1)`.
    pub fn major(&self) -> Result<u32> {
        let number = self.version.split_whitespace().nth(1).unwrap_or_default();
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().with_context(|| format!("no major version in \"{}\"", self.version))
    }

    /// The cargo feature that builds for this installation: `pg15`.
    pub fn feature(&self) -> Result<String> {
        Ok(format!("pg{}", self.major()?))
    }

    /// A test driver that comes with the server's headers: `regress/pg_regress`. Where it does not
    /// run (as in some wheels), that of Debian's 15: it talks to servers of any version.
    pub fn test_driver(&self, name: &str) -> Result<PathBuf> {
        let makefiles = self.pgxs.parent().context("pg_config --pgxs names no directory")?;
        let debian = Path::new("/usr/lib/postgresql/15/lib/pgxs/src/test");
        let places =
            [makefiles.join("../test"), makefiles.join("../../src/test"), debian.to_path_buf()];
        let found = places.iter().map(|place| place.join(name)).find(|driver| runs(driver));
        found.with_context(|| {
            format!("there is no {name} that runs: the server's development files are missing")
        })
    }
}

/// Whether a program is there and says its version.
pub fn runs(program: &Path) -> bool {
    let mut asked = Command::new(program);
    program.is_file() && asked.arg("--version").output().is_ok_and(|told| told.status.success())
}

/// The major version asked for: `PG`, or 15.
pub fn wanted_major() -> String {
    std::env::var("PG").unwrap_or_else(|_| "15".into())
}

/// The `pg_config` asked for, whether or not it exists: `PG_CONFIG`, else Debian's, else that of a
/// wheel.
pub fn chosen_program() -> PathBuf {
    if let Some(named) = std::env::var_os("PG_CONFIG") {
        return named.into();
    }
    let major = wanted_major();
    let debian = PathBuf::from(format!("/usr/lib/postgresql/{major}/bin/pg_config"));
    let of_wheel = || wheel::program(&major);
    if debian.is_file() { debian } else { of_wheel().unwrap_or(debian) }
}

fn query(program: &Path, what: &str) -> Result<String> {
    let asked = Command::new(program).arg(what).output();
    let output = asked.with_context(|| format!("cannot run {}", program.display()))?;
    if !output.status.success() {
        bail!("{} {what}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
