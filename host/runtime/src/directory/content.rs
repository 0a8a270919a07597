//! What was read of plugin files and is not compiled yet. There is so much room for it and no more: a directory
//! of many large plugins is read as they are compiled, not at once.

use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Two of the largest files, so that one is read while another is compiled.
pub(crate) const CONTENT_BYTES_MAX: usize = 128 << 20;
/// The room is counted in pages, because a semaphore counts to 2^29.
const PAGE_BYTES: u64 = 4 << 10;

/// The room for contents. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ContentRoom {
    pages: Arc<Semaphore>,
}

/// Bytes of a plugin file, which give their room back when they are dropped.
pub(crate) struct Content {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl ContentRoom {
    /// Room for so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { pages: Arc::new(Semaphore::new(bytes / PAGE_BYTES as usize)) }
    }

    /// Room for a file, if there is any now.
    pub(super) fn take(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let pages = u32::try_from(bytes.div_ceil(PAGE_BYTES)).ok()?;
        self.pages.clone().try_acquire_many_owned(pages).ok()
    }
}

impl Content {
    pub(super) fn new(bytes: Vec<u8>, room: OwnedSemaphorePermit) -> Self {
        Self { bytes, _room: room }
    }

    /// In hexadecimal.
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
