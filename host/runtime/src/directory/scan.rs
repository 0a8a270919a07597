//! One look at the plugin directories: which plugin files are there, and what they hold.

use crate::plugin_name::PluginName;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A Python plugin is 18 MiB; nothing sensible is larger than this.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Entries looked at in one directory: more is a wrong directory, not a plugin collection.
const ENTRIES_MAX: usize = 4_096;
/// Endings of files that somebody is still writing, or that an editor keeps for itself.
const UNFINISHED: [&str; 6] = ["~", ".tmp", ".swp", ".part", ".crdownload", ".new"];

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Plugin files by name, wherever they are.
    pub(crate) files: BTreeMap<PluginName, PluginFile>,
    /// Plugins whose files are there and could not be read, or were being written: nothing is known of them.
    pub(crate) unread: BTreeSet<PluginName>,
    /// What stands in the way, in a fixed order, so that two looks can be compared.
    pub(crate) problems: Vec<Problem>,
    /// Directories that could not be read: nothing is known of what is in them.
    pub(crate) unreadable: Vec<PathBuf>,
}

/// One plugin file.
#[derive(Debug, Clone)]
pub(crate) struct PluginFile {
    pub(crate) path: PathBuf,
    /// Of the content, in hexadecimal.
    pub(crate) sha256: String,
    /// None when the content is the one that was known already.
    pub(crate) content: Option<Arc<[u8]>>,
}

/// Something that is not as the user will have meant it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The content hash that is known of each plugin, whose bytes need not be kept again.
pub(crate) type Known = BTreeMap<PluginName, String>;

/// Looks at every directory. Reads every plugin file whole, because neither times nor sizes tell whether
/// a mounted ConfigMap changed; call it where blocking is allowed.
pub(crate) fn scan(directories: &[PathBuf], known: &Known) -> Scan {
    let mut scan = Scan::default();
    for directory in directories {
        if let Err(error) = scan_directory(directory, known, &mut scan) {
            scan.unreadable.push(directory.clone());
            scan.problem(directory, format!("cannot be read: {error}"));
        }
    }
    scan.problems.sort();
    scan
}

impl Scan {
    fn problem(&mut self, path: &Path, text: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), text: text.into() });
    }
}

fn scan_directory(directory: &Path, known: &Known, scan: &mut Scan) -> io::Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    // Sorted before it is cut, so that two looks see the same entries.
    paths.sort();
    if paths.len() > ENTRIES_MAX {
        let text = format!("has more than {ENTRIES_MAX} entries; the rest is not looked at");
        scan.problem(directory, text);
        paths.truncate(ENTRIES_MAX);
    }
    for path in paths {
        scan_entry(&path, known, scan);
    }
    Ok(())
}

fn scan_entry(path: &Path, known: &Known, scan: &mut Scan) {
    let Some(file_name) = path.file_name().and_then(|name| name.to_str()) else { return };
    if file_name.starts_with('.') || UNFINISHED.iter().any(|ending| file_name.ends_with(ending)) {
        return;
    }
    if file_name.ends_with(".cwasm") {
        return scan.problem(path, crate::contract::ContractError::Precompiled.to_string());
    }
    let Some(stem) = file_name.strip_suffix(".wasm") else { return };
    let name: PluginName = match stem.parse() {
        Ok(name) => name,
        Err(error) => return scan.problem(path, format!("{error}")),
    };
    if let Some(first) = scan.files.get(&name) {
        let text = format!("has the name of {}, which counts", first.path.display());
        return scan.problem(path, text);
    }
    match read(path) {
        Ok(Read::Whole(content)) => {
            let sha256 = hex(&Sha256::digest(&content));
            let content = (known.get(&name) != Some(&sha256)).then(|| content.into());
            scan.files.insert(name, PluginFile { path: path.to_owned(), sha256, content });
        }
        Ok(Read::Nothing) => {}
        Ok(Read::Unfinished) => {
            scan.unread.insert(name);
        }
        // A file that went between the listing and the look is simply not there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            scan.problem(path, format!("cannot be read: {error}"));
            scan.unread.insert(name);
        }
    }
}

/// What reading a file came to.
enum Read {
    Whole(Vec<u8>),
    /// It changed while it was read.
    Unfinished,
    /// It is no regular file.
    Nothing,
}

fn read(path: &Path) -> io::Result<Read> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(Read::Nothing);
    }
    if metadata.len() > FILE_BYTES_MAX {
        let text = format!("it has {} bytes, at most {FILE_BYTES_MAX} are allowed", metadata.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let mut file = File::open(path)?;
    let before = file.metadata()?;
    let mut content = Vec::with_capacity(before.len() as usize);
    file.by_ref().take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    let after = file.metadata()?;
    let print = |metadata: &fs::Metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    let unchanged = print(&before) == print(&after) && content.len() as u64 == after.len();
    Ok(if unchanged { Read::Whole(content) } else { Read::Unfinished })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Makes the files, looks once, and shows names, hashes' beginnings and problems.
    #[track_caller]
    fn check(files: &[(&str, &str)], expect: Expect) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for (name, content) in files {
            fs::write(directory.path().join(name), content).expect("a file");
        }
        let scan = scan(&[directory.path().to_owned()], &Known::new());
        let mut lines = Vec::new();
        for (name, file) in &scan.files {
            lines.push(format!("{name} {}\n", &file.sha256[..8]));
        }
        for problem in &scan.problems {
            let name = problem.path.file_name().unwrap_or_default().to_string_lossy();
            lines.push(format!("{name}: {}\n", problem.text));
        }
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn plugin_files_are_found_by_their_ending() {
        check(
            &[("a.wasm", "x"), ("b.wasm", "y"), ("README.md", "z"), ("c.wasm.tmp", "x")],
            expect![[r#"
                a 2d711642
                b a1fce436
            "#]],
        );
    }

    #[test]
    fn hidden_and_unfinished_files_are_passed_over() {
        check(&[(".a.wasm", ""), ("..data", ""), ("a.wasm~", ""), ("a.wasm.swp", "")], expect![""]);
    }

    #[test]
    fn what_cannot_be_a_plugin_is_said() {
        check(
            &[("a b.wasm", "x"), ("c.cwasm", "x")],
            expect![[r#"
                a b.wasm: "a b" cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'
                c.cwasm: compiled code (.cwasm) is not accepted, because loading it would run it unchecked; drop in the .wasm it was made from
            "#]],
        );
    }

    #[test]
    fn a_missing_directory_is_unreadable_not_empty() {
        let scan = scan(&["/no/such/directory".into()], &Known::new());
        assert_eq!(scan.unreadable.len(), 1);
        assert!(scan.files.is_empty());
    }

    #[test]
    fn known_content_is_not_kept_again() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join("a.wasm"), "x").expect("a file");
        let directories = [directory.path().to_owned()];
        let first = scan(&directories, &Known::new());
        let name: PluginName = "a".parse().expect("a name");
        let known = Known::from([(name.clone(), first.files[&name].sha256.clone())]);
        assert!(first.files[&name].content.is_some());
        assert!(scan(&directories, &known).files[&name].content.is_none());
    }
}
