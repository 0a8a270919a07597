//! The content of plugin files that was read and is not compiled yet. Its room is bounded: a directory of many large
//! plugins is read as they are compiled, not at once.

use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for two of the largest files, so that one is read while another is compiled.
pub(crate) const CONTENT_BYTES_MAX: usize = 128 << 20;
/// Files up to this size have their own room: they are loaded while large ones wait for the compiler.
const SMALL_FILE_BYTES_MAX: u64 = 5 << 20;
/// The room for small files.
const SMALL_CONTENT_BYTES_MAX: usize = 32 << 20;
/// The room is counted in pages, because a semaphore counts to 2^29.
const PAGE_BYTES: u64 = 4 << 10;

/// The room for contents. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ContentRoom {
    large: Arc<Semaphore>,
    small: Arc<Semaphore>,
}

/// The bytes of a plugin file. Dropping it gives its room back.
pub(crate) struct Content {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl ContentRoom {
    /// Room for so many bytes, with separate room for small files.
    pub(crate) fn new(bytes: usize) -> Self {
        let room = |bytes: usize| Arc::new(Semaphore::new(bytes / PAGE_BYTES as usize));
        Self { large: room(bytes), small: room(SMALL_CONTENT_BYTES_MAX.min(bytes)) }
    }

    /// Takes room for a file, if there is room now.
    pub(super) fn take(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let pages = u32::try_from(bytes.div_ceil(PAGE_BYTES)).ok()?;
        let room = if bytes <= SMALL_FILE_BYTES_MAX { &self.small } else { &self.large };
        room.clone().try_acquire_many_owned(pages).ok()
    }
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>, room: OwnedSemaphorePermit) -> Self {
        Self { bytes, _room: room }
    }

    /// The hash of the bytes, in hexadecimal.
    pub(crate) fn sha256(&self) -> String {
        Sha256::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_that_wait_leave_room_for_small_ones() {
        let room = ContentRoom::new(CONTENT_BYTES_MAX);
        let waiting: Vec<_> = std::iter::from_fn(|| room.take(64 << 20)).collect();
        assert_eq!(waiting.len(), 2);
        assert!(room.take(SMALL_FILE_BYTES_MAX + 1).is_none());
        let small: Vec<_> = std::iter::from_fn(|| room.take(SMALL_FILE_BYTES_MAX)).collect();
        assert_eq!(small.len(), 6);
        drop(waiting);
        assert!(room.take(SMALL_FILE_BYTES_MAX + 1).is_some());
    }
}
