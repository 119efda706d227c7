//! `bench [PART…|tiny]`: runs the parts named, or all.

use anyhow::{Result, bail};
use bench::scale::Scale;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().flat_map(|a| a.split(',')).collect();
    let tiny = names == ["tiny"];
    if cfg!(debug_assertions) && !tiny {
        bail!("this is a debug build of the harness: use `make bench`");
    }
    let scale = if tiny { Scale::Tiny } else { Scale::Full };
    let report = bench::run(if tiny { &[] } else { &names }, scale)?;
    println!("{}", report.display());
    Ok(())
}
