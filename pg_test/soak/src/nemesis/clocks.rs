//! The server's clock, which libfaketime moves while it runs.
//!
//! A signal that arrives while the server waits is handled by the machine's own clock: libfaketime
//! does not fake inside the calls that it wraps. Timeouts, lock_timeout among them, would then be
//! late by as much as the faked clock is ahead. So it is always behind, by hours, and jumps around
//! that; a timeout is then in time, or as early as the next alarm.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PLACES: [&str; 3] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];

/// Two hours behind; no jump is larger than one.
const USUAL: i32 = -7_200;

/// A clock that a server reads.
pub struct Clock(PathBuf);

impl Clock {
    /// A clock that goes right, kept in a directory that the server may enter.
    pub fn make(directory: &Path) -> Result<Self> {
        let clock = Self(directory.join(format!("clock-{}", std::process::id())));
        clock.jump(0)?;
        Ok(clock)
    }

    /// What a server must find in its environment to read it.
    pub fn environment(&self) -> Result<Vec<(String, String)>> {
        let file = self.0.display().to_string();
        let pairs = [
            ("LD_PRELOAD", library()?.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", file),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        Ok(pairs.map(|(name, value)| (name.to_owned(), value)).to_vec())
    }

    /// Sets it so many seconds off its usual time, in one step.
    pub fn jump(&self, seconds: i32) -> Result<()> {
        let offset = USUAL + seconds;
        let new = self.0.with_extension("new");
        fs::write(&new, format!("{offset:+}\n"))?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o644))?;
        fs::rename(&new, &self.0).context("cannot set the clock")
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn library() -> Result<PathBuf> {
    let found = PLACES.iter().map(|place| Path::new(place).join("faketime/libfaketime.so.1"));
    let found = found.into_iter().find(|library| library.is_file());
    found.context("libfaketime is missing: run `make deps`")
}
