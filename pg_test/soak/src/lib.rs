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
pub mod pgoutput;
pub mod report;
pub mod scenario;
pub mod stage;
pub mod worker;

use anyhow::{Context, Result, ensure};
use part::Part;
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
    if report.passed() {
        forget_histories(&directory)?;
    }
    println!("written to {}", directory.display());
    println!("{}", report.last_line());
    Ok(report.passed())
}

/// A scenario, and its share of the time in percent.
type Scenario = (&'static str, u32, fn(&Run) -> Result<Part>);

/// In this order; the last one has what is left of the time.
const SCENARIOS: [Scenario; 4] = [
    ("network", 9, scenario::network::run),
    ("asynchronous", 20, |run| failover::run(run, Standby::Asynchronous)),
    ("synchronous", 18, |run| failover::run(run, Standby::Synchronous)),
    ("single", 15, scenario::single::run),
];
const MUTANTS: &str = "mutants";

/// All scenarios, or the one that ONLY names.
fn play(report: &mut Report, directory: &Path, began: Instant, whole: Duration) -> Result<()> {
    let only = std::env::var("ONLY").ok().filter(|only| !only.is_empty());
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let seed = report.seed;
    let run = |name: &str, lasts| Run { seed, directory: directory.join(name), lasts };
    let names = SCENARIOS.map(|(name, ..)| name);
    if let Some(only) = &only {
        ensure!(only == MUTANTS || names.contains(&only.as_str()), "there is no scenario {only}");
    }
    if wanted(MUTANTS) {
        let (part, caught) = scenario::mutants::run(&run(MUTANTS, whole))?;
        report.total.add(part);
        report.mutants = caught;
    }
    for (name, percent, play) in SCENARIOS.iter().filter(|(name, ..)| wanted(name)) {
        let left = whole.saturating_sub(began.elapsed());
        let least = whole * *percent / 100;
        let last = only.is_some() || *name == names[names.len() - 1];
        let part = play(&run(name, if last { left.max(least) } else { least }))?;
        println!("{name}: {} operations, {} violations", part.count_all(), part.violations.len());
        report.total.add(part);
    }
    Ok(())
}

fn number(name: &str) -> Result<Option<u64>> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.map(|v| v.parse().with_context(|| format!("{name}={v} is not a number"))).transpose()
}

/// Only those of a run that failed are of interest.
fn forget_histories(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Where this run's histories and its report go.
fn directory(seed: u64) -> Result<PathBuf> {
    let directory = rig::home::target()?.join("soak").join(format!("seed-{seed}"));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory)?;
    Ok(directory)
}
