//! Which files are plugins: one scan of the plugin directories, with the plugin files, the
//! configurations beside them, and their content.
//!
//! A scan decides nothing. [`Wanted`](super::Wanted) decides what follows from it.

use super::content::{Content, ContentRoom};
use super::file_id::FileId;
use super::problem::{FoundProblems, Problem};
use super::read_file::{self, Fingerprint, Opened};
use crate::contract::component::ContractError;
use crate::one_line::one_line;
use crate::plugin_name::PluginName;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Plugin files that one host follows: so many instances have room in the address space
/// (`guest/memory_room.rs`). Further files are a problem, and are not loaded.
pub(crate) const PLUGINS_MAX: usize = 2_048;
/// Entries of one directory. A directory with more is probably a wrong one, and its listing takes
/// too long: it counts as unreadable.
const ENTRIES_MAX: usize = 65_536;

/// The most bytes of a link's target in a problem: a name of a file system. A target may have 4,095.
const TARGET_BYTES_MAX: usize = 255;

/// The input of a scan.
pub(crate) struct Look<'a> {
    /// The directories of plugin files. Of two files with one name, the file in the earlier directory counts.
    pub(crate) directories: &'a [PathBuf],
    /// The files that earlier scans have read.
    pub(crate) known: &'a KnownFiles,
    /// The room for new content.
    pub(crate) room: &'a ContentRoom,
    /// The time that files' times are compared with.
    pub(crate) now: SystemTime,
}

/// Files whose content the host has seen.
pub(crate) type KnownFiles = BTreeMap<FileId, KnownFile>;

#[derive(Debug, Clone)]
pub(crate) struct KnownFile {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    /// `None` if the file changed so shortly before it was read that a later change may not show.
    pub(crate) fingerprint: Option<Fingerprint>,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Files by name and kind, wherever they are.
    pub(crate) files: BTreeMap<FileId, PluginFile>,
    /// Files that exist and could not be read.
    pub(crate) unread: BTreeMap<FileId, Unread>,
    /// Problems, in a fixed order, so that two scans can be compared.
    pub(crate) problems: Vec<Problem>,
    /// The problems before the end of the scan.
    found: FoundProblems,
    /// Numbers of the directories that could not be read.
    pub(crate) unreadable: BTreeSet<usize>,
    /// How many files were skipped because there are too many.
    pub(crate) crowded: usize,
    /// The number of plugin files that earlier scans have not read.
    new_plugins: usize,
}

/// One plugin file, or the configuration beside it.
#[derive(Debug)]
pub(crate) struct PluginFile {
    /// Number of its directory.
    pub(crate) directory: usize,
    pub(crate) path: PathBuf,
    /// Of the content, in hexadecimal.
    pub(crate) sha256: String,
    pub(crate) fingerprint: Option<Fingerprint>,
    /// The time since the last write. `None` if that is in the future, because clocks disagree.
    pub(crate) age: Option<Duration>,
    /// `None` if the content is the known one.
    pub(crate) content: Option<Content>,
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Number of its directory.
    pub(crate) directory: usize,
    pub(crate) path: PathBuf,
    pub(crate) cause: UnreadCause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadCause {
    /// It changed while it was read.
    Writing,
    /// It is too large, or may not be read.
    Refused,
    /// Too much content waits for the compiler.
    NoRoom,
}

/// Scans every directory. Blocks, because a file system may take its time.
pub(crate) fn scan(look: &Look<'_>) -> Scan {
    let mut scan = Scan::default();
    for (number, directory) in look.directories.iter().enumerate() {
        match list(directory) {
            Ok(paths) => {
                let before = scan.crowded;
                for path in paths {
                    scan.entry(number, &path, look);
                }
                scan.tell_crowded(directory, scan.crowded - before);
            }
            Err(error) => {
                scan.unreadable.insert(number);
                let text = format!("cannot be read, so its plugins stay as they are: {error}");
                scan.found.of_directory(Problem::new(directory, text));
            }
        }
    }
    let first = look.directories.first().map(PathBuf::as_path);
    scan.problems = std::mem::take(&mut scan.found).sorted(first);
    scan
}

/// The plugin files of a directory, sorted: the files that a host with this directory would load.
/// Blocks.
///
/// # Errors
/// The directory cannot be read, or has more than 65,536 entries.
pub fn plugin_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_plugin = |path: &PathBuf| path.extension().is_some_and(|found| found == "wasm");
    Ok(list(directory)?.into_iter().filter(is_plugin).collect())
}

