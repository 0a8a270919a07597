//! The file of the archive: an embedded database with one writer, which one host at a time opens. All calls block on
//! the file system.

use super::record::{decode, decode_head, encode, encode_head, key, place, range};
use super::{ArchiveKey, ArchiveValue, Changes, Kept, NameRecord};
use crate::plugin_name::PluginName;
use crate::private_files;
use jiff::Timestamp;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError};
use redb::{Table, TableDefinition};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tracing::warn;

/// The layout of the tables and their records. An older host refuses a newer number.
const FORMAT: u64 = 1;
const FILE: &str = "state.redb";
/// The number of the host's transactions in the file. After a failure it shows whether the last transaction is in the
/// file.
const WRITTEN: &str = "written";
/// Only heads and the tops of the trees are read again and again.
const CACHE_BYTES: usize = 4 << 20;

const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");
const HEADS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("heads");
const ENTRIES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// The state directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the state directory {} cannot be used: {problem}; {advice}", directory.display())]
pub struct StateDirectoryError {
    directory: PathBuf,
    problem: String,
    advice: String,
}

impl StateDirectoryError {
    pub(super) fn no_thread(directory: PathBuf, error: &io::Error) -> Self {
        let problem = format!("its thread cannot be started: {error}");
        let advice =
            "allow this user more threads (ulimit -u, or the limit of pids of the container)"
                .to_owned();
        Self { directory, problem, advice }
    }
}

/// An open file.
pub(super) struct ArchiveStore {
    database: Database,
    /// `None` in a database of the caller's.
    place: Option<FilePlace>,
}

/// The path of an open file, which may lead to no file or to another one later.
#[derive(Debug, Clone)]
pub(super) struct FilePlace {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl FilePlace {
    fn of(path: PathBuf, file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { path, id: (metadata.dev(), metadata.ino()) })
    }

    /// Whether the path still leads to the file. If not, the next host would not find what is written to it.
    pub(super) fn check(&self) -> Result<(), String> {
        let why = match fs::symlink_metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == self.id => return Ok(()),
            Ok(_) => "another file is there".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = self.path.display();
        Err(format!(
            "{path} is no longer the file that this host opened ({why}): move that file back, or start the host again to use the present one"
        ))
    }
}

