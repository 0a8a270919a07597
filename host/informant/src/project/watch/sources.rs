//! The files that `informant dev` watches: which of a project's files are its sources, and their
//! state. A scan compares the folder with the scan before. It reads a file's content only if its
//! metadata have changed, because tools often write the same content again.

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A plugin has dozens of source files. More than this are probably generated.
pub(crate) const FILES_MAX: usize = 10_000;
/// Levels of folders. More are probably a loop.
const DEPTH_MAX: usize = 32;
/// The content of larger files is not read: they are not written by hand.
const READ_BYTES_MAX: u64 = 16 << 20;

/// Folders that the languages' tools make.
const MADE: [&str; 5] = ["target", "node_modules", "build", "__pycache__", "zig-out"];
/// Files that tools write beside the sources during a build.
const WRITTEN: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Endings of files that programs leave beside the sources: output, copies, rejected patches, golden files.
const LEFT: [&str; 9] = ["~", ".bak", ".golden", ".log", ".orig", ".out", ".rej", ".swp", ".tmp"];

/// A folder of the data of tests, anywhere in a project.
const TEST_DATA: &str = "testdata";
/// Folders of tests, at the top of a project: a module deeper down may have such a name.
const TESTS: [&str; 2] = ["test", "tests"];

/// The sources at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    files: BTreeMap<PathBuf, Stand>,
    /// The folders that contain the sources, for the watch.
    pub(crate) folders: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stand {
    meta: Meta,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Meta {
    modified: Option<SystemTime>,
    bytes: u64,
    /// An editor that writes a new file and renames it makes another inode.
    inode: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    /// The hash of the content.
    Read([u8; 32]),
    /// The file is too large or unreadable. Its metadata represent it.
    Unread(Meta),
}

/// A file that has changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// Whether its content changed, or it was created or removed. Otherwise the same content was
    /// written again.
    pub(crate) is_other: bool,
}

impl Stand {
    /// The state of a file, given its state in the scan before.
    fn of(path: &Path, metadata: &Metadata, before: Option<&Self>) -> Self {
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        let meta = Meta { modified: metadata.modified().ok(), bytes: metadata.len(), inode };
        match before {
            Some(before) if before.meta == meta => before.clone(),
            _ => Self { content: Content::of(path, &meta), meta },
        }
    }
}

impl Content {
    fn of(path: &Path, meta: &Meta) -> Self {
        let read = || {
            let mut text = Vec::new();
            File::open(path)?.take(READ_BYTES_MAX + 1).read_to_end(&mut text).map(|_| text)
        };
        match read() {
            Ok(text) if text.len() as u64 <= READ_BYTES_MAX => {
                Self::Read(Sha256::digest(&text).into())
            }
            _ => Self::Unread(meta.clone()),
        }
    }
}

impl Sources {
    /// Scans a folder again. Blocks.
    pub(crate) fn look(folder: &Path, before: &Self) -> io::Result<Self> {
        Self::look_at_most(folder, before, FILES_MAX)
    }

    fn look_at_most(folder: &Path, before: &Self, files_max: usize) -> io::Result<Self> {
        let mut sources = Self::default();
        sources.walk(folder, before, 0, files_max)?;
        Ok(sources)
    }

    fn walk(
        &mut self,
        folder: &Path,
        before: &Self,
        depth: usize,
        files_max: usize,
    ) -> io::Result<()> {
        self.folders.insert(folder.to_owned());
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if !is_source(&name.to_string_lossy(), depth) {
                continue;
            }
            // A file that is already gone belonged to a tool or an editor.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && depth < DEPTH_MAX {
                match self.walk(&entry.path(), before, depth + 1, files_max) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    walked => walked?,
                }
            } else if metadata.is_file() {
                let path = entry.path();
                let stand = Stand::of(&path, &metadata, before.files.get(&path));
                self.files.insert(path, stand);
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

    /// The changed files, by path.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<Change> {
        let paths: BTreeSet<&PathBuf> = self.files.keys().chain(before.files.keys()).collect();
        let differs = paths.into_iter().filter_map(|path| {
            let (now, then) = (self.files.get(path), before.files.get(path));
            let is_other = now.map(|it| &it.content) != then.map(|it| &it.content);
            (now != then).then(|| Change { path: path.clone(), is_other })
        });
        differs.collect()
    }
}

/// Whether a file or folder of this name, at this depth, is probably written by a person and read by a build.
fn is_source(name: &str, depth: usize) -> bool {
    let is_leftover = name.starts_with('.') || LEFT.iter().any(|ending| name.ends_with(ending));
    let is_made = is_leftover || MADE.contains(&name) || WRITTEN.contains(&name);
    !is_made && !is_of_tests(name, depth)
}

