//! Where the checkout is, and where its private files lie.
//!
//! Servers may run as another user, who perhaps cannot enter the checkout. So the private
//! installation and the data directories lie in a directory of their own, named by a hash of the
//! checkout's path and our uid: two checkouts, or two users, never meet. Build products stay in
//! `target/`.

use crate::user::{RunAs, our_uid};
use anyhow::{Context, Result, bail};
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A socket's path must stay below 107 bytes; names below the home need up to 55 of them.
const LONGEST_HOME: usize = 48;
const SHARED: &str = "/tmp";
/// How long to wait for a lock before saying so.
const SILENCE: Duration = Duration::from_secs(1);

/// The root of the checkout: the directory that holds `pg_lease.control`.
///
/// Looked for upwards from the current directory first, since a checkout may have been moved
/// after this was compiled.
pub fn checkout() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current directory is gone")?;
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .chain(compiled.ancestors())
        .find(|dir| dir.join("pg_lease.control").is_file())
        .map(Path::to_path_buf)
        .with_context(|| format!("no pg_lease.control above {}", here.display()))
}

/// Build products of this checkout.
pub fn target() -> Result<PathBuf> {
    Ok(checkout()?.join("target"))
}

/// The directory of the private files, whether or not it exists.
pub fn path() -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os("PG_LEASE_HOME") {
        return std::path::absolute(chosen).context("PG_LEASE_HOME is not a path");
    }
    let key = format!("{}\n{}", checkout()?.display(), our_uid());
    Ok(base().join(format!("pg_lease-{:08x}", fnv1a(key.as_bytes()))))
}

/// The directory of the private files, made when missing. Refuses one that is not ours.
pub fn ensure() -> Result<PathBuf> {
    let home = path()?;
    if home.as_os_str().len() > LONGEST_HOME {
        bail!("{} is too long for a socket's path: set PG_LEASE_HOME", home.display());
    }
    make_dir(&home)?;
    let found = fs::symlink_metadata(&home)?;
    if !found.is_dir() || found.uid() != our_uid().as_raw() {
        bail!("{} exists but is not our directory: set PG_LEASE_HOME", home.display());
    }
    home.canonicalize().context("the home directory is gone")
}

/// Takes the lock `name` of this home, waiting for whoever has it, and saying so when it takes
/// long. Dropping the file frees it.
pub fn lock(name: &str) -> Result<File> {
    let path = ensure()?.join(name);
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut silent = Some(Instant::now());
    while let Err(error) = file.try_lock() {
        if let TryLockError::Error(error) = error {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
        if silent.is_some_and(|began| began.elapsed() > SILENCE) {
            eprintln!("rig: waiting for another rig of this checkout ({name})");
            silent = None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(file)
}

/// Makes a directory, and its parents, that everybody may enter, whatever our umask is.
pub fn make_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o755)))
        .with_context(|| format!("cannot make the directory {}", path.display()))
}

/// The temporary directory, unless it is too deep or the servers' user could not enter it.
fn base() -> PathBuf {
    let wanted = std::env::temp_dir();
    let short = wanted.as_os_str().len() + "/pg_lease-12345678".len() <= LONGEST_HOME;
    let ours = RunAs::pick().is_ok_and(|user| user == RunAs::Ourselves);
    if short && (ours || wanted.ancestors().all(anybody_may_enter)) {
        wanted
    } else {
        PathBuf::from(SHARED)
    }
}

fn anybody_may_enter(dir: &Path) -> bool {
    fs::metadata(dir).is_ok_and(|found| found.mode() & 0o001 != 0)
}

/// FNV-1a, 32 bits: short, and the same in every build.
fn fnv1a(bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv1a_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn the_checkout_is_found_from_a_crate_inside_it() -> Result<()> {
        assert!(checkout()?.join("Cargo.lock").is_file());
        Ok(())
    }
}
