//! Events as lines of JSON.

use crate::event::{Entry, Event};
use anyhow::{Context, Result};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// A log being written. Each event is out before the next thing is done.
pub struct Log<W: Write> {
    out: W,
    who: String,
}

impl<W: Write> Log<W> {
    pub fn new(out: W, who: &str) -> Self {
        Self { out, who: who.to_owned() }
    }

    pub fn note(&mut self, event: Event) -> Result<()> {
        let entry = Entry::now(&self.who, event)?;
        self.out.write_all(format(&[entry])?.as_bytes())?;
        self.out.flush().context("cannot write the log")
    }
}

impl Entry {
    /// Something that has just happened.
    pub fn now(who: &str, event: Event) -> Result<Self> {
        Ok(Self { at_us: now_us()?, who: who.to_owned(), event })
    }
}

/// Events as a log.
pub fn format(entries: &[Entry]) -> Result<String> {
    let lines = entries.iter().map(|entry| Ok(serde_json::to_string(entry)? + "\n"));
    lines.collect()
}

/// Reads a log, which may end in the middle of a line: its writer may still be at work.
pub fn parse(text: &str) -> Result<Vec<Entry>> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parsed = whole.lines().map(|line| {
        serde_json::from_str(line).with_context(|| format!("not a line of a log: {line}"))
    });
    parsed.collect()
}

/// The machine's clock, in microseconds since 1970.
pub fn now_us() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    i64::try_from(since.as_micros()).context("the clock is too far ahead")
}
