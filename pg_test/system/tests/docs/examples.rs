//! What README.md and docs/ show happens: every SQL block runs, and prints what the block of text
//! under it shows, tokens and times aside.
//!
//! A page is one psql session in a database of its own. A block that is not meant to run says so:
//! ```` ```sql fragment ````. One without a block of text under it must run without an error.

use crate::pages::{self, Page};
use anyhow::{Context, Result, ensure};
use rig::{Server, home};
use std::io::Write;
use std::process::{Command, Stdio};

/// Printed by psql after each block.
const END: &str = "-- end of block --";

/// Breaks when an example fails, or when what the server says is not what the page shows.
#[test]
fn every_example_runs_as_shown() -> Result<()> {
    let server = Server::start("pages")?;
    let mut wrong = Vec::new();
    let mut ran = 0;
    for page in pages::all(&home::checkout()?)? {
        let examples = examples(&page.text);
        if examples.is_empty() {
            continue;
        }
        ran += examples.len();
        wrong.extend(differences(&server, &page, &examples)?);
    }
    ensure!(ran > 0, "no page has an example");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

/// Breaks when the README's error is not the one that a stale writer gets.
#[test]
fn the_readme_shows_a_stale_writer_refused() -> Result<()> {
    let page = pages::one(&home::checkout()?, "README.md")?;
    let examples = examples(&page.text);
    let refused = "ERROR:  lease \"arbitrum\" is no longer held with token ";
    let first = examples.first().context("the README has no example")?;
    let shown = first.shown.as_deref().context("the README's example shows nothing")?;
    ensure!(shown.contains(refused), "the README's first example shows: {shown}");
    let lines = first.sql.lines().filter(|line| !line.starts_with("--"));
    ensure!(lines.count() <= 12, "more than twelve lines of SQL");
    Ok(())
}

#[test]
fn tokens_and_times_are_set_aside_and_nothing_else() {
    let shown = "token 28742123456789, since 2026-11-29 18:00:00.123456 UTC, 15 s, 2 of 19457";
    assert_eq!(settled(shown), "token N, since D T UTC, 15 s, 2 of 19457");
    assert_eq!(settled("'a=28742123456789,b=17'\n"), "'a=N,b=17'");
}

struct Example {
    line: usize,
    sql: String,
    /// What the page says that it prints.
    shown: Option<String>,
}

/// The SQL blocks of a page that are meant to run, each with the block of text under it.
fn examples(text: &str) -> Vec<Example> {
    let blocks = pages::blocks(text);
    let runs = blocks.iter().enumerate().filter(|(_, block)| block.kind == "sql");
    runs.map(|(at, block)| {
        let under = blocks.get(at + 1).filter(|next| next.kind == "text" && next.follows);
        let shown = under.map(|next| next.text.clone());
        Example { line: block.line, sql: block.text.clone(), shown }
    })
    .collect()
}

fn differences(server: &Server, page: &Page, examples: &[Example]) -> Result<Vec<String>> {
    let database = page.name.replace(['/', '.'], "_");
    server.create_database(&database)?;
    if !page.text.contains("CREATE EXTENSION pg_lease;") {
        server.create_extension(&database)?;
    }
    let printed = run(server, &database, examples)?;
    let printed: Vec<&str> = printed.split(END).collect();
    ensure!(printed.len() == examples.len() + 1, "{}: psql stopped: {printed:?}", page.name);
    let pairs = examples.iter().zip(printed);
    Ok(pairs.filter_map(|(example, printed)| difference(page, example, printed)).collect())
}

fn difference(page: &Page, example: &Example, printed: &str) -> Option<String> {
    let place = format!("{}:{}", page.name, example.line);
    match &example.shown {
        Some(shown) if settled(shown) == settled(printed) => None,
        Some(shown) => Some(format!("{place} shows\n{shown}but it printed\n{}", printed.trim())),
        None if printed.contains("ERROR:") => Some(format!("{place} failed:\n{}", printed.trim())),
        None => None,
    }
}

/// What psql prints, rows and errors together, in the order in which they came.
fn run(server: &Server, database: &str, examples: &[Example]) -> Result<String> {
    let psql = server.client("psql", database);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"exec "$0" -X -q 2>&1"#]).arg(psql.get_program());
    for (name, value) in psql.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut script = String::new();
    for example in examples {
        script.push_str(&format!("{}\\echo '{END}'\n", example.sql));
    }
    child.stdin.take().context("no stdin")?.write_all(script.as_bytes())?;
    Ok(String::from_utf8(child.wait_with_output()?.stdout)?)
}

/// A text without what differs from run to run: tokens, dates and times, spaces at the ends.
fn settled(text: &str) -> String {
    let lines = text.trim().lines().map(|line| {
        let words: Vec<String> = line.trim_end().split(' ').map(settled_word).collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn settled_word(word: &str) -> String {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if shape == "0000-00-00" {
        return "D".to_owned();
    }
    if shape.starts_with("00:00:00") {
        return "T".to_owned();
    }
    without_tokens(word)
}

/// No other number on a page has as many digits as a token.
fn without_tokens(word: &str) -> String {
    const DIGITS: usize = 13;
    let mut left = String::new();
    let mut digits = String::new();
    for c in word.chars().chain(std::iter::once('\n')) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        left.push_str(if digits.len() >= DIGITS { "N" } else { &digits });
        digits.clear();
        left.push(c);
    }
    left.pop();
    left
}
