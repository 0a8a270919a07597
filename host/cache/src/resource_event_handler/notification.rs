//! A notification as a value: the calls of a handler, for those who pull.

use super::{Cause, FinalState, Reason};
use crate::object::Object;

/// Something to tell.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The object is new to who is told.
    Added {
        /// The object.
        object: Object,
        /// Why now.
        cause: Cause,
        /// How many other notifications it stands for.
        coalesced: u32,
    },
    /// The object changed, or is told again (`Reason::Resync`, where both are the same version).
    Updated {
        /// What was told last, or what was there when the notification was made.
        old: Object,
        /// The newest state.
        new: Object,
        /// Why now.
        cause: Cause,
        /// How many other notifications it stands for.
        coalesced: u32,
    },
    /// The object is gone.
    Deleted {
        /// Its last known state.
        last: Object,
        /// The state in which who is told knows it, where `last` is a later one: they heard of none in between.
        known_as: Option<Object>,
        /// How much is known of its end.
        final_state: FinalState,
        /// Why now.
        cause: Cause,
        /// How many other notifications it stands for.
        coalesced: u32,
    },
    /// Every object that was there when the handler was added has been told. Comes once.
    Synced,
}

impl Notification {
    /// Its object, the newest state; none for [`Notification::Synced`].
    pub fn object(&self) -> Option<&Object> {
        match self {
            Self::Added { object, .. } => Some(object),
            Self::Updated { new, .. } => Some(new),
            Self::Deleted { last, .. } => Some(last),
            Self::Synced => None,
        }
    }

    /// Why it comes now; none for [`Notification::Synced`].
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Added { cause, .. }
            | Self::Updated { cause, .. }
            | Self::Deleted { cause, .. } => Some(*cause),
            Self::Synced => None,
        }
    }

    pub(crate) fn set_reason(&mut self, reason: Reason) {
        match self {
            Self::Added { cause, .. }
            | Self::Updated { cause, .. }
            | Self::Deleted { cause, .. } => cause.reason = reason,
            Self::Synced => {}
        }
    }

    /// How many other notifications it stands for.
    pub fn coalesced(&self) -> u32 {
        match self {
            Self::Added { coalesced, .. }
            | Self::Updated { coalesced, .. }
            | Self::Deleted { coalesced, .. } => *coalesced,
            Self::Synced => 0,
        }
    }
}
