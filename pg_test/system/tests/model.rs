//! The design holds in every state of its models, and each mutant of a model is found out.

use anyhow::{Context, Result, ensure};
use rig::home::checkout;
use std::process::{Command, Stdio};

/// How many models there are, and how many mutants of them, at the least.
const LEAST: u32 = 30;

#[test]
fn every_model_is_sound_and_every_mutant_is_found() -> Result<()> {
    let mut check = Command::new(checkout()?.join("pg_test/model/check.sh"));
    let output = check.stdin(Stdio::null()).output().context("cannot run check.sh")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}", output.status);
    let last = said.lines().last().unwrap_or_default();
    let passed = last.strip_suffix(" passed, 0 failed").and_then(|passed| passed.parse().ok());
    ensure!(passed.is_some_and(|passed: u32| passed >= LEAST), "{last}");
    Ok(())
}
