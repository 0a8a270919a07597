//! The name of an entry is a hash of the file, the engine and the release. Each entry has a mark, made with a key in
//! the same directory. So the host detects a damaged, half-written or foreign entry, and compiles again. Hosts may
//! share the directory: entries and the key get their place by a rename or a link, and every entry is independent.

use super::code::CompiledPlugin;
use super::report::REPORT_VERSION;
use crate::contract::component::CONTRACT_VERSION;
use crate::guest::engine::Engine;
use crate::private_files;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tracing::{debug, warn};

/// The version of the entries' layout.
const FORMAT: [u8; 8] = *b"informa2";
const MARK_BYTES: usize = 32;
const KEY_BYTES: usize = 32;
const KEY_FILE: &str = "key";
const ENTRY_ENDING: &str = ".code";
const UNFINISHED_ENDING: &str = ".unfinished";
/// A host that has not finished an entry after this time never will.
const UNFINISHED_MAX: Duration = Duration::from_secs(3_600);

/// The place and the size of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeCacheOptions {
    /// A directory of the host's own, which is made if it is missing.
    pub directory: PathBuf,
    /// The bytes of all entries. Beyond this, entries that were not used for longest are removed. A larger entry is
    /// not kept.
    pub bytes_max: u64,
}

/// The directory cannot be used for compiled code.
#[derive(Debug, thiserror::Error)]
#[error("the directory {} cannot be used for compiled code: {problem}; name another with --code-cache", directory.display())]
pub struct CodeCacheError {
    directory: PathBuf,
    problem: String,
}

/// Makes the directory and its key if they are missing, and reports the directory's problem as
/// [`PluginHost::new`](crate::PluginHost::new) does.
pub fn check_code_cache(options: &CodeCacheOptions) -> Result<(), CodeCacheError> {
    CodeCache::open(options.clone()).map(drop)
}

/// The name of an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CodeKey(String);

/// An open cache.
pub(super) struct CodeCache {
    directory: PathBuf,
    bytes_max: u64,
    key: hmac::Key,
}

impl CodeKey {
    /// The key for this engine's code of a plugin file with this hash. Another release of this program checks the file
    /// again.
    pub(super) fn new(engine: &Engine, sha256: &str) -> Self {
        let release = env!("CARGO_PKG_VERSION");
        let release = format!("{release} {CONTRACT_VERSION} {REPORT_VERSION} ");
        let parts = [&FORMAT, release.as_bytes(), &engine.compatibility(), sha256.as_bytes()];
        Self::hashed(&parts)
    }

    /// The key for the functions of a plugin's last version, as this engine compiles them.
    pub(super) fn of_functions(engine: &Engine, plugin: &str) -> Self {
        Self::hashed(&[b"functions", &FORMAT, &engine.compatibility(), plugin.as_bytes()])
    }

