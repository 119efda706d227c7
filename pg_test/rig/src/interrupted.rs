//! What to do when somebody wants this process to end.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `end`, in a thread of its own, at the first Ctrl-C, SIGTERM or SIGHUP. A signal that is
/// ignored stays so: that is what `nohup` and a shell's background jobs ask for.
pub fn call(end: fn()) -> Result<()> {
    let ignored = ignored();
    let asked = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|s| ignored & (1 << (s - 1)) == 0);
    let mut signals = Signals::new(asked).context("cannot listen for signals")?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            end();
        }
    });
    Ok(())
}

/// The signals that this process ignores, one bit each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or_default()
}
