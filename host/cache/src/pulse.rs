//! The progress of a task, which shows whether the task has no work or hangs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The progress of a task at one moment. A task that has work at many checks in a row and makes no step between them
/// is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Its steps so far.
    pub steps: u64,
    /// Whether it had work.
    pub has_work: bool,
}

/// The flow of work through one task.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    taken: AtomicU64,
    waits: AtomicBool,
}

impl Flow {
    /// Notes new work.
    pub(crate) fn brought(&self) {
        self.waits.store(true, Ordering::Release);
    }

    /// Notes that the task took all work, and works on it.
    pub(crate) fn taken(&self) {
        self.taken.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that the task has done its work, and that there is no more.
    pub(crate) fn idle(&self) {
        self.waits.store(false, Ordering::Release);
    }

    pub(crate) fn pulse(&self) -> Pulse {
        let has_work = self.waits.load(Ordering::Acquire);
        Pulse { steps: self.taken.load(Ordering::Acquire), has_work }
    }
}
