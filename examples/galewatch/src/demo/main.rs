//! `make demo`: Galewatch's April night on real servers, once unguarded and once guarded.

mod ledger;
mod mover;
mod play;
mod report;
mod stage;
mod watch;

use anyhow::{Context, Result};
use clap::Parser;
use galewatch::night::Night;
use galewatch::picture;
use rig::home;
use stage::Stage;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Replays the night that lost a year of readings, on real servers: unguarded, then guarded.
#[derive(Parser)]
struct Args {
    /// Readings a turbine; more make the nights longer
    #[arg(long, default_value_t = 7_200)]
    readings: i32,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the story came out.
fn run(args: &Args) -> Result<bool> {
    let out = empty_directory()?;
    let mover = mover::program()?;
    let stage = Stage::set(args.readings)?;
    let nights = [night(&stage, &mover, &out, false)?, night(&stage, &mover, &out, true)?];
    let (lines, handovers) = stage.handovers()?;
    drop(stage);
    let leases = out.join("handovers.svg");
    fs::write(&leases, handovers).context("cannot write the handovers")?;
    report::handovers(&lines, &leases);
    let svg = out.join("timeline.svg");
    fs::write(&svg, picture::draw(&nights)).context("cannot write the picture")?;
    report::end(&nights, &svg);
    report::verdict(&nights)
}

fn night(stage: &Stage, mover: &Path, out: &Path, guarded: bool) -> Result<Night> {
    stage.prepare(guarded)?;
    let night = play::play(stage, mover, out, guarded)?;
    report::night(&night);
    Ok(night)
}

fn empty_directory() -> Result<PathBuf> {
    let out = home::checkout()?.join("target/demo");
    if out.exists() {
        fs::remove_dir_all(&out).context("cannot remove what the last demo left")?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    Ok(out)
}
