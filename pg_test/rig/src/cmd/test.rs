//! The kinds of tests, one by one or all together.

use super::cargo;
use super::suite::{ISOLATION, REGRESS};
use super::tally::Tally;
use anyhow::{Context, Result};
use rig::Tree;
use rig::install::SETTLED;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const KINDS: [&str; 4] = ["unit", "regress", "isolation", "system"];

/// Every crate but the extension, which is built for one PostgreSQL.
const PROGRAMS: [&str; 3] = ["--workspace", "--exclude", "pg_lease"];

/// Runs one kind, and ends with its count.
pub fn one(kind: &str, arguments: &[String]) -> Result<bool> {
    let accept = arguments.iter().any(|argument| argument == "--accept");
    let names: Vec<String> = arguments.iter().filter(|a| *a != "--accept").cloned().collect();
    let tally = run(kind, &names, accept)?;
    println!("{tally}");
    Ok(accept || tally.all_passed())
}

/// Runs all kinds, whatever becomes of each, and ends with a table and the sum.
pub fn all() -> Result<bool> {
    let mut rows = Vec::new();
    for kind in KINDS {
        println!("\n== {kind} tests ==");
        let began = Instant::now();
        let tally = run(kind, &[], false).unwrap_or_else(|error| {
            println!("{kind} tests could not be run: {error:#}");
            Tally { passed: 0, failed: 1 }
        });
        rows.push((kind, something_ran(kind, tally), began.elapsed()));
    }
    print_table(&rows);
    let sum = rows.iter().fold(Tally::default(), |sum, row| sum + row.1);
    println!("{sum}");
    Ok(sum.all_passed())
}

fn run(kind: &str, names: &[String], accept: bool) -> Result<Tally> {
    match kind {
        "unit" => unit(names),
        "regress" => REGRESS.run(names, accept),
        "isolation" => ISOLATION.run(names, accept),
        "hostile" => hostile(names),
        "slow" => slow(names),
        _ => system(names),
    }
}

/// Tests that lie beside what they test and need no server: the extension's rules, our programs.
fn unit(names: &[String]) -> Result<Tally> {
    let feature = Tree::ensure()?.origin.feature()?;
    let extension = ["-p", "pg_lease", "--no-default-features", "--features", &feature];
    let rules = cargo_test(&extension, names)?;
    let programs = cargo_test(&[&PROGRAMS[..], &["--lib", "--bins"]].concat(), names)?;
    let examples = cargo_test(&[&PROGRAMS[..], &["--doc"]].concat(), names)?;
    Ok(rules + programs + examples)
}

/// Tests in `tests/` directories: real servers, real processes.
fn system(names: &[String]) -> Result<Tally> {
    Tree::ready()?;
    cargo_test(&[&PROGRAMS[..], &["--test", "*"]].concat(), names)
}

/// System tests that take minutes, which `make test` leaves out.
fn slow(names: &[String]) -> Result<Tally> {
    Tree::ready()?;
    let names = [names, &["--ignored".to_owned(), "--nocapture".to_owned()]].concat();
    cargo_test(&["-p", "system-tests", "--tests"], &names)
}

/// A part of the system tests, with what they have counted.
fn hostile(names: &[String]) -> Result<Tally> {
    Tree::ready()?;
    let names = [names, &["--nocapture".to_owned()]].concat();
    cargo_test(&["-p", "system-tests", "--test", "hostile"], &names)
}

fn cargo_test(what: &[&str], names: &[String]) -> Result<Tally> {
    let mut test = cargo(&["test", "--no-fail-fast"])?;
    test.args(what).arg("--").args(names).env("RUST_LIB_BACKTRACE", "0").env(SETTLED, "1");
    let (said, success) = tee(&mut test)?;
    Ok(Tally::of_cargo(&said).after(success))
}

/// Runs a program, showing what it prints and keeping it too.
pub fn tee(command: &mut Command) -> Result<(String, bool)> {
    let name = command.get_program().display().to_string();
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {name}"))?;
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().context("no stdout")?).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        said.push_str(&line);
        said.push('\n');
    }
    Ok((said, child.wait()?.success()))
}

/// A kind of which nothing ran has not passed.
fn something_ran(kind: &str, tally: Tally) -> Tally {
    if tally == Tally::default() {
        println!("no {kind} test ran: that is a failure");
        return Tally { passed: 0, failed: 1 };
    }
    tally
}

fn print_table(rows: &[(&str, Tally, Duration)]) {
    println!("\n{:<12}{:>8}{:>8}{:>10}", "kind", "passed", "failed", "seconds");
    for (kind, tally, took) in rows {
        println!("{kind:<12}{:>8}{:>8}{:>10}", tally.passed, tally.failed, took.as_secs());
    }
}
