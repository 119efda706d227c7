//! `rig`: what the Makefile's targets do.

mod cmd;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: rig COMMAND
  deps                  install what is missing to build and test
  tree                  copy PostgreSQL privately, build the extension, install it into the copy
  install PG_CONFIG     build the extension and install it into that PostgreSQL
  server                start a private server in the background, print its connection string
  stop                  stop it and remove its data
  psql [ARGUMENTS]      open psql on it
  unit, regress, isolation, system [--accept] [NAMES]
                        run one kind of tests; --accept takes the output as the expected one
  test                  run all kinds
  slow [NAMES]          the system tests that take minutes
  hostile [NAMES]       the hostile tests alone; HOSTILE=full makes them long
  pgspot                look for ways to abuse the SQL scripts
  lint                  check the form and the compiler's warnings
  packages NAMES        install these Debian packages unless they are there
  home                  print where the private files of this checkout lie
  clean                 stop the servers of this checkout and remove what it made";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rig: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well. An error means that the question could not be answered.
fn run(arguments: &[String]) -> Result<bool> {
    let (command, rest) = arguments.split_first().map_or(("help", arguments), |(c, r)| (c, r));
    match command {
        "deps" => cmd::deps::install_missing().map(|()| true),
        "tree" => rig::Tree::ready().map(|_| true),
        "install" => cmd::install_into(rest).map(|()| true),
        "server" => cmd::background::start().map(|()| true),
        "stop" => cmd::background::stop().map(|()| true),
        "psql" => cmd::background::psql(rest),
        "unit" | "regress" | "isolation" | "system" | "hostile" | "slow" => {
            cmd::test::one(command, rest)
        }
        "test" => cmd::test::all(),
        "pgspot" => cmd::pgspot::all(),
        "lint" => cmd::lint::all(),
        "packages" => cmd::deps::ensure_packages(rest).map(|()| true),
        "home" => rig::home::path().map(|home| println!("{}", home.display())).map(|()| true),
        "clean" => cmd::clean::all().map(|()| true),
        _ => bail!("{USAGE}"),
    }
}
