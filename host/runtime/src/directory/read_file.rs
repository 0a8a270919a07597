//! Opens and reads one file of a plugin, or the host's own configuration. No fifo, device or endless file in its place
//! holds up a scan.

use super::content::{CONTENT_BYTES_MAX, Content, ContentRoom};
use super::file_id::FileKind;
use rustix::fs::SeekFrom;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A Python plugin has 18 MiB; no sensible plugin exceeds this size.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;
/// The first bytes of WebAssembly modules and components.
const WASM_MAGIC: [u8; 4] = *b"\0asm";
/// A file that changed this shortly before the read may have changed again within its file system's time resolution,
/// without a trace: 2 s on FAT, a few ms elsewhere.
const UNSETTLED: Duration = Duration::from_secs(3);

/// A file up to this size is always read. This costs nothing, and the content shows why it is not a plugin.
const READ_IN_ANY_CASE: u64 = 64 << 10;
/// The most stretches of data, with the holes between them, that are checked. Each stretch has at least 4 KiB. So a
/// file with more has 16 MiB on the disk, and is read.
const STRETCHES_MAX: usize = 4_096;

/// Distinguishes an untouched file without reading it: the file's identity, its size, and the times of the last change
/// of content and entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

pub(super) enum Opened {
    File(OpenFile),
    /// The kind of the entry, which is not a file.
    Other(&'static str),
}

pub(super) struct OpenFile {
    file: File,
    metadata: Metadata,
}

/// Opens the file, or the target of the link of this name. Opens only a regular file. If the file is exchanged in
/// between, opening does not wait.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(Opened::Other(kind(&metadata)));
    }
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Opened::Other(kind(&metadata)));
    }
    Ok(Opened::File(OpenFile { file, metadata }))
}

fn kind(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    }
}

/// Reads a whole file, for callers that follow no directory.
pub(crate) fn read_file(path: &Path, kind: FileKind) -> io::Result<Content> {
    let mut file = match open(path)? {
        Opened::File(file) => file,
        Opened::Other(kind) => return Err(io::Error::other(format!("it is {kind} and no file"))),
    };
    let bytes = file.bytes();
    if bytes > kind.bytes_max() {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, kind.too_large(bytes)));
    }
    if kind == FileKind::Plugin {
        file.check_may_be_plugin()?;
    }
    let changed = || io::Error::other("it changed while it was read");
    let content = file.read_whole()?.ok_or_else(changed)?;
    let room = ContentRoom::new(CONTENT_BYTES_MAX).take(bytes).ok_or_else(changed)?;
    Ok(Content::new(content, room))
}

/// Reads a whole file of a configuration, also through a link. Errors: the file is no regular one, has more than 1 MiB,
/// or cannot be read. Waits for no writer of a pipe.
pub fn read_configuration(path: &Path) -> io::Result<Vec<u8>> {
    Ok(read_file(path, FileKind::Configuration)?.to_vec())
}

impl OpenFile {
    pub(super) fn bytes(&self) -> u64 {
        self.metadata.len()
    }

    /// The time since the last write; `None` if that is in the future.
    pub(super) fn age(&self, now: SystemTime) -> Option<Duration> {
        now.duration_since(self.metadata.modified().ok()?).ok()
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.metadata)
    }

    /// The fingerprint, if the last change is so long ago that another one would show.
    pub(super) fn settled_fingerprint(&self, now: SystemTime) -> Option<Fingerprint> {
        let changed = Duration::new(
            u64::try_from(self.metadata.ctime()).ok()?,
            u32::try_from(self.metadata.ctime_nsec()).ok()?,
        );
        let age = now.duration_since(SystemTime::UNIX_EPOCH + changed).ok()?;
        (age >= UNSETTLED).then(|| self.fingerprint())
    }

    /// Refuses a large file that cannot be a plugin: one without the first bytes of WebAssembly, or one that is mostly
    /// holes, which cost its author nothing.
    pub(super) fn check_may_be_plugin(&mut self) -> io::Result<()> {
        let bytes = self.bytes();
        if bytes <= READ_IN_ANY_CASE {
            return Ok(());
        }
        let mut head = [0; WASM_MAGIC.len()];
        self.file.read_exact_at(&mut head, 0)?;
        if head != WASM_MAGIC {
            return Err(io::Error::other(format!(
                "it has {bytes} bytes and is no WebAssembly file; drop in the .wasm that your compiler wrote"
            )));
        }
        match self.is_mostly_holes() {
            false => Ok(()),
            true => Err(io::Error::other(format!(
                "more than half of its {bytes} bytes are holes; copy the plugin's file anew, without --sparse"
            ))),
        }
    }

    /// On a file system without holes there are none.
    fn is_mostly_holes(&mut self) -> bool {
        let (mut data, mut at) = (0, 0);
        let mut stretches = 0;
        while let Ok(begin) = rustix::fs::seek(&self.file, SeekFrom::Data(at))
            && let Ok(end) = rustix::fs::seek(&self.file, SeekFrom::Hole(begin))
            && stretches < STRETCHES_MAX
        {
            (data, at) = (data + end.saturating_sub(begin), end);
            stretches += 1;
        }
        let is_counted = (1..STRETCHES_MAX).contains(&stretches);
        is_counted && data < self.bytes().div_ceil(2)
    }

    /// The content; `None` if the file changed meanwhile. Reads at most the size at opening plus one byte.
    pub(super) fn read_whole(&mut self) -> io::Result<Option<Vec<u8>>> {
        let bytes = self.metadata.len();
        let mut content = Vec::with_capacity(bytes as usize + 1);
        self.file.rewind()?;
        self.file.by_ref().take(bytes + 1).read_to_end(&mut content)?;
        let after = fingerprint(&self.file.metadata()?);
        let unchanged = after == self.fingerprint() && content.len() as u64 == bytes;
        Ok(unchanged.then_some(content))
    }
}

fn fingerprint(metadata: &Metadata) -> Fingerprint {
    Fingerprint {
        device: metadata.dev(),
        inode: metadata.ino(),
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}