    fn hashed(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        parts.iter().for_each(|part| hash.update(part));
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl CodeCache {
    /// Makes the directory and the key if they are missing.
    pub(super) fn open(options: CodeCacheOptions) -> Result<Self, CodeCacheError> {
        let CodeCacheOptions { directory, bytes_max } = options;
        match open_key(&directory) {
            Ok(key) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
                Ok(Self { directory, bytes_max, key })
            }
            Err(error) => Err(CodeCacheError { directory, problem: error.to_string() }),
        }
    }

    /// The plugin's code, if the cache has an intact entry. Blocks on the file system.
    pub(super) fn find(&self, key: &CodeKey) -> Option<CompiledPlugin> {
        let plugin = CompiledPlugin::trusted(self.content(key)?);
        plugin.inspect_err(|error| warn!("compiled code is not used: {error}")).ok()
    }

    /// The content of an entry: code or functions.
    pub(super) fn content(&self, key: &CodeKey) -> Option<Vec<u8>> {
        let path = self.entry(key);
        match self.read(&path, key) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let shown = path.display();
                warn!("compiled code in {shown} is not used, the plugin is compiled anew: {error}");
                // A new entry is written in a moment; it replaces one that cannot be removed now.
                let _ = fs::remove_file(path);
                None
            }
        }
    }

    fn read(&self, path: &Path, key: &CodeKey) -> io::Result<Vec<u8>> {
        let mut file = private_files::open(path, false)?;
        let bytes = file.metadata()?.len();
        if bytes > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut head = [0; FORMAT.len() + MARK_BYTES];
        file.read_exact(&mut head)?;
        let mut code = Vec::with_capacity((bytes as usize).saturating_sub(head.len()));
        (&file).take(self.bytes_max).read_to_end(&mut code)?;
        let (format, mark) = head.split_at(FORMAT.len());
        let damaged = || io::Error::other("it is damaged, or not from here");
        if format != FORMAT {
            return Err(damaged());
        }
        // Invariant 31.
        hmac::verify(&self.key, &marked(key, &code), mark).map_err(|_| damaged())?;
        // The time marks the entry as used. A failure to set it does no harm.
        let _ = file.set_modified(SystemTime::now());
        Ok(code)
    }

    /// Keeps code. A failure is logged and does no harm. Blocks on the file system.
    pub(super) fn keep(&self, key: &CodeKey, plugin: &CompiledPlugin) {
        if let Err(error) = self.put(key, plugin.content()) {
            let shown = self.directory.display();
            warn!(
                "compiled code cannot be kept in {shown}, it is compiled again next time: {error}"
            );
        }
    }

    /// Keeps content under a key, and removes old entries to make room.
    pub(super) fn put(&self, key: &CodeKey, content: &[u8]) -> io::Result<()> {
        self.write(key, content).and_then(|()| self.shrink())
    }

    fn write(&self, key: &CodeKey, code: &[u8]) -> io::Result<()> {
        let bytes = (FORMAT.len() + MARK_BYTES + code.len()) as u64;
        if bytes > self.bytes_max {
            return Ok(());
        }
        let unfinished = self.directory.join(unfinished(&key.0));
        let mut file = private_files::create(&unfinished)?;
        let mark = hmac::sign(&self.key, &marked(key, code));
        let written =
            [&FORMAT, mark.as_ref(), code].iter().try_for_each(|part| file.write_all(part));
        let written = written.and_then(|()| fs::rename(&unfinished, self.entry(key)));
        // An unfinished file is of no use.
        written.inspect_err(|_| _ = fs::remove_file(&unfinished))
    }

    /// Removes entries that were not used for longest until the rest fits, and old unfinished files.
    fn shrink(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Another host may have removed it just now.
            let Ok(metadata) = entry.metadata() else { continue };
            let used = metadata.modified()?;
            let age = now.duration_since(used).unwrap_or_default();
            if name.ends_with(UNFINISHED_ENDING) && age > UNFINISHED_MAX {
                remove(&entry.path())?;
            } else if name.ends_with(ENTRY_ENDING) {
                entries.push((used, metadata.len(), entry.path()));
            }
        }
        entries.sort();
        let mut bytes: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in entries {
            if bytes <= self.bytes_max {
                break;
            }
            debug!("compiled code in {} makes room", path.display());
            remove(&path)?;
            bytes -= size;
        }
        Ok(())
    }

    fn entry(&self, key: &CodeKey) -> PathBuf {
        self.directory.join(format!("{}{ENTRY_ENDING}", key.0))
    }
}

/// The bytes that an entry's mark covers. An entry under another name has a wrong mark.
fn marked(key: &CodeKey, code: &[u8]) -> Vec<u8> {
    let hash = Sha256::digest(code);
    [&FORMAT, key.0.as_bytes(), &hash].concat()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open_key(directory: &Path) -> io::Result<[u8; KEY_BYTES]> {
    private_files::make_directory(directory)?;
    let path = directory.join(KEY_FILE);
    if !path.try_exists()? {
        make_key(&path)?;
    }
    let mut file = private_files::open(&path, false)?;
    let mut key = [0; KEY_BYTES];
    let read = file.read_exact(&mut key);
    read.map_err(|_| io::Error::other("its key is damaged; remove what is in it"))?;
    Ok(key)
}

/// Makes the key. The second of two hosts takes the first one's key: a link does not replace a file.
fn make_key(path: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    let random = SystemRandom::new().fill(&mut key);
    random.map_err(|_| io::Error::other("the system has no random numbers"))?;
    let unfinished = path.with_file_name(unfinished(KEY_FILE));
    let made = private_files::create(&unfinished).and_then(|mut file| {
        file.write_all(&key)?;
        file.sync_all()?;
        match fs::hard_link(&unfinished, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    });
    made.and(fs::remove_file(&unfinished))
}

/// A name that no other host uses: a host in another container may have the same process id.
fn unfinished(name: &str) -> String {
    format!("{name}-{:016x}{UNFINISHED_ENDING}", fastrand::u64(..))
}

#[cfg(test)]
mod tests;
