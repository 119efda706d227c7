//! The repository keeps its own rules: one version everywhere, one door each to unsafe code and to
//! SQLSTATEs, one clock, short files and functions, a comment on each SQL function.

use anyhow::{Context, Result, ensure};
use rig::home::checkout;
use std::fs;
use std::path::Path;

const LONGEST_FILE: usize = 700;
const LONGEST_FUNCTION: usize = 70;

/// Where SQLSTATEs are told, and where one of them is caught.
const DOORS_TO_SQLSTATES: [&str; 3] =
    ["src/pg/report.rs", "src/pg/subxact.rs", "src/pg/sequence.rs"];

/// Built only for the fault test, and there to be wrong.
const MUTANTS: &str = "src/pg/mutants.rs";

/// Clocks that stand still: at BEGIN, or at the statement. `pg_catalog` has the first one too.
const STOPPED_CLOCKS: [&str; 7] = [
    "pg_catalog.now(",
    "transaction_timestamp",
    "statement_timestamp",
    "current_timestamp",
    "localtimestamp",
    "getcurrenttransactionstarttimestamp",
    "getcurrentstatementstarttimestamp",
];

/// A file of the repository: its path from the root, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Its lines without what is said in comments, and their numbers from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let mark = if self.path.ends_with(".sql") { "--" } else { "//" };
        let code = move |line: &'_ str| line.find(mark).unwrap_or(line.len());
        (1..).zip(self.text.lines().map(move |line| &line[..code(line)]))
    }

    /// `path:number: line` for each line of code that breaks a rule.
    fn breaches(&self, breaks: impl Fn(&str) -> bool) -> Vec<String> {
        let broken = self.code().filter(|(_, line)| breaks(line));
        broken.map(|(number, line)| format!("{}:{number}: {}", self.path, line.trim())).collect()
    }
}

fn read(path: &str) -> Result<String> {
    let file = checkout()?.join(path);
    fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))
}

/// All files below a directory whose name ends like this.
fn sources(directory: &str, ending: &str) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    collect(&checkout()?, Path::new(directory), ending, &mut found)?;
    ensure!(!found.is_empty(), "there is no *{ending} below {directory}");
    Ok(found)
}

fn collect(root: &Path, directory: &Path, ending: &str, found: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, ending, found)?;
        } else if path.to_string_lossy().ends_with(ending) {
            let text = fs::read_to_string(root.join(&path))?;
            found.push(Source { path: path.to_string_lossy().into_owned(), text });
        }
    }
    Ok(())
}

fn none(breaches: Vec<String>) -> Result<()> {
    ensure!(breaches.is_empty(), "\n{}", breaches.join("\n"));
    Ok(())
}

/// What follows `key = ` in the first line that begins so, without quotes.
fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    Some(line?.trim().trim_matches(['"', '\'']).to_owned())
}

#[test]
fn one_version_everywhere() -> Result<()> {
    let version = value(&read("Cargo.toml")?, "version").context("Cargo.toml has no version")?;
    let control = value(&read("pg_lease.control")?, "default_version").context("no version")?;
    // cargo-pgrx puts the version of Cargo.toml there
    ensure!(control == "@CARGO_VERSION@" || control == version, "control: {control}");
    let changes = read("CHANGELOG.md")?;
    let top = changes.lines().find_map(|line| line.strip_prefix("## ")).context("no heading")?;
    ensure!(
        top.split(' ').next() == Some(&version),
        "CHANGELOG.md begins with {top}, not {version}"
    );
    let lock = read("Cargo.lock")?;
    let locked = format!("name = \"pg_lease\"\nversion = \"{version}\"\n");
    ensure!(lock.contains(&locked), "Cargo.lock has another version of pg_lease");
    Ok(())
}

#[test]
fn unsafe_code_is_behind_its_door() -> Result<()> {
    let outside = sources("src", ".rs")?.into_iter().filter(|f| !f.path.starts_with("src/pg/"));
    none(outside.flat_map(|file| file.breaches(is_unsafe)).collect())?;
    ensure!(read("src/lib.rs")?.contains("#![deny(unsafe_code)]"), "src/lib.rs allows unsafe code");
    Ok(())
}

fn is_unsafe(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
}

/// How far above a block its reason may begin.
const NEAR: usize = 8;

#[test]
fn every_unsafe_block_says_why_it_holds() -> Result<()> {
    let files = sources("src/pg", ".rs")?;
    none(files.iter().flat_map(unexplained).collect())
}

fn unexplained(file: &Source) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |number: usize| {
        lines[number.saturating_sub(NEAR)..number].iter().any(|line| line.contains("SAFETY:"))
    };
    let blocks =
        file.code().filter(|(_, line)| line.contains("unsafe {") || line.contains("unsafe impl"));
    blocks
        .filter(|(number, _)| !explained(*number))
        .map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim()))
        .collect()
}

#[test]
fn sqlstates_are_behind_their_doors() -> Result<()> {
    let files = sources("src", ".rs")?.into_iter();
    let others = files.filter(|file| !DOORS_TO_SQLSTATES.contains(&file.path.as_str()));
    none(others.flat_map(|file| file.breaches(|line| line.contains("ERRCODE_"))).collect())
}

/// The rules that decide are plain Rust: no server, nothing of the other modules.
#[test]
fn the_rules_know_nothing_of_postgresql() -> Result<()> {
    let knows = |line: &str| {
        let others = ["pgrx", "crate::pg", "crate::lease", "crate::fence"];
        others.iter().any(|other| line.contains(other))
    };
    none(sources("src/rules", ".rs")?.iter().flat_map(|file| file.breaches(knows)).collect())
}

