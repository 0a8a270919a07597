//! The progress of a task: it shows whether a task has nothing to do, or hangs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a task had come when it was looked at. One that has work at many looks in a row and makes no step between them is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Steps that it has made so far.
    pub steps: u64,
    /// Whether something was there for it to do.
    pub has_work: bool,
}

/// What one task does with what others bring it.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    taken: AtomicU64,
    waits: AtomicBool,
}

impl Flow {
    /// Something was brought.
    pub(crate) fn brought(&self) {
        self.waits.store(true, Ordering::Release);
    }

    /// Everything that was there was taken, and is worked on.
    pub(crate) fn taken(&self) {
        self.taken.fetch_add(1, Ordering::AcqRel);
    }

    /// What was taken is through, and nothing is there.
    pub(crate) fn idle(&self) {
        self.waits.store(false, Ordering::Release);
    }

    pub(crate) fn pulse(&self) -> Pulse {
        let has_work = self.waits.load(Ordering::Acquire);
        Pulse { steps: self.taken.load(Ordering::Acquire), has_work }
    }
}
