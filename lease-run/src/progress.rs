//! Whether the command moves, by a file that it writes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The file, and how often it was found changed.
pub struct Progress {
    file: PathBuf,
    seen: Option<Stamp>,
    moves: i64,
}

/// What changes when a file is written, touched or replaced.
#[derive(PartialEq)]
struct Stamp {
    inode: u64,
    size: u64,
    written: (i64, i64),
}

impl Progress {
    pub fn of(file: PathBuf) -> Self {
        Self { seen: stamp(&file), file, moves: 0 }
    }

    /// A number that moves when the file has changed since the last look. A file that is gone has
    /// not: who tidies up need not be at work.
    pub fn look(&mut self) -> i64 {
        let now = stamp(&self.file);
        if now.is_some() && now != self.seen {
            self.seen = now;
            self.moves += 1;
        }
        self.moves
    }
}

fn stamp(file: &PathBuf) -> Option<Stamp> {
    let about = fs::metadata(file).ok()?;
    let written = (about.mtime(), about.mtime_nsec());
    Some(Stamp { inode: about.ino(), size: about.size(), written })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_moves() -> std::io::Result<()> {
        let file = std::env::temp_dir().join(format!("lease-run-progress-{}", std::process::id()));
        let mut progress = Progress::of(file.clone());
        assert_eq!((progress.look(), progress.look()), (0, 0));
        fs::write(&file, "a")?;
        assert_eq!((progress.look(), progress.look()), (1, 1));
        fs::write(&file, "ab")?;
        assert_eq!(progress.look(), 2);
        fs::remove_file(&file)?;
        assert_eq!(progress.look(), 2);
        Ok(())
    }
}
