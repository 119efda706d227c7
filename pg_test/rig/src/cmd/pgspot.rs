//! pgspot, which looks for ways to abuse a script of SQL. It comes from PyPI, at these versions, into
//! target/tools.

use anyhow::{Context, Result, ensure};
use rig::Tree;
use rig::home;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PACKAGES: [&str; 2] = ["pgspot==0.9.4", "pglast==7.21"];

/// How its report ends when it has found nothing.
const NOTHING: &str = "Errors: 0 Warnings: 0 Unknown: 0";

/// Looks at the script that CREATE EXTENSION runs, and at those that people run by hand.
pub fn all() -> Result<bool> {
    let pgspot = installed()?;
    let mut scripts = vec![install_script()?];
    let by_hand = home::checkout()?.join("sql/remote_fence.sql");
    scripts.extend(by_hand.is_file().then_some(by_hand));
    let mut clean = true;
    for script in scripts {
        eprintln!("rig: pgspot {}", script.display());
        let said = Command::new(&pgspot).arg(&script).output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        println!("{}", said.trim());
        clean &= said.contains(NOTHING);
    }
    Ok(clean)
}

fn install_script() -> Result<PathBuf> {
    let directory = Tree::ready()?.own.share.join("extension");
    let is_script = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("pg_lease--") && name.ends_with(".sql") && name.matches("--").count() == 1
    };
    let files = std::fs::read_dir(&directory)?.flatten().map(|entry| entry.path());
    files.into_iter().find(is_script).context("the extension has no script")
}

fn installed() -> Result<PathBuf> {
    let environment = home::target()?.join("tools/pgspot");
    let program = environment.join("bin/pgspot");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = environment.join("bin/pip");
        run(Command::new(pip).args(["install", "--quiet"]).args(PACKAGES))?;
    }
    Ok(program)
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_owned();
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = status.with_context(|| format!("cannot run {}", Path::new(&name).display()))?;
    ensure!(status.success(), "{} failed ({status})", Path::new(&name).display());
    Ok(())
}
