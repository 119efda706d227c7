//! The form of the code and the compiler's warnings. The repository's own rules are tests.

use super::cargo;
use anyhow::Result;

pub fn all() -> Result<bool> {
    let formatted = run(&["fmt", "--all", "--check"])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    Ok(run(&clippy)? && formatted)
}

fn run(arguments: &[&str]) -> Result<bool> {
    eprintln!("rig: cargo {}", arguments.join(" "));
    Ok(cargo(arguments)?.status()?.success())
}
