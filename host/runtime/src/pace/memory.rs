//! The memory of a plugin's instances, by the time in which one instruction may fill it. A guest does not yield before
//! the end of an instruction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes of an instance's linear memories up to which an informer's thread may make its calls. By measurement an
/// instruction fills new memory of this size in some 7 ms.
pub(crate) const SMALL_MEMORY_MAX: usize = 8 << 20;
/// Bytes that an instruction fills within about two ticks, which is less than a slow call.
pub(crate) const LARGE_MEMORY_MAX: usize = 24 << 20;

/// The size of an instance's linear memories together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemorySize {
    /// At most [`SMALL_MEMORY_MAX`].
    Small,
    /// At most [`LARGE_MEMORY_MAX`].
    Large,
    /// Above both: an instruction may hold a thread for long.
    Huge,
}

/// The numbers of instances whose memory is not small.
#[derive(Debug, Default)]
pub(super) struct LargeInstances {
    large: AtomicU32,
    huge: AtomicU32,
}

/// An instance whose memory is not small, for as long as this value lives.
pub(crate) struct LargeInstance {
    instances: Arc<LargeInstances>,
    size: MemorySize,
}

impl MemorySize {
    /// The size of so many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        if bytes <= SMALL_MEMORY_MAX {
            Self::Small
        } else if bytes <= LARGE_MEMORY_MAX {
            Self::Large
        } else {
            Self::Huge
        }
    }
}

impl LargeInstances {
    /// Whether no instance is large.
    pub(super) fn are_small(&self) -> bool {
        self.large.load(Relaxed) == 0 && !self.has_huge()
    }

    /// Whether an instance is huge.
    pub(super) fn has_huge(&self) -> bool {
        self.huge.load(Relaxed) > 0
    }

    fn of(&self, size: MemorySize) -> &AtomicU32 {
        if size == MemorySize::Huge { &self.huge } else { &self.large }
    }
}

impl LargeInstance {
    pub(super) fn new(instances: &Arc<LargeInstances>, size: MemorySize) -> Self {
        instances.of(size).fetch_add(1, Relaxed);
        Self { instances: instances.clone(), size }
    }

    /// The size for which it counts.
    pub(crate) fn size(&self) -> MemorySize {
        self.size
    }
}

impl Drop for LargeInstance {
    fn drop(&mut self) {
        self.instances.of(self.size).fetch_sub(1, Relaxed);
    }
}
