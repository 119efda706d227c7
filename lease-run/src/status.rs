//! The exit statuses of lease-run itself. Those from 64 on are sysexits.h's where it has the case.

/// The command line, the environment or the connection string is wrong. Nothing was run.
pub const USAGE: u8 = 64;
/// The server could not be reached, or refused for another reason than that the lease is held.
pub const UNAVAILABLE: u8 = 69;
/// lease-run itself cannot go on: the system refuses it something that it needs.
pub const INTERNAL: u8 = 71;
/// `--once`: the run was begun before. Nothing was run.
pub const BEGUN_BEFORE: u8 = 73;
/// The lease is somebody else's. Nothing was run.
pub const NOT_ACQUIRED: u8 = 75;
/// The lease was lost, or could not be renewed in time, and the command was ended.
pub const LOST: u8 = 76;
/// The command cannot be executed, as shells have it.
pub const NOT_EXECUTABLE: u8 = 126;
/// There is no such command, as shells have it.
pub const NOT_FOUND: u8 = 127;

/// Why lease-run ends without a command's exit status: its own, and the line that says why.
#[derive(Debug)]
pub struct Exit {
    pub status: u8,
    pub why: String,
}

impl Exit {
    pub fn new(status: u8, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}
