//! `soak`: the fault test. It starts itself again as `soak client`, once for each client.

use anyhow::{Context, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        None => soak::soak(),
        Some("client") => client(&arguments).map(|()| true),
        Some(_) => {
            eprintln!("usage: SEED=… SOAK_SECONDS=… soak");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn client(arguments: &[String]) -> Result<()> {
    let order = arguments.get(1).context("usage: soak client ORDER")?;
    soak::worker::run(serde_json::from_str(order)?)
}
