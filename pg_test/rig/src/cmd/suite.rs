//! PostgreSQL's own test drivers, against a fresh private server.

use super::tally::Tally;
use anyhow::{Context, Result, bail};
use rig::server::clean_environment;
use rig::{Server, home, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DATABASE: &str = "regression";

/// What pg_regress sets for a database that it makes itself.
const STABLE: [&str; 6] = [
    "lc_messages = 'C'",
    "lc_monetary = 'C'",
    "lc_numeric = 'C'",
    "lc_time = 'C'",
    "bytea_output = 'hex'",
    "timezone_abbreviations = 'Default'",
];

/// One directory of tests and its driver.
pub struct Suite {
    pub kind: &'static str,
    driver: &'static str,
    sources: &'static str,
    extension: &'static str,
}

pub const REGRESS: Suite =
    Suite { kind: "regress", driver: "regress/pg_regress", sources: "sql", extension: "sql" };

pub const ISOLATION: Suite = Suite {
    kind: "isolation",
    driver: "isolation/pg_isolation_regress",
    sources: "specs",
    extension: "spec",
};

impl Suite {
    /// Runs the tests named, or all. With `accept`, what they print becomes what is expected.
    pub fn run(&self, names: &[String], accept: bool) -> Result<Tally> {
        let asked = self.choose(names)?;
        if accept {
            self.begin_missing(&asked)?;
        }
        let (ready, missing): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|name| self.expected(name).is_ok_and(|p| p.is_file()));
        for name in &missing {
            println!("test {name} ... FAILED (no expected output: see `make accept`)");
        }
        let unready = Tally { passed: 0, failed: missing.len() };
        if ready.is_empty() {
            return Ok(unready);
        }
        let output = Output::make(self.kind)?;
        let tally = self.drive(&ready, &output)?;
        if accept {
            self.accept(&ready, &output)?;
        } else {
            output.print_differences();
        }
        Ok(tally + unready)
    }

    fn drive(&self, names: &[String], output: &Output) -> Result<Tally> {
        let server = Server::start(self.kind)?;
        server.create_database(DATABASE)?;
        for setting in STABLE {
            server.execute(DATABASE, &format!("ALTER DATABASE {DATABASE} SET {setting}"))?;
        }
        server.create_extension(DATABASE)?;
        let mut driver = Command::new(server.tree().origin.test_driver(self.driver)?);
        clean_environment(&mut driver);
        driver.env("PGISOLATIONTIMEOUT", "60").stdin(Stdio::null()).stderr(Stdio::inherit());
        driver.arg("--use-existing").arg(format!("--dbname={DATABASE}")).arg("--user=postgres");
        driver.arg(format!("--host={}", server.host())).arg(format!("--port={}", server.port()));
        driver.arg(option("--bindir", &server.tree().own.bin));
        driver.arg(option("--inputdir", &self.input()?)).arg(option("--outputdir", &output.0));
        let (said, success) = super::test::tee(driver.args(names))?;
        let tally = Tally::of_regress(&said, names).after(success);
        Ok(tally.after(no_backend_crashed(&server)))
    }

    /// The tests named, each of which must exist, or all in order of name.
    fn choose(&self, names: &[String]) -> Result<Vec<String>> {
        let there = self.all()?;
        if let Some(name) = names.iter().find(|name| !there.contains(name)) {
            bail!("there is no {} test \"{name}\"", self.kind);
        }
        Ok(if names.is_empty() { there } else { names.to_vec() })
    }

    fn all(&self) -> Result<Vec<String>> {
        let Ok(listed) = fs::read_dir(self.input()?.join(self.sources)) else {
            return Ok(Vec::new());
        };
        let files = listed.map(|e| e.map(|e| e.path())).collect::<std::io::Result<Vec<_>>>()?;
        let ours = files.iter().filter(|p| p.extension().is_some_and(|e| e == self.extension));
        let mut names: Vec<String> =
            ours.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned())).collect();
        names.sort();
        Ok(names)
    }

    /// The drivers give up at the first test without a file to compare with.
    fn begin_missing(&self, names: &[String]) -> Result<()> {
        for name in names {
            let path = self.expected(name)?;
            fs::create_dir_all(path.parent().context("no parent")?)?;
            fs::OpenOptions::new().create(true).append(true).open(&path)?;
        }
        Ok(())
    }

    fn accept(&self, names: &[String], output: &Output) -> Result<()> {
        for name in names {
            let result = output.0.join("results").join(format!("{name}.out"));
            fs::copy(&result, self.expected(name)?)
                .with_context(|| format!("{name} has no result"))?;
            println!("accepted what {name} printed: read the difference before you commit it");
        }
        Ok(())
    }

    fn expected(&self, name: &str) -> Result<PathBuf> {
        Ok(self.input()?.join("expected").join(format!("{name}.out")))
    }

    fn input(&self) -> Result<PathBuf> {
        Ok(home::checkout()?.join("pg_test").join(self.kind))
    }
}

/// Where a driver writes. One per process, so that two people can run the same suite.
struct Output(PathBuf);

impl Output {
    fn make(kind: &str) -> Result<Self> {
        let outputs = home::target()?.join("test");
        sweep(&outputs);
        let dir = outputs.join(format!("{kind}-{}", std::process::id()));
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(Self(dir))
    }

    fn print_differences(&self) {
        if let Ok(differences) = fs::read_to_string(self.0.join("regression.diffs")) {
            println!("{}", differences.trim_end());
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what interrupted drivers left.
fn sweep(outputs: &Path) {
    for entry in fs::read_dir(outputs).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let maker = name.rsplit_once('-').and_then(|(_, pid)| pid.parse().ok());
        if maker.is_some_and(|pid| !process::alive(pid)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// A backend that crashed takes all sessions with it, and the tests then say strange things.
fn no_backend_crashed(server: &Server) -> bool {
    let log = server.log();
    let crashes: Vec<&str> = log
        .lines()
        .filter(|l| l.contains("was terminated by signal") || l.contains("PANIC:"))
        .collect();
    crashes.iter().for_each(|line| println!("crash: {line}"));
    crashes.is_empty()
}
