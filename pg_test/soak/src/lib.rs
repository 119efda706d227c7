//! The fault test: real processes, faults, and a check of the whole history.
//!
//! | module | what it knows |
//! |---|---|
//! | `scenario` | the servers of each part of a run, and what is done to them |
//! | `worker` | a client: a process that takes leases, works under them, and writes down what it is told |
//! | `crew` | starting, killing and dismissing clients |
//! | `nemesis` | faults, and what was in the way of a takeover when |
//! | `history` | what each client asked for and was told |
//! | `node` | what a server has committed, in order |
//! | `check` | whether all that is as it must be |
//! | `part`, `report` | what it comes to |
//! | `stage`, `dice`, `clock` | the database, choices from the seed, the test's own time |

pub mod check;
pub mod clock;
pub mod crew;
pub mod dice;
pub mod history;
pub mod nemesis;
pub mod node;
pub mod part;
pub mod report;
pub mod scenario;
pub mod stage;
pub mod worker;

use anyhow::{Context, Result};
use report::Report;
use scenario::Run;
use scenario::failover::{self, Standby};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a run lasts unless SOAK_SECONDS says otherwise.
const SECONDS: u64 = 600;

/// Runs all scenarios. Whether all is well.
pub fn soak() -> Result<bool> {
    let seed = number("SEED")?.unwrap_or_else(|| u64::from(fastrand::u32(..)));
    let seconds = number("SOAK_SECONDS")?.unwrap_or(SECONDS);
    println!("soak: SEED={seed} SOAK_SECONDS={seconds} make soak");
    let began = Instant::now();
    let directory = directory(seed)?;
    let tree = rig::Tree::ready()?;
    let mut report = Report::new(seed, seconds, tree.own.version.clone());
    play(&mut report, &directory, began, Duration::from_secs(seconds))?;
    report.seconds = began.elapsed().as_secs();
    print!("{}", report.text());
    report.write(&directory)?;
    println!("written to {}", directory.display());
    println!("{}", report.last_line());
    Ok(report.passed())
}

/// The scenarios, one after the other: each has its share of the time, and the one with the most
/// faults has what is left.
fn play(report: &mut Report, directory: &Path, began: Instant, whole: Duration) -> Result<()> {
    let seed = report.seed;
    let share = |percent| whole * percent / 100;
    let run = |name: &str, lasts| Run { seed, directory: directory.join(name), lasts };
    let (part, caught) = scenario::mutants::run(&run("mutants", whole))?;
    report.total.add(part);
    report.mutants = caught;
    report.total.add(scenario::network::run(&run("network", share(9)))?);
    let part = failover::run(&run("asynchronous", share(20)), Standby::Asynchronous)?;
    report.total.add(part);
    let part = failover::run(&run("synchronous", share(18)), Standby::Synchronous)?;
    report.total.add(part);
    let left = whole.saturating_sub(began.elapsed()).max(share(15));
    report.total.add(scenario::single::run(&run("single", left))?);
    Ok(())
}

fn number(name: &str) -> Result<Option<u64>> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.map(|v| v.parse().with_context(|| format!("{name}={v} is not a number"))).transpose()
}

/// Where this run's histories and its report go.
fn directory(seed: u64) -> Result<PathBuf> {
    let directory = rig::home::target()?.join("soak").join(format!("seed-{seed}"));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory)?;
    Ok(directory)
}
