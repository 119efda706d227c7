//! Who runs a server: PostgreSQL refuses to run as root.

use anyhow::{Context, Result, bail};
use nix::unistd::{Uid, User, geteuid};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Users tried when we are root, best first.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// The user that a server runs as: somebody unprivileged when we are root, otherwise ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAs {
    Ourselves,
    Other { uid: u32, gid: u32 },
}

impl RunAs {
    pub fn pick() -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::Ourselves);
        }
        for name in UNPRIVILEGED {
            if let Some(user) = User::from_name(name).context("cannot read the list of users")? {
                return Ok(Self::Other { uid: user.uid.as_raw(), gid: user.gid.as_raw() });
            }
        }
        bail!("PostgreSQL does not run as root, and there is no user among {UNPRIVILEGED:?}")
    }

    /// Makes `command` run as this user, without our other groups (std drops them with the uid).
    pub fn apply(self, command: &mut Command) {
        if let Self::Other { uid, gid } = self {
            command.gid(gid).uid(uid);
        }
    }

    /// Gives `path` to this user.
    pub fn own(self, path: &Path) -> Result<()> {
        if let Self::Other { uid, gid } = self {
            std::os::unix::fs::chown(path, Some(uid), Some(gid))
                .with_context(|| format!("cannot give {} away", path.display()))?;
        }
        Ok(())
    }
}

/// Our own user id.
pub fn our_uid() -> Uid {
    geteuid()
}
