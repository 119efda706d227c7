//! A shell that outlives us for a moment, to clean up when we could not do it ourselves.
//!
//! It reads from a pipe that we hold. If we end in any way (killed, aborted, a server in a static
//! that is never dropped), the pipe closes, and it stops the server and removes its directory.

use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `$1` is the site's directory. A pid counts only if that process works in it: the server is
/// asked to stop at once, and what is left after ten seconds is killed.
const SCRIPT: &str = r#"
read -r word && [ "$word" = dismissed ] && exit 0
workers() {
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/cwd")" in "$1" | "$1"/*) echo "${process#/proc/}" ;; esac
    done
}
server=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
if [ -n "$server" ] && [ "$(readlink "/proc/$server/cwd")" = "$1/data" ]; then
    kill -QUIT "$server"
    for _ in $(seq 100); do [ -z "$(workers "$1/data")" ] || sleep 0.1; done
fi
for left in $(workers "$1"); do kill -KILL "$left"; done
rm -rf "$1"
"#;

pub struct Watchdog(Child);

impl Watchdog {
    pub fn over(dir: &Path) -> Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "watchdog"]).arg(dir).current_dir("/").process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(shell.spawn().context("cannot start a shell")?))
    }

    /// Sends it home: we have cleaned up, or what it watches is meant to stay.
    pub fn dismiss(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"dismissed\n");
        }
        let _ = self.0.wait();
    }
}
