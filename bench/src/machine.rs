//! What the numbers were measured on.

use anyhow::Result;
use rig::{Tree, home};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

pub struct Machine {
    facts: Vec<(&'static str, String)>,
    busy_before: f64,
    began: (Ticks, Instant),
}

/// What all processors have done since boot, in clock ticks.
#[derive(Clone, Copy, Default)]
struct Ticks {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl Machine {
    /// Looks at the machine, and for a second at how busy others keep it.
    pub fn look(commanded: Duration) -> Result<Self> {
        let tree = Tree::ready()?;
        let facts = vec![
            ("processor", format!("{} × {}", processors(), field("/proc/cpuinfo", "model name"))),
            ("memory", field("/proc/meminfo", "MemTotal")),
            ("kernel", read("/proc/sys/kernel/osrelease")),
            ("PostgreSQL", tree.origin.version.clone()),
            ("pg_lease", pg_lease()),
            ("rustc", said("rustc", &["--version"])),
            ("commit", commit()),
            ("date", said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ];
        let first = ticks();
        std::thread::sleep(commanded);
        Ok(Self { facts, busy_before: busy(first, ticks()), began: (ticks(), Instant::now()) })
    }

    pub fn described(&self) -> String {
        let mut text = String::from("## Machine\n\n| | |\n|---|---|\n");
        for (name, value) in &self.facts {
            text.push_str(&format!("| {name} | {value} |\n"));
        }
        let now = ticks();
        let stolen = share(now.stolen - self.began.0.stolen, now.all - self.began.0.all);
        text.push_str(&format!(
            "| taken by other guests | {:.1} % of the time |\n",
            stolen * 100.0
        ));
        text.push_str(&format!("| busy before the run | {:.0} % |\n", self.busy_before * 100.0));
        text.push_str(&format!("| the run took | {} s |\n", self.began.1.elapsed().as_secs()));
        if self.busy_before > 0.15 {
            text.push_str(
                "\n**The machine was busy with something else: trust no difference here.**\n",
            );
        }
        text
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let asked = home::checkout()
        .ok()
        .and_then(|dir| Command::new(program).args(arguments).current_dir(dir).output().ok());
    let output = asked.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

fn pg_lease() -> String {
    format!("{}, release build", env!("CARGO_PKG_VERSION"))
}

/// The commit, and whether what was measured is more than that.
fn commit() -> String {
    let head = said("git", &["rev-parse", "--short=12", "HEAD"]);
    let sources = ["status", "--porcelain", "--", "src", "sql", "Cargo.toml", "Cargo.lock"];
    let changed = !said("git", &sources).is_empty();
    format!("{head}{}", if changed { ", with changes that are not committed" } else { "" })
}

fn ticks() -> Ticks {
    let text = read("/proc/stat");
    let line = text.lines().next().unwrap_or_default();
    let counts: Vec<u64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    let at = |index: usize| counts.get(index).copied().unwrap_or_default();
    Ticks { all: counts.iter().take(8).sum(), idle: at(3) + at(4), stolen: at(7) }
}

fn busy(from: Ticks, to: Ticks) -> f64 {
    1.0 - share(to.idle - from.idle, to.all - from.all)
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}
