//! Signals that lease-run gets, for the command.

use crate::status::{Exit, INTERNAL};
use nix::sys::signal::Signal;
use std::fs;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc;

const PASSED_ON: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

pub struct Signals {
    come: mpsc::Receiver<Signal>,
    _sender: mpsc::Sender<Signal>,
    /// That a child of ours has ended.
    pub child: Stream,
}

impl Signals {
    /// A signal that was ignored when we were started stays so, for the command too (nohup).
    pub fn begin() -> Result<Self, Exit> {
        let cannot = |e| Exit::new(INTERNAL, format!("cannot handle signals: {e}"));
        let (sender, come) = mpsc::channel(PASSED_ON.len());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        for one in PASSED_ON.into_iter().filter(|one| !is_ignored(*one, &status)) {
            let mut stream = signal(SignalKind::from_raw(one as i32)).map_err(cannot)?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() && sender.send(one).await.is_ok() {}
            });
        }
        Ok(Self { come, _sender: sender, child: signal(SignalKind::child()).map_err(cannot)? })
    }

    pub async fn next(&mut self) -> Signal {
        match self.come.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }

    /// Either a signal to pass on, or None: a child has ended.
    pub async fn next_or_child(&mut self) -> Option<Signal> {
        tokio::select! {
            signal = self.come.recv() => signal,
            _ = self.child.recv() => None,
        }
    }
}

/// Whether the mask of ignored signals in /proc/self/status has it.
fn is_ignored(signal: Signal, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read_from_the_right_end() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(Signal::SIGHUP, status) && is_ignored(Signal::SIGPIPE, status));
        assert!(!is_ignored(Signal::SIGTERM, status) && !is_ignored(Signal::SIGHUP, ""));
    }
}
