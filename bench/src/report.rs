//! The report: what was run on what, the targets, then every part's tables and plots.

use crate::bed::{Bed, output_dir};
use crate::machine::Machine;
use crate::scale::Scale;
use crate::target::{Target, Verdict};
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// What one part has to say.
pub struct Section {
    scale: Scale,
    pub name: &'static str,
    title: &'static str,
    settings: Vec<(String, String)>,
    body: String,
    targets: Vec<Target>,
    pub took: Duration,
}

impl Section {
    pub fn new(name: &'static str, title: &'static str, bed: &Bed) -> Result<Self> {
        Ok(Self {
            scale: bed.scale,
            name,
            title,
            settings: bed.settings()?,
            body: String::new(),
            targets: Vec::new(),
            took: Duration::ZERO,
        })
    }

    pub fn heading(&mut self, text: &str) {
        self.body.push_str(&format!("\n### {text}\n\n"));
    }

    pub fn paragraph(&mut self, text: &str) {
        self.body.push_str(&format!("{text}\n\n"));
    }

    /// A table whose first column is text and whose others are numbers.
    pub fn table(&mut self, heads: &[&str], rows: Vec<Vec<String>>) {
        self.body.push_str(&table(heads, &rows));
        self.body.push('\n');
    }

    /// Writes a plot beside the report and shows it there.
    pub fn plot(&mut self, name: &str, title: &str, svg: &str) -> Result<()> {
        let path = output_dir(self.scale)?.join(format!("{name}.svg"));
        fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
        self.body.push_str(&format!("![{title}]({name}.svg)\n\n"));
        Ok(())
    }

    pub fn target(&mut self, target: Target) {
        self.targets.push(target);
    }
}

pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let numbers = "---:|".repeat(heads.len().saturating_sub(1));
    let mut text = format!("| {} |\n|---|{numbers}\n", heads.join(" | "));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// Writes the report of a run, and returns where it is.
pub fn write(
    sections: &[Section],
    machine: &Machine,
    scale: Scale,
    command: &str,
) -> Result<PathBuf> {
    let mut text = format!("# What pg_lease costs\n\nMade by `{command}`.\n\n");
    if scale.is_tiny() {
        text.push_str(
            "**A tiny run, to see that every benchmark works. Its figures mean nothing.**\n\n",
        );
    }
    text.push_str(HOW_TO_READ);
    text.push_str(&machine.described());
    text.push_str("\n## Targets\n\n| what | target | reached | verdict |\n|---|---:|---:|---|\n");
    for target in sections.iter().flat_map(|section| &section.targets) {
        writeln!(text, "{}", target.row())?;
    }
    text.push_str(&summary(sections));
    for section in sections {
        let Section { name, title, body, took, .. } = section;
        write!(text, "\n## {title} (`ONLY={name}`)\n\nTook {} s.\n{body}", took.as_secs())?;
        writeln!(text, "\nServer settings: {}.", settings(section))?;
    }
    let path = output_dir(scale)?.join("report.md");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

const HOW_TO_READ: &str = "\
Variants take turns on the same server (A B C A B C …), each on a table of its own, all alike. A
ratio compares two variants of the same round; shown is the median over the rounds, with the
interval that holds the true median with at least 90 % confidence (the whole spread, with few
rounds). A target that lies inside that interval is called too noisy to tell. pgbench, with prepared
statements, shares the machine with the server.

";

fn settings(section: &Section) -> String {
    let all = section.settings.iter().map(|(name, value)| format!("`{name} = {value}`"));
    all.collect::<Vec<_>>().join(", ")
}

fn summary(sections: &[Section]) -> String {
    let count = |verdict: Verdict| {
        let all = sections.iter().flat_map(|section| &section.targets);
        all.filter(|target| target.verdict() == verdict).count()
    };
    format!(
        "\n{} reached, {} missed, {} too noisy to tell, {} not measured.\n",
        count(Verdict::Reached),
        count(Verdict::Missed),
        count(Verdict::Noisy),
        count(Verdict::NotMeasured)
    )
}
