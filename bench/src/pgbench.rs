//! One cell: pgbench with prepared statements for a while, and what it says.

use crate::bed::Bed;
use crate::scale::Length;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Stdio;

/// What one run of pgbench is told.
#[derive(Clone, Debug)]
pub struct Cell {
    /// With several, each transaction picks one at random.
    pub scripts: Vec<PathBuf>,
    pub database: &'static str,
    pub clients: u32,
    pub length: Length,
    /// Settings of the sessions.
    pub settings: Vec<String>,
    /// Variables of the scripts.
    pub variables: Vec<String>,
}

/// What it answered.
#[derive(Clone, Debug)]
pub struct Ran {
    pub per_second: f64,
    /// For each script, where there are several.
    pub latencies_ms: Vec<f64>,
}

impl Cell {
    pub fn new(script: PathBuf, clients: u32, length: Length) -> Self {
        let (settings, variables) = (Vec::new(), Vec::new());
        Self { scripts: vec![script], database: "postgres", clients, length, settings, variables }
    }

    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push(format!("-c {name}={value}"));
        self
    }

    pub fn variable(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.push(format!("--define={name}={}", value.to_string()));
        self
    }

    pub fn run(&self, bed: &Bed) -> Result<Ran> {
        let mut pgbench = bed.server.client("pgbench", self.database);
        pgbench.args(["--no-vacuum", "--protocol=prepared"]).args(&self.variables);
        pgbench.arg(format!("--client={}", self.clients));
        pgbench.arg(format!("--jobs={}", self.clients.min(2)));
        pgbench.arg(match self.length {
            Length::Seconds(seconds) => format!("--time={seconds}"),
            Length::Transactions(count) => format!("--transactions={count}"),
        });
        pgbench.args(self.scripts.iter().map(|script| format!("--file={}", script.display())));
        pgbench.env("PGOPTIONS", self.settings.join(" ")).stdin(Stdio::null());
        let output = pgbench.output().context("cannot run pgbench")?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !said.contains("\nnumber of failed transactions: 0 ") {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("pgbench with {:?} failed: {said}\n{errors}", self.scripts);
        }
        read(&said)
    }
}

fn read(said: &str) -> Result<Ran> {
    let per_second = after(said, "\ntps = ").context("pgbench gave no rate")?;
    let of_scripts = said.split("SQL script ").skip(1);
    let latencies_ms = of_scripts.filter_map(|part| after(part, "latency average = ")).collect();
    Ok(Ran { per_second, latencies_ms })
}

/// The number that follows `label`.
fn after(text: &str, label: &str) -> Option<f64> {
    text.split_once(label)?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_pgbench_prints() -> Result<()> {
        let said = "number of failed transactions: 0 (0.000%)\nlatency average = 0.176 ms\n\
            tps = 5690.1 (without initial connection time)\nSQL script 1: a.sql\n - weight: 1\n\
            - 5 transactions (50.0% of total, tps = 2845.0)\n - latency average = 0.171 ms\n\
            SQL script 2: b.sql\n - latency average = 0.180 ms\n";
        let ran = read(said)?;
        assert_eq!(ran.per_second, 5690.1);
        assert_eq!(ran.latencies_ms, [0.171, 0.180]);
        Ok(())
    }
}
