//! What becomes of an event that was delivered.

use std::time::Instant;

/// See above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The guest took it, or it is a dead letter: it will not come again.
    Finished,
    /// It comes again at this time, and its object's later events wait for it.
    RetryAt(Instant),
    /// Like `RetryAt`; this attempt also ended the instance.
    CrashedRetryAt(Instant),
    /// Like `RetryAt`; the attempt does not count.
    ExcusedRetryAt(Instant),
    /// Like `RetryAt`; the guest was not called, and this was no attempt.
    NotCalled(Instant),
}

/// How an event comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) at: Instant,
    /// What is added to its attempts.
    pub(crate) attempts: u32,
    /// What is added to those of them that do not count.
    pub(crate) excused: u32,
    /// What is added to the instances that it has ended.
    pub(crate) crashes: u32,
}

impl Settled {
    /// None: it does not.
    pub(crate) fn again(self) -> Option<Again> {
        let (at, attempts, excused, crashes) = match self {
            Self::Finished => return None,
            Self::RetryAt(at) => (at, 1, 0, 0),
            Self::CrashedRetryAt(at) => (at, 1, 0, 1),
            Self::ExcusedRetryAt(at) => (at, 1, 1, 0),
            Self::NotCalled(at) => (at, 0, 0, 0),
        };
        Some(Again { at, attempts, excused, crashes })
    }
}
