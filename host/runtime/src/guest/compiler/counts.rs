//! The counts of compiled and reused code.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The source of the code of all loads since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompileCounts {
    /// Compiled.
    pub compiled: u64,
    /// Taken from the cache, or from another plugin with the same file.
    pub cached: u64,
    /// Failed.
    pub failed: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    compiled: AtomicU64,
    cached: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    pub(super) fn compiled(&self) {
        self.compiled.fetch_add(1, Relaxed);
    }

    pub(super) fn cached(&self) {
        self.cached.fetch_add(1, Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(super) fn read(&self) -> CompileCounts {
        CompileCounts {
            compiled: self.compiled.load(Relaxed),
            cached: self.cached.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }
    }
}
