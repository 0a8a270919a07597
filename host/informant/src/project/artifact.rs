//! Writes files that a watching host reads. A file is written beside its place and then renamed, so that no reader
//! sees half of it. A file whose content would not change is not written.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether the file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    New,
    /// The file already had the same bytes.
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
        // The partial file may be missing. The error of the write is the one that counts.
        let _ = std::fs::remove_file(&partial);
    }
    written.map(|()| Placed::New)
}

/// Like [`place`], for a file that may be missing: then the file at its place is removed.
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
