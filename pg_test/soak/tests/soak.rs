//! A minute of the fault test: no violation, and every mutant is found.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

#[test]
fn a_minute_of_faults() -> Result<()> {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_soak"));
    soak.env("SOAK_SECONDS", "60").stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = soak.output().context("cannot run soak")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    ensure!(output.status.success(), "{}", output.status);
    let last = said.lines().last().unwrap_or_default();
    ensure!(last == "violations: 0, mutants killed: 8 of 8", "{last}");
    Ok(())
}