/// Whether only tests read a file or folder of this name: `testdata`, `pods_test.go`, `test_pods.py`, `pods.test.ts`.
fn is_of_tests(name: &str, depth: usize) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let is_test = (stem.ends_with("_test") && !ending.is_empty()) || ending.starts_with("test.");
    let is_python = ending == "py" && stem.starts_with("test_");
    name == TEST_DATA || (depth == 0 && TESTS.contains(&name)) || is_test || is_python
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: bool) {
        assert_eq!(is_source(name, 0), expect, "{name}");
    }

    #[test]
    fn what_only_tests_read_is_no_source() {
        for name in ["testdata", "test", "tests", "pods_test.go", "hello_test.c", "test_app.py"] {
            check(name, false);
        }
        for name in ["plugin.test.js", "plugin.test.d.ts", "run.golden"] {
            check(name, false);
        }
        for name in ["contest.go", "latest.rs", "test.js", "tested.py", "test_pods.c", "load_test"]
        {
            check(name, true);
        }
        assert!(is_source("test", 1) && is_source("tests", 1) && !is_source("testdata", 1));
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
            "out.log",
            "nohup.out",
        ] {
            check(name, false);
        }
    }

    /// A change between two scans, the changed file, and whether its content changed.
    #[track_caller]
    fn check_change(change: impl FnOnce(&Path), expect: Option<(&str, bool)>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join("target")).unwrap();
        std::fs::write(root.join("src/lib.rs"), "one").unwrap();
        let before = Sources::look(root, &Sources::default()).unwrap();
        change(root);
        let after = Sources::look(root, &before).unwrap();
        let expect = expect.map(|(path, is_other)| Change { path: root.join(path), is_other });
        assert_eq!(after.changes_since(&before), Vec::from_iter(expect));
    }

    /// Puts another file with this content in its place.
    fn rename(root: &Path, text: &str) {
        std::fs::write(root.join(".new"), text).unwrap();
        std::fs::rename(root.join(".new"), root.join("src/lib.rs")).unwrap();
    }

    #[test]
    fn changed_sources_are_found() {
        let (lib, new) = (Some(("src/lib.rs", true)), Some(("src/new.rs", true)));
        check_change(|_| {}, None);
        check_change(|root| std::fs::write(root.join("src/lib.rs"), "three").unwrap(), lib);
        check_change(|root| std::fs::write(root.join("src/new.rs"), "").unwrap(), new);
        check_change(|root| std::fs::remove_file(root.join("src/lib.rs")).unwrap(), lib);
        check_change(|root| std::fs::write(root.join("target/a"), "").unwrap(), None);
        check_change(|root| std::fs::write(root.join("run.golden"), "").unwrap(), None);
        check_change(|root| std::fs::create_dir(root.join("empty")).unwrap(), None);
        check_change(|root| rename(root, "two"), lib);
        check_change(|root| rename(root, "one"), Some(("src/lib.rs", false)));
    }

    #[test]
    fn content_is_read_up_to_a_bound() {
        let content = |bytes: u64, text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            std::fs::write(&path, text).unwrap();
            let file = File::options().append(true).open(&path).unwrap();
            file.set_len(bytes).unwrap();
            let meta = Meta { modified: None, bytes, inode: 1 };
            Content::of(&path, &meta)
        };
        assert_ne!(content(READ_BYTES_MAX, "a"), content(READ_BYTES_MAX, "b"));
        assert_eq!(content(READ_BYTES_MAX + 1, "a"), content(READ_BYTES_MAX + 1, "b"));
    }

    #[test]
    fn folders_are_those_of_sources() {
        let folder = tempfile::tempdir().unwrap();
        for inner in ["src/deep", "target/debug", ".git"] {
            std::fs::create_dir_all(folder.path().join(inner)).unwrap();
        }
        let expect = ["", "src", "src/deep"].map(|path| folder.path().join(path));
        let found = Sources::look(folder.path(), &Sources::default()).unwrap().folders;
        assert_eq!(found, BTreeSet::from(expect.map(|path| path.components().collect())));
    }

    #[test]
    fn too_many_files_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3 {
            std::fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        let look = |files_max| Sources::look_at_most(folder.path(), &Sources::default(), files_max);
        assert!(look(3).is_ok());
        let error = look(2).unwrap_err().to_string();
        assert!(error.contains("more than 2 files"), "{error}");
    }
}