#[test]
fn no_clock_stands_still() -> Result<()> {
    let rust = sources("src", ".rs")?.into_iter().filter(|file| file.path != MUTANTS);
    let in_rust = rust.flat_map(|file| file.breaches(|line| is_sql(line) && reads_now(line)));
    let sql = sources("sql", ".sql")?.into_iter();
    none(in_rust.chain(sql.flat_map(|file| file.breaches(reads_now))).collect())
}

/// Whether a line of Rust is, or may be, text for the server.
fn is_sql(line: &str) -> bool {
    line.contains('"') || line.ends_with('\\') || line.contains("pg_sys")
}

/// SQL's now() is not the end of another function's name, as in compute_now().
fn reads_now(line: &str) -> bool {
    let line = line.to_lowercase();
    let part_of_name = |c: char| c.is_alphanumeric() || "_:.".contains(c);
    let mut calls = line.match_indices("now()").map(|(at, _)| &line[..at]);
    STOPPED_CLOCKS.iter().any(|clock| line.contains(clock))
        || calls.any(|before| !before.ends_with(part_of_name))
}

/// The server refuses a script with this word for a schema whose name has a quote in it.
#[test]
fn the_extension_goes_into_any_schema() -> Result<()> {
    let names_it = |line: &str| line.contains("@extschema@");
    none(sources("sql", ".sql")?.iter().flat_map(|file| file.breaches(names_it)).collect())
}

/// Ways to break the extension are built in for the fault test only.
#[test]
fn what_is_installed_cannot_be_broken() -> Result<()> {
    let setting = "soak.mutant";
    ensure!(read(MUTANTS)?.contains(setting), "the mutants are chosen by another setting");
    ensure!(read("src/pg/mod.rs")?.contains("#[cfg(feature = \"mutants\")]\npub mod mutants;"));
    let default = value(&read("Cargo.toml")?, "default").context("no default features")?;
    ensure!(!default.contains("mutants"), "default features: {default}");
    let library = rig::Tree::ready()?.own.pkglib.join("pg_lease.so");
    let bytes = fs::read(&library).with_context(|| library.display().to_string())?;
    let there = bytes.windows(setting.len()).any(|window| window == setting.as_bytes());
    ensure!(!there, "{} has the mutants in it", library.display());
    Ok(())
}

#[test]
fn files_are_short() -> Result<()> {
    let files = sources("src", ".rs")?.into_iter().chain(sources("sql", ".sql")?);
    let counted = files.map(|file| (file.text.lines().count(), file.path));
    let long = counted.filter(|(lines, _)| *lines > LONGEST_FILE);
    none(long.map(|(lines, path)| format!("{path}: {lines} lines")).collect())
}

#[test]
fn functions_are_short() -> Result<()> {
    let directories = ["src", "pg_test/rig", "pg_test/soak", "pg_test/system"];
    let mut breaches = Vec::new();
    for directory in directories {
        breaches.extend(sources(directory, ".rs")?.iter().flat_map(long_functions));
    }
    none(breaches)
}

/// rustfmt ends a function with a brace as far in as its first line.
fn long_functions(file: &Source) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for begin in (0..lines.len()).filter(|at| begins_function(lines[*at])) {
        let (line, rest) = (lines[begin], &lines[begin..]);
        let opens = rest.iter().find(|line| line.ends_with(['{', '}', ';']));
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = rest.iter().take_while(|line| **line != end).count() + 1;
        if opens.is_some_and(|line| line.ends_with('{')) && length > LONGEST_FUNCTION {
            found.push(format!("{}:{}: {length} lines", file.path, begin + 1));
        }
    }
    found
}

fn begins_function(line: &str) -> bool {
    let words = line.split_whitespace().take_while(|word| !word.starts_with("//"));
    words.take(6).any(|word| word == "fn")
}

#[test]
fn every_sql_function_has_a_comment() -> Result<()> {
    let files = sources("sql", ".sql")?;
    let script: String = files.iter().map(|file| file.text.as_str()).collect();
    let created: Vec<&str> = script
        .lines()
        .filter_map(|line| line.strip_prefix("CREATE FUNCTION ")?.split('(').next())
        .collect();
    ensure!(created.len() > 10, "only {} functions found", created.len());
    let silent = created
        .into_iter()
        .filter(|name| !script.contains(&format!("COMMENT ON FUNCTION {name}(")));
    none(silent.map(str::to_owned).collect())
}

/// The rules see what they forbid: each line here breaks one.
#[test]
fn the_rules_can_be_broken() {
    let file = |text: &str| Source { path: "src/x.rs".to_owned(), text: text.to_owned() };
    assert!(is_unsafe("    unsafe { f() }") && is_unsafe("#[unsafe(no_mangle)]"));
    assert!(!is_unsafe("#![deny(unsafe_code)]"));
    assert_eq!(file("fn f() {} // unsafe\n").breaches(is_unsafe).len(), 0);
    for stopped in ["SELECT now() + ttl", "'now()'", "pg_catalog.now()", "CURRENT_TIMESTAMP"] {
        assert!(reads_now(stopped), "{stopped}");
    }
    for runs in ["compute_now()", "clock::now()", "server_now()", "clock_timestamp()"] {
        assert!(!reads_now(runs), "{runs}");
    }
    assert!(is_sql("spi(\"SELECT now()\")") && !is_sql("if expires_at <= now() {"));
    assert_eq!(unexplained(&file("fn f() {\n    unsafe { g() }\n}\n")).len(), 1);
    assert_eq!(unexplained(&file("// SAFETY: none needed.\nunsafe { g() }\n")).len(), 0);
    let body = "    g();\n".repeat(LONGEST_FUNCTION);
    assert_eq!(long_functions(&file(&format!("pub fn f() {{\n{body}}}\n"))).len(), 1);
    assert_eq!(long_functions(&file("pub fn f() {\n    g();\n}\n")).len(), 0);
}