impl ArchiveStore {
    /// Opens the directory's file, which is made if it is missing, and checks all of it.
    pub(super) fn open(directory: &Path) -> Result<Self, StateDirectoryError> {
        let failed = |problem: String, advice: &str| StateDirectoryError {
            directory: directory.to_owned(),
            problem,
            advice: advice.to_owned(),
        };
        let no_file = |error: io::Error| {
            failed(error.to_string(), "mend that, or name another with --state-dir")
        };
        private_files::make_directory(directory).map_err(no_file)?;
        let path = directory.join(FILE);
        let file = match private_files::open(&path, true) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_files::create(&path).and_then(|file| {
                    // A file whose directory entry is lost keeps nothing, however often it was synced.
                    private_files::sync_entries(directory)?;
                    Ok(file)
                })
            }
            opened => opened,
        };
        let file = file.map_err(no_file)?;
        let place = FilePlace::of(path, &file).map_err(no_file)?;
        let backend = FileBackend::new(file);
        let opened = backend.and_then(|backend| {
            let mut builder = Builder::new();
            builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
            builder.create_with_backend(backend)
        });
        let database = opened.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => failed(
                "another host is using it".to_owned(),
                "stop that one, or give each host a directory of its own",
            ),
            DatabaseError::Storage(StorageError::Io(error)) if !is_damage(&error) => no_file(error),
            error => failed(
                format!("{FILE} is damaged ({error})"),
                "move that file away to begin with an empty one: what waits in it is not told then",
            ),
        })?;
        let store = Self { database, place: Some(place) };
        let format = store.format().map_err(|error| {
            failed(format!("{FILE} cannot be read ({error})"), "look at the disk")
        })?;
        match format {
            FORMAT => Ok(store),
            other => Err(failed(
                format!("{FILE} has format {other} and this host reads and writes {FORMAT}"),
                "run the host that wrote it, or name another directory",
            )),
        }
    }

    /// A store in a database of the caller's.
    #[cfg(test)]
    pub(super) fn over(database: Database) -> Result<Self, redb::Error> {
        let store = Self { database, place: None };
        store.format()?;
        Ok(store)
    }

    /// The file's format; a new file gets the current format and its tables.
    fn format(&self) -> Result<u64, redb::Error> {
        let transaction = self.database.begin_write()?;
        let format = {
            let mut about = transaction.open_table(ABOUT)?;
            let found = about.get("format")?.map(|format| format.value());
            match found {
                Some(format) => format,
                None => {
                    about.insert("format", FORMAT)?;
                    FORMAT
                }
            }
        };
        if format == FORMAT {
            transaction.open_table(HEADS)?;
            transaction.open_table(ENTRIES)?;
            transaction.commit()?;
        }
        Ok(format)
    }

    pub(super) fn place(&self) -> Option<&FilePlace> {
        self.place.as_ref()
    }

    /// The number of the last transaction in the file.
    pub(super) fn written(&self) -> Result<u64, redb::Error> {
        let transaction = self.database.begin_read()?;
        let about = transaction.open_table(ABOUT)?;
        let number = about.get(WRITTEN)?.map(|number| number.value());
        Ok(number.unwrap_or_default())
    }

    /// Writes all changes or none, with the transaction's number. On success they are on the disk; after an error they
    /// may be.
    pub(super) fn write(&self, changes: &Changes, number: u64) -> Result<(), redb::Error> {
        // Invariant 23.
        let transaction = self.database.begin_write()?;
        {
            transaction.open_table(ABOUT)?.insert(WRITTEN, number)?;
            let mut heads = transaction.open_table(HEADS)?;
            let mut entries = transaction.open_table(ENTRIES)?;
            for ((plugin, place), content) in changes {
                let bytes = content.as_ref().map(encode);
                match (key(plugin, place), bytes) {
                    (None, Some(bytes)) => _ = heads.insert(plugin.as_str(), &bytes[..])?,
                    (None, None) => _ = heads.remove(plugin.as_str())?,
                    (Some(key), Some(bytes)) => _ = entries.insert(&key[..], &bytes[..])?,
                    (Some(key), None) => _ = entries.remove(&key[..])?,
                }
            }
        }
        Ok(transaction.commit()?)
    }

    /// The kept data of a plugin.
    pub(super) fn read(&self, plugin: &PluginName) -> Result<Kept, redb::Error> {
        let transaction = self.database.begin_read()?;
        let mut kept = Kept::default();
        if let Some(head) = transaction.open_table(HEADS)?.get(plugin.as_str())? {
            kept.head = Some(decode_head(head.value()).unwrap_or_default());
        }
        let [begin, end] = range(plugin);
        for entry in transaction.open_table(ENTRIES)?.range(&begin[..]..&end[..])? {
            let (key, bytes) = entry?;
            let place = place(plugin, key.value());
            let content = place.as_ref().and_then(|place| decode(place, bytes.value()));
            match (place, content) {
                (
                    Some(ArchiveKey::Retry { subscription, .. }),
                    Some(ArchiveValue::Retry(waiting)),
                ) => {
                    kept.retries.push((subscription, *waiting));
                }
                (_, Some(ArchiveValue::Letter(letter))) => kept.letters.push(*letter),
                (Some(ArchiveKey::State(name)), Some(ArchiveValue::State(value))) => {
                    kept.state.insert(name, value);
                }
                _ => kept.unreadable += 1,
            }
        }
        Ok(kept)
    }

    /// Notes the time at which the files of absent plugins were found to be gone, if it is not noted yet.
    pub(super) fn note_gone(
        &self,
        present: &BTreeSet<PluginName>,
        now: Timestamp,
    ) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut heads = transaction.open_table(HEADS)?;
            for (name, mut head) in all(&heads)? {
                let is_present = name.parse().is_ok_and(|name: PluginName| present.contains(&name));
                if head.gone.is_none() && !is_present {
                    head.gone = Some(now.as_second());
                    heads.insert(&name[..], &encode_head(&head)[..])?;
                }
            }
        }
        Ok(transaction.commit()?)
    }

    /// Removes the data of plugins whose files were gone by then and have not come back. Returns the names.
    pub(super) fn remove_gone(
        &self,
        present: &BTreeSet<PluginName>,
        before: Timestamp,
    ) -> Result<Vec<String>, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut removed = Vec::new();
        {
            let mut heads = transaction.open_table(HEADS)?;
            let mut entries = transaction.open_table(ENTRIES)?;
            for (name, head) in all(&heads)? {
                if head.gone.is_none_or(|gone| gone > before.as_second()) {
                    continue;
                }
                if let Ok(plugin) = name.parse::<PluginName>() {
                    if present.contains(&plugin) {
                        continue;
                    }
                    let [begin, end] = range(&plugin);
                    entries.retain_in(&begin[..]..&end[..], |_, _| false)?;
                }
                heads.remove(&name[..])?;
                removed.push(name);
            }
        }
        transaction.commit()?;
        Ok(removed)
    }
}

/// All heads; there are no more than plugins.
fn all(heads: &Table<'_, &str, &[u8]>) -> Result<Vec<(String, NameRecord)>, redb::Error> {
    let mut all = Vec::new();
    for entry in heads.iter()? {
        let (name, head) = entry?;
        let name = name.value().to_owned();
        if let Some(head) = decode_head(head.value()) {
            all.push((name, head));
        } else {
            warn!("what is known of {name:?} cannot be read; it is kept as it is");
        }
    }
    Ok(all)
}

/// Whether the error means wrong bytes, and not a failure to read them.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests;