/// Possible plugin files and configurations, sorted, so that two scans of the same files have the
/// same result.
fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for (count, entry) in fs::read_dir(directory)?.enumerate() {
        if count >= ENTRIES_MAX {
            let text = format!(
                "it has more than {ENTRIES_MAX} entries; give plugins a directory of their own"
            );
            return Err(io::Error::other(text));
        }
        let name = entry?.file_name();
        let shown = name.to_string_lossy();
        let is_ours = ["wasm", "cwasm", "yaml", "yml"].iter().any(|ours| is(&shown, ours));
        if !shown.starts_with('.') && is_ours {
            paths.push(directory.join(name));
        }
    }
    // A plugin's file comes before its configuration.
    paths.sort();
    Ok(paths)
}

fn is(file_name: &str, extension: &str) -> bool {
    file_name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

impl Scan {
    fn problem(&mut self, path: &Path, text: impl AsRef<str>) {
        self.found.of_file(|| Problem::new(path, text));
    }

    fn entry(&mut self, directory: usize, path: &Path, look: &Look<'_>) {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        if is(&file_name, "cwasm") {
            return self.problem(path, ContractError::Precompiled.to_string());
        }
        if is(&file_name, "yaml") || is(&file_name, "yml") {
            return self.configuration(directory, path, &file_name, look);
        }
        let Some(stem) = file_name.strip_suffix(".wasm") else {
            return self
                .problem(path, "is not loaded: plugin files end in .wasm, in small letters");
        };
        let name: PluginName = match stem.parse() {
            Ok(name) => name,
            Err(error) => return self.problem(path, format!("is not loaded: {error}")),
        };
        if let Some(first) = self.first(&name) {
            let first = look.directories[first].display();
            let text =
                format!("is not loaded: {file_name} in {first} has the same name and counts");
            return self.problem(path, text);
        }
        let id = FileId::plugin(&name);
        let is_new = !look.known.contains_key(&id);
        if is_new && self.is_full(look.known) {
            self.crowded += 1;
            return;
        }
        self.read(directory, path, id, look);
        self.new_plugins += usize::from(is_new && self.first(&name).is_some());
    }

    /// A file that may be the configuration of the plugin beside it. A file without a plugin beside
    /// it is skipped.
    fn configuration(&mut self, directory: usize, path: &Path, file_name: &str, look: &Look<'_>) {
        let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
        let name = stem.parse::<PluginName>().ok();
        let beside = name.as_ref().and_then(|name| self.first(name));
        // While a plugin's file is being replaced, its configuration stays, and no other configuration of this name
        // replaces it.
        let is_known = |name: &PluginName| {
            let known = look.known.get(&FileId::configuration(name));
            known.is_some_and(|known| known.path == path)
        };
        match name {
            Some(_) if beside.is_some() && !file_name.ends_with(".yaml") => {
                let text = format!("is not read: a plugin's configuration is called {stem}.yaml");
                self.problem(path, text);
            }
            Some(name) if beside == Some(directory) || (beside.is_none() && is_known(&name)) => {
                self.read(directory, path, FileId::configuration(&name), look);
            }
            _ => {
                let text = match beside.map(|first| look.directories[first].display()) {
                    Some(first) => format!("is not used: {stem}.wasm is loaded from {first}"),
                    None => format!("is not used: beside it is no {stem}.wasm that can be loaded"),
                };
                self.problem(path, text);
            }
        }
    }

    fn read(&mut self, directory: usize, path: &Path, id: FileId, look: &Look<'_>) {
        let problem = match read(directory, path, &id, look) {
            Ok(FileRead::File(file)) => {
                self.files.insert(id, file);
                return;
            }
            Ok(FileRead::Unread(cause)) => return self.leave(directory, path, id, cause),
            Ok(FileRead::NoFile(kind)) => {
                self.refused(directory, path, &id);
                format!("is {kind} and no file; put the file here, or a link to it")
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A file that is gone since the listing does not exist. A link without a target still exists.
                let Ok(target) = fs::read_link(path) else { return };
                self.refused(directory, path, &id);
                let target = target.to_string_lossy();
                let target = one_line(&target, TARGET_BYTES_MAX);
                format!("is a link to {target}, which is not there")
            }
            Err(error) => {
                self.leave(directory, path, id.clone(), UnreadCause::Refused);
                format!("cannot be read: {error}")
            }
        };
        self.found.of_file(|| Problem::new(path, problem).of(&id.name));
    }

    /// Notes a file that exists and could not be read.
    fn leave(&mut self, directory: usize, path: &Path, id: FileId, cause: UnreadCause) {
        self.unread.insert(id, Unread { directory, path: path.to_owned(), cause });
    }

    fn tell_crowded(&mut self, directory: &Path, files: usize) {
        if files > 0 {
            let text = format!(
                "has more plugin files than are loaded, by {files}: one host runs at most {PLUGINS_MAX} plugins; \
                 remove some, or run another host for them"
            );
            self.found.of_directory(Problem::new(directory, text).about(files));
        }
    }

    /// The directory whose plugin file has the name, read or not.
    fn first(&self, name: &PluginName) -> Option<usize> {
        let id = FileId::plugin(name);
        let read = self.files.get(&id).map(|file| file.directory);
        read.or_else(|| self.unread.get(&id).map(|unread| unread.directory))
    }

    fn is_full(&self, known: &KnownFiles) -> bool {
        known.keys().filter(|id| id.is_plugin()).count() + self.new_plugins >= PLUGINS_MAX
    }

    /// An unreadable configuration is not treated as a missing one: without it the plugin might get
    /// more permissions than it should have.
    fn refused(&mut self, directory: usize, path: &Path, id: &FileId) {
        if !id.is_plugin() {
            self.leave(directory, path, id.clone(), UnreadCause::Refused);
        }
    }
}

