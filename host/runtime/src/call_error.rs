//! The ways in which a call of a guest can end with an error, by the host's next step.

use crate::backtrace::Backtrace;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use std::time::Duration;

/// The error of a plugin's call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The guest answered with a failure; its instance is well.
    #[error("the plugin answered: {message}")]
    Guest {
        /// The guest's own words.
        message: String,
        /// When to try again.
        retry: Retry,
    },
    /// The guest was not called: the JSON of its objects exceeds the bound. Its instance is well.
    #[error(
        "the event has {bytes} bytes, at most {max} are handed over; subscribe with delivery metadata or lazy, or without withOld"
    )]
    EventTooLarge {
        /// The bytes of the object and of the old one.
        bytes: usize,
        /// The bound of both together.
        max: usize,
    },
    /// The call could not add a key to the workqueue, so it failed. Its instance is well.
    #[error("{reason}")]
    KeyRefused {
        /// The function that refused the key, and the reason.
        reason: String,
        /// Whether there may be room later; if not, no attempt will succeed.
        later: bool,
    },
    /// The guest was not called: it may no longer read the event's resource. Its instance is well.
    #[error("{reason}; the event waits")]
    Withdrawn {
        /// The missing grant, and the line that would give it.
        reason: String,
    },
    /// Another instance changed a value in the plugin's `state` on which the call relied, so the call failed. Its
    /// instance is well.
    #[error("{0}; the call comes again")]
    StateConflict(String),
    /// The guest trapped, and its instance is lost.
    #[error("trap: {0}")]
    Trap(String),
    /// The guest exceeded its deadline, and its instance is lost.
    #[error("the deadline of {} ms was exceeded{place}", limit.as_millis())]
    DeadlineExceeded {
        /// The time limit of the call.
        limit: Duration,
        /// The guest's function, if it is known.
        place: String,
    },
    /// The guest requested too much memory, and its instance is lost.
    #[error("more than {} MiB of memory were asked for{place} (limits.memory)", limit >> 20)]
    MemoryExceeded {
        /// The limit, in bytes.
        limit: usize,
        /// The guest's function, if it is known.
        place: String,
    },
    /// The plugin would have exceeded its memory in the host, all parts of its account together. Its instance is lost.
    #[error("{0}")]
    AccountExceeded(String),
    /// The instance was not made: there is no room for the linear memories of all instances together.
    #[error("{0}")]
    NoRoom(String),
    /// The guest requested too large tables, and its instance is lost.
    #[error("tables of more than {limit} elements were asked for{place} (limits.tableElements)")]
    TablesExceeded {
        /// The limit of the elements of all tables together.
        limit: usize,
        /// The guest's function, if it is known.
        place: String,
    },
}

/// The next attempt of a failed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// As the rate limiter says.
    Backoff,
    /// After this time.
    After(Duration),
    /// Not at all.
    Never,
}

impl CallError {
    /// A failure with the guest's text, cut to the bound of an error.
    pub(crate) fn guest(message: &str, retry: Retry) -> Self {
        Self::Guest { message: one_line(message, ERROR_BYTES_MAX).into_owned(), retry }
    }

    /// A trap; its text may contain names from the guest.
    pub(crate) fn trap(text: &str, backtrace: &Backtrace) -> Self {
        let text = one_line(text, ERROR_BYTES_MAX);
        Self::Trap(format!("{text}{}", backtrace.short()))
    }

    /// Whether the instance cannot be called any more. Invariant 29.
    pub fn ends_instance(&self) -> bool {
        !matches!(
            self,
            Self::Guest { .. }
                | Self::EventTooLarge { .. }
                | Self::KeyRefused { .. }
                | Self::Withdrawn { .. }
                | Self::StateConflict(_)
        )
    }

    /// Whether another attempt would fail in the same way, so that there is none. The guest cannot know that if the
    /// cluster, a grant or the lead was missing.
    pub(crate) fn is_lasting(&self, is_hindered: bool) -> bool {
        match self {
            Self::Guest { retry: Retry::Never, .. } => !is_hindered,
            Self::EventTooLarge { .. } | Self::KeyRefused { later: false, .. } => true,
            _ => false,
        }
    }

    /// Whether only room in the workqueue or a grant was missing. Then the call comes again once it may have them, and
    /// this is no failure of the plugin.
    pub(crate) fn waits_for_others(&self) -> bool {
        matches!(self, Self::KeyRefused { later: true, .. } | Self::Withdrawn { .. })
    }

    /// Whether only a conflict with another shard made the call fail. It is then tried again without a bound: at each
    /// conflict another call has succeeded.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::StateConflict(_))
    }

    /// The label of `informant_plugin_restarts_total`.
    pub fn cause(&self) -> &'static str {
        match self {
            Self::Guest { .. }
            | Self::EventTooLarge { .. }
            | Self::KeyRefused { .. }
            | Self::Withdrawn { .. }
            | Self::StateConflict(_) => "failure",
            Self::Trap(_) => "trap",
            Self::DeadlineExceeded { .. } => "deadline",
            Self::MemoryExceeded { .. } | Self::NoRoom(_) => "memory",
            Self::TablesExceeded { .. } => "tables",
            Self::AccountExceeded(_) => "account",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &CallError, expect: &str) {
        assert_eq!(error.to_string(), expect);
    }

    #[test]
    fn nothing_is_given_up_on_a_guests_word_where_something_was_missing() {
        let key = |later| CallError::KeyRefused { reason: String::new(), later };
        let guest = |retry| CallError::guest("no", retry);
        let is_lasting = |error: &CallError| [error.is_lasting(false), error.is_lasting(true)];
        assert_eq!(is_lasting(&guest(Retry::Never)), [true, false]);
        assert_eq!(is_lasting(&guest(Retry::Backoff)), [false, false]);
        assert_eq!(is_lasting(&key(false)), [true, true]);
        assert_eq!(is_lasting(&key(true)), [false, false]);
    }

    #[test]
    fn where_it_ended_stands_behind_the_cause() {
        let backtrace = Backtrace::new([(Some("down"), 0), (None, 3)].into_iter());
        let place = ", in down < function 3";
        check(&CallError::trap("stack", &backtrace), &format!("trap: stack{place}"));
        let place = place.to_owned();
        let limit = Duration::from_secs(1);
        let text = "the deadline of 1000 ms was exceeded, in down < function 3";
        check(&CallError::DeadlineExceeded { limit, place }, text);
    }

    #[test]
    fn a_guests_words_stay_one_short_line() {
        check(&CallError::guest("no\nway", Retry::Never), "the plugin answered: no\\nway");
        let nowhere = Backtrace::default();
        check(&CallError::trap("\u{1b}[0m", &nowhere), "trap: \\u{1b}[0m");
        let long = CallError::guest(&"x".repeat(4 << 20), Retry::Never).to_string();
        assert!(long.ends_with("x … (4193280 bytes more)"), "{long}");
        assert!(long.len() < ERROR_BYTES_MAX + 64);
    }
}
