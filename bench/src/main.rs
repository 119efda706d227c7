//! `bench [tiny] [PART…]`: runs the parts named, or all; tiny to see that they work.

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
    let words = arguments.iter().flat_map(|a| a.split(','));
    let (tiny, names): (Vec<&str>, Vec<&str>) = words.partition(|word| *word == "tiny");
    let tiny = !tiny.is_empty();
    if cfg!(debug_assertions) && !tiny {
        bail!("this is a debug build of the harness: use `make bench`");
    }
    let scale = if tiny { Scale::Tiny } else { Scale::Full };
    let report = bench::run(&names, scale)?;
    println!("{}", report.display());
    Ok(())
}
