//! Keeps two processes from working in one project's folder `build` at once. The lock ends with its process, however
//! the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// A lock that one process holds at a time.
#[derive(Debug)]
pub(crate) struct BuildLock(#[expect(dead_code, reason = "held until it is dropped")] File);

impl BuildLock {
    /// The lock for this work in a project's `build` folder. `None` if another process holds it.
    pub(crate) fn try_take(build_folder: &Path, work: &str) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(build_folder)?;
        let path = build_folder.join(format!(".{work}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("build");
        let take = |work| BuildLock::try_take(&build, work).unwrap();
        let first = take("a");
        assert!(first.is_some() && take("a").is_none());
        assert!(take("b").is_some(), "another work is another's");
        drop(first);
        assert!(take("a").is_some());
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(BuildLock::try_take(&folder.path().join("file"), "a").is_err());
    }
}
