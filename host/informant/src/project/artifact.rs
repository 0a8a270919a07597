//! Files that a watching host reads: written beside their place and renamed, so that nobody sees half of one, and left alone where
//! they would not change.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether a file is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    New,
    /// The same bytes were there.
    Same,
}

/// Puts a copy of a file at its place.
pub(crate) fn place(from: &Path, to: &Path) -> io::Result<Placed> {
    let bytes = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(Placed::Same);
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), std::fs::create_dir_all)?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(to.file_name().ok_or(ErrorKind::InvalidInput)?);
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = to.with_file_name(partial);
    let written = std::fs::write(&partial, bytes).and_then(|()| std::fs::rename(&partial, to));
    if written.is_err() {
        // There may be nothing to remove; why it failed is what counts.
        let _ = std::fs::remove_file(&partial);
    }
    written.map(|()| Placed::New)
}

/// The same for a file that may not be there: then nothing is to be at its place.
pub(crate) fn place_or_remove(from: &Path, to: &Path) -> io::Result<()> {
    let gone = match place(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => std::fs::remove_file(to),
        placed => return placed.map(|_| ()),
    };
    match gone {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_placed_once_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("deep/er/b.wasm"));
        let check = |text: &str, expect: Placed| {
            std::fs::write(&from, text).unwrap();
            assert_eq!(place(&from, &to).unwrap(), expect, "{text}");
            assert_eq!(std::fs::read_to_string(&to).unwrap(), text);
            assert_eq!(std::fs::read_dir(to.parent().unwrap()).unwrap().count(), 1);
        };
        check("one", Placed::New);
        check("one", Placed::Same);
        check("two", Placed::New);
    }

    #[test]
    fn what_cannot_be_placed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&from, "text").unwrap();
        std::fs::create_dir(&to).unwrap();
        assert!(place(&from, &to).is_err(), "a folder is in its place");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_gone_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.yaml"), folder.path().join("b.yaml"));
        place_or_remove(&from, &to).unwrap();
        assert!(!to.exists());
        std::fs::write(&from, "text").unwrap();
        place_or_remove(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "text");
        std::fs::remove_file(&from).unwrap();
        place_or_remove(&from, &to).unwrap();
        assert!(!to.exists());
    }
}
