//! An event with its history of attempts, and what becomes of it after a delivery.

use crate::event::Event;
use std::time::Instant;

/// An event with its history of attempts.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) event: Event,
    /// 1 for the first delivery.
    pub(crate) attempt: u32,
    /// How many of the attempts before it do not count, because they failed for want of the cluster, of a grant or of the lead.
    pub(crate) excused: u32,
    /// How many instances this event has ended.
    pub(crate) crashes: u32,
    /// Given at the first delivery; a retry keeps it.
    pub(crate) seq: u64,
}

impl Queued {
    /// An event that was not tried yet.
    pub(crate) fn untried(event: Event) -> Self {
        Self { event, attempt: 1, excused: 0, crashes: 0, seq: 0 }
    }

    /// The attempts that count, with the one that it has now.
    pub(crate) fn counted(&self) -> u32 {
        self.attempt - self.excused
    }

    /// It was attempted before and comes again.
    pub(super) fn is_retry(&self) -> bool {
        self.attempt > 1
    }

    /// Where it stands among the heads that may be tried at one time.
    pub(super) fn place(&self) -> (bool, u64) {
        (self.is_retry(), self.seq)
    }

    /// The same event with the attempt that has ended.
    pub(super) fn after(self, again: &Again) -> Self {
        Self {
            attempt: self.attempt + again.attempts,
            excused: self.excused + again.excused,
            crashes: self.crashes + again.crashes,
            ..self
        }
    }
}

/// What becomes of an event that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The guest took it, or it is a dead letter: it will not come again.
    Finished,
    /// The guest was not called, because the event does not concern it: it will not come again.
    PassedOver,
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
            Self::Finished | Self::PassedOver => return None,
            Self::RetryAt(at) => (at, 1, 0, 0),
            Self::CrashedRetryAt(at) => (at, 1, 0, 1),
            Self::ExcusedRetryAt(at) => (at, 1, 1, 0),
            Self::NotCalled(at) => (at, 0, 0, 0),
        };
        Some(Again { at, attempts, excused, crashes })
    }

    /// Whether the guest was called: a call counts for the rate.
    pub(crate) fn was_called(self) -> bool {
        !matches!(self, Self::PassedOver | Self::NotCalled(_))
    }
}
