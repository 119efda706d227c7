//! One line per event on stderr, written by a thread of its own.
//!
//! Whoever reads our stderr may stop reading. A blocked write must not keep lease-run from renewing,
//! nor from ending the command in time: then lines are lost instead.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that may wait for a slow reader.
const WAITING: usize = 256;
/// How long the last lines may take at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What went wrong.
    Error,
    /// And what the operator may want to know.
    Usual,
    /// And what happens every time.
    All,
}

enum Message {
    Line(String),
    End(SyncSender<()>),
}

static SPEAKER: OnceLock<(SyncSender<Message>, Level)> = OnceLock::new();

/// Says no more than `level` from now on.
pub fn begin(level: Level) {
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || write_all(&receiver));
    let _ = SPEAKER.set((sender, level));
}

fn write_all(messages: &Receiver<Message>) {
    for message in messages {
        match message {
            Message::Line(line) => drop(writeln!(std::io::stderr(), "lease-run: {line}")),
            Message::End(done) => drop(done.try_send(())),
        }
    }
}

pub fn line(level: Level, line: String) {
    if let Some((sender, most)) = SPEAKER.get()
        && level <= *most
    {
        let _ = sender.try_send(Message::Line(line));
    }
}

/// Waits for the last lines to be written, but not for long.
pub fn end() {
    let (done, written) = sync_channel(1);
    if let Some((sender, _)) = SPEAKER.get()
        && sender.try_send(Message::End(done)).is_ok()
    {
        let _ = written.recv_timeout(PATIENCE);
    }
}
