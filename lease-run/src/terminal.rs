//! The terminal, where lease-run is in its foreground: the command is then in its place.

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::io::{IsTerminal, stdin};

/// Lends the terminal to a process group, if it is ours to lend.
pub fn lend_to(group: Pid) -> bool {
    let ours = stdin().is_terminal() && tcgetpgrp(stdin()) == Ok(getpgrp());
    ours && tcsetpgrp(stdin(), group).is_ok()
}

/// Whoever is not in the foreground and takes the terminal is stopped, unless it blocks the signal.
pub fn take_back() {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGTTOU);
    if blocked.thread_block().is_ok() {
        let _ = tcsetpgrp(stdin(), getpgrp());
        let _ = blocked.thread_unblock();
    }
}

/// Stops lease-run as well, so that the shell gets its prompt. Returns when it goes on.
pub fn stop_us() {
    let _ = kill(Pid::this(), Signal::SIGSTOP);
}
