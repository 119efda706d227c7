//! The mover: copies turbine after turbine from one shard to another, under a lease.
//!
//! It knows nothing of the demo. It presents its token on both shards, and what the shards make of
//! that is not its business.

mod args;
mod claim;
mod failure;
mod shards;
mod work;

use anyhow::{Context, Result};
use args::Args;
use claim::Claim;
use clap::Parser;
use galewatch::log::Log;
use nix::sys::{prctl, signal::Signal};
use shards::Shards;
use std::io::stdout;
use std::process::ExitCode;
use work::End;

const LOST: u8 = 3;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(End::Finished) => ExitCode::SUCCESS,
        Ok(End::Lost) => ExitCode::from(LOST),
        Err(error) => {
            eprintln!("mover: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<End> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot ask to end with my parent")?;
    let mut log = Log::new(stdout(), &args.name);
    let mut claim = Claim::wait_for(args, &mut log)?;
    let mut shards = Shards::connect(args, claim.token)?;
    shards.announce(claim.token)?;
    work::move_all(&mut claim, &mut shards, &mut log)
}
