//! An event with its history of attempts, and what becomes of it after a delivery.

use crate::event::Event;
use std::time::Instant;

/// The attempts of an event, of a firing or of a `synced` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attempts {
    /// The number of the next one, or of the one under way: 1 for the first.
    pub(crate) number: u32,
    /// How many of the attempts before it do not count, because they failed for want of the cluster, of a grant or of the lead.
    pub(crate) excused: u32,
    /// How many instances have ended in them.
    pub(crate) crashes: u32,
}

impl Attempts {
    pub(crate) const NONE: Self = Self { number: 1, excused: 0, crashes: 0 };

    /// Those that count, with the one that is under way.
    pub(crate) fn counted(self) -> u32 {
        self.number - self.excused
    }

    pub(crate) fn is_first(self) -> bool {
        self.number == 1
    }

    /// The same once the one under way has ended.
    #[must_use]
    pub(in crate::delivery) fn after(self, again: &Again) -> Self {
        Self {
            number: self.number + again.attempts,
            excused: self.excused + again.excused,
            crashes: self.crashes + again.crashes,
        }
    }
}

/// An event with its history of attempts.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) event: Event,
    pub(crate) tried: Attempts,
    /// Given at the first delivery; a retry keeps it.
    pub(crate) seq: u64,
}

impl Queued {
    /// An event that was not tried yet.
    pub(crate) fn untried(event: Event) -> Self {
        Self { event, tried: Attempts::NONE, seq: 0 }
    }

    /// It was attempted before and comes again.
    pub(super) fn is_retry(&self) -> bool {
        !self.tried.is_first()
    }

    /// Where it stands among the heads that may be tried at one time.
    pub(super) fn place(&self) -> (bool, u64) {
        (self.is_retry(), self.seq)
    }

    /// The same event with the attempt that has ended.
    pub(super) fn after(self, again: &Again) -> Self {
        Self { tried: self.tried.after(again), ..self }
    }
}

/// What becomes of an event that was delivered, of a firing or of a `synced` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The call succeeded: it will not come again.
    Finished,
    /// It failed too often, or for good: it will not come again.
    GivenUp,
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
            Self::Finished | Self::GivenUp | Self::PassedOver => return None,
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
