//! An event with its attempts, and the end of a delivery.

use crate::event::Event;
use std::sync::Arc;
use std::time::Instant;

/// The attempts of an event, of a firing or of a `synced` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attempts {
    /// The number of the next attempt, or of the current one. The first attempt has the number 1.
    pub(crate) number: u32,
    /// How many earlier attempts do not count, because the cluster, a grant or the lead was missing.
    pub(crate) excused: u32,
    /// How many instances have ended in these attempts.
    pub(crate) crashes: u32,
}

impl Attempts {
    pub(crate) const NONE: Self = Self { number: 1, excused: 0, crashes: 0 };

    /// The attempts that count, with the current one.
    pub(crate) fn counted(self) -> u32 {
        self.number - self.excused
    }

    pub(crate) fn is_first(self) -> bool {
        self.number == 1
    }

    /// The attempts after the end of the current one.
    #[must_use]
    pub(in crate::delivery) fn after(self, again: &Again) -> Self {
        Self {
            number: self.number + again.attempts,
            excused: self.excused + again.excused,
            crashes: self.crashes + again.crashes,
        }
    }
}

/// An event with its attempts.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    /// Shared by the mailbox, the actor and the call. A count of an object's readers is shared by all plugins.
    pub(crate) event: Arc<Event>,
    pub(crate) tried: Attempts,
    /// Given at the first delivery; a retry keeps it.
    pub(crate) seq: u64,
}

impl Queued {
    /// An event that was never tried.
    pub(crate) fn untried(event: Event) -> Self {
        Self { event: Arc::new(event), tried: Attempts::NONE, seq: 0 }
    }

    /// Whether the event was attempted before.
    pub(super) fn is_retry(&self) -> bool {
        !self.tried.is_first()
    }

    /// The order of a head among the heads that may be tried at one time.
    pub(super) fn place(&self) -> (bool, u64) {
        (self.is_retry(), self.seq)
    }

    /// The same event, with the attempt that has ended.
    pub(super) fn after(self, again: &Again) -> Self {
        Self { tried: self.tried.after(again), ..self }
    }
}

/// The end of the delivery of an event, of a firing or of a `synced` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The call succeeded: the event does not come again.
    Finished,
    /// The call failed too often, or for good: the event does not come again.
    GivenUp,
    /// The guest was not called, because the event does not concern it: the event does not come again.
    PassedOver,
    /// The event comes again at this time, and its object's later events wait for it.
    RetryAt(Instant),
    /// Like `RetryAt`; this attempt also ended the instance.
    CrashedRetryAt(Instant),
    /// Like `RetryAt`; the attempt does not count.
    ExcusedRetryAt(Instant),
    /// Like `RetryAt`; the guest was not called, and this was no attempt.
    NotCalled(Instant),
}

/// The next attempt of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) at: Instant,
    /// The number to add to the attempts.
    pub(crate) attempts: u32,
    /// The number to add to the attempts that do not count.
    pub(crate) excused: u32,
    /// The number to add to the ended instances.
    pub(crate) crashes: u32,
}

impl Settled {
    /// The next attempt. `None` if the event does not come again.
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
