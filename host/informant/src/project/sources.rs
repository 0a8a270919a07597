//! Which of a project's files are its sources, and how they stand: a look at the folder, compared with the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A plugin has dozens. With more than this, something is among them that nobody wrote.
pub(crate) const FILES_MAX: usize = 10_000;
/// Folders in folders: more are a loop.
const DEPTH_MAX: usize = 32;

/// What tools make and bring, in any of the languages.
const MADE: [&str; 4] = ["target", "node_modules", "build", "__pycache__"];
/// What tools write beside the sources while they build.
const WRITTEN: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// The sources at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    files: BTreeMap<PathBuf, Stand>,
    /// The folders that they are in, to be watched.
    pub(crate) folders: BTreeSet<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
struct Stand {
    modified: Option<SystemTime>,
    bytes: u64,
    /// An editor that writes anew and renames makes another one.
    inode: u64,
}

impl Stand {
    fn of(metadata: &Metadata) -> Self {
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        Self { modified: metadata.modified().ok(), bytes: metadata.len(), inode }
    }
}

impl Sources {
    /// Looks at a folder. Blocks as file systems do.
    pub(crate) fn look(folder: &Path) -> io::Result<Self> {
        Self::look_at_most(folder, FILES_MAX)
    }

    fn look_at_most(folder: &Path, files_max: usize) -> io::Result<Self> {
        let mut sources = Self::default();
        sources.walk(folder, 0, files_max)?;
        Ok(sources)
    }

    fn walk(&mut self, folder: &Path, depth: usize, files_max: usize) -> io::Result<()> {
        self.folders.insert(folder.to_owned());
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if !is_source(&name.to_string_lossy()) {
                continue;
            }
            // What is gone again by now was a tool's or an editor's.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && depth < DEPTH_MAX {
                match self.walk(&entry.path(), depth + 1, files_max) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    walked => walked?,
                }
            } else if metadata.is_file() {
                self.files.insert(entry.path(), Stand::of(&metadata));
            }
            if self.files.len() > files_max {
                let text = format!(
                    "it has more than {files_max} files that are not in target, node_modules, build or a hidden folder"
                );
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
            }
        }
        Ok(())
    }

    /// One file that differs, for people, if any does.
    pub(crate) fn changed_since<'a>(&'a self, before: &'a Self) -> Option<&'a Path> {
        let differs = |path: &&PathBuf| self.files.get(*path) != before.files.get(*path);
        self.files.keys().chain(before.files.keys()).find(differs).map(PathBuf::as_path)
    }
}

/// Whether a file or folder of this name is somebody's work, as far as names tell.
fn is_source(name: &str) -> bool {
    let is_leftover = name.starts_with('.') || name.ends_with('~');
    !is_leftover && !MADE.contains(&name) && !WRITTEN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: bool) {
        assert_eq!(is_source(name), expect, "{name}");
    }

    #[test]
    fn what_tools_make_is_no_source() {
        for name in ["src", "lib.rs", "Cargo.toml", "plugin.js", "sdk", "hello.yaml", "targets"] {
            check(name, true);
        }
        for name in [
            "target",
            "node_modules",
            "build",
            ".venv",
            ".git",
            "__pycache__",
            "Cargo.lock",
            ".lib.rs.swp",
            "lib.rs~",
        ] {
            check(name, false);
        }
    }

    /// What happens between two looks, and the file that is named.
    #[track_caller]
    fn check_change(change: impl FnOnce(&Path), expect: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join("target")).unwrap();
        std::fs::write(root.join("src/lib.rs"), "one").unwrap();
        let before = Sources::look(root).unwrap();
        change(root);
        let after = Sources::look(root).unwrap();
        let expect = expect.map(|path| root.join(path));
        assert_eq!(after.changed_since(&before), expect.as_deref());
    }

    #[test]
    fn changed_sources_are_found() {
        check_change(|_| {}, None);
        check_change(
            |root| std::fs::write(root.join("src/lib.rs"), "three").unwrap(),
            Some("src/lib.rs"),
        );
        check_change(
            |root| std::fs::write(root.join("src/new.rs"), "").unwrap(),
            Some("src/new.rs"),
        );
        check_change(
            |root| std::fs::remove_file(root.join("src/lib.rs")).unwrap(),
            Some("src/lib.rs"),
        );
        check_change(|root| std::fs::write(root.join("target/a"), "").unwrap(), None);
        check_change(|root| std::fs::create_dir(root.join("empty")).unwrap(), None);
        let rename = |root: &Path| {
            std::fs::write(root.join(".new"), "one").unwrap();
            std::fs::rename(root.join(".new"), root.join("src/lib.rs")).unwrap();
        };
        check_change(rename, Some("src/lib.rs"));
    }

    #[test]
    fn folders_are_those_of_sources() {
        let folder = tempfile::tempdir().unwrap();
        for inner in ["src/deep", "target/debug", ".git"] {
            std::fs::create_dir_all(folder.path().join(inner)).unwrap();
        }
        let expect = ["", "src", "src/deep"].map(|path| folder.path().join(path));
        let found = Sources::look(folder.path()).unwrap().folders;
        assert_eq!(found, BTreeSet::from(expect.map(|path| path.components().collect())));
    }

    #[test]
    fn too_many_files_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert!(Sources::look_at_most(folder.path(), 3).is_ok());
        let error = Sources::look_at_most(folder.path(), 2).unwrap_err().to_string();
        assert!(error.contains("more than 2 files"), "{error}");
    }
}