enum FileRead {
    File(PluginFile),
    Unread(UnreadCause),
    /// The kind of the entry, which is not a file.
    NoFile(&'static str),
}

fn read(directory: usize, path: &Path, id: &FileId, look: &Look<'_>) -> io::Result<FileRead> {
    let mut file = match read_file::open(path)? {
        Opened::File(file) => file,
        Opened::Other(kind) => return Ok(FileRead::NoFile(kind)),
    };
    let known = look.known.get(id);
    let age = file.age(look.now);
    let found = |sha256, fingerprint, content| {
        let path = path.to_owned();
        Ok(FileRead::File(PluginFile { directory, path, sha256, fingerprint, age, content }))
    };
    let seen = known.filter(|known| known.path == path);
    if let Some(seen) = seen.filter(|seen| seen.fingerprint == Some(file.fingerprint())) {
        return found(seen.sha256.clone(), seen.fingerprint, None);
    }
    if file.bytes() > id.kind.bytes_max() {
        let text = id.kind.too_large(file.bytes());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    if id.is_plugin() {
        file.check_may_be_plugin()?;
    }
    let Some(room) = look.room.take(file.bytes()) else {
        return Ok(FileRead::Unread(UnreadCause::NoRoom));
    };
    let Some(bytes) = file.read_whole()? else { return Ok(FileRead::Unread(UnreadCause::Writing)) };
    // Invariant 30.
    let content = Content::new(bytes, room);
    let sha256 = content.sha256();
    let is_known = known.is_some_and(|known| known.sha256 == sha256);
    let content = (!is_known).then_some(content);
    found(sha256, file.settled_fingerprint(look.now), content)
}

#[cfg(test)]
mod tests;
