//! The reasons for which a plugin is not called now. `/plugins`, `informant why` and `informant plugin list` have their words from here.

use std::time::Instant;

/// Why an event is not delivered now. A reason of the whole plugin comes before one of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// A call has it.
    Call,
    /// The plugin is about to end.
    Ending,
    /// Its subscription is withheld: the service account may not read the resource.
    ServiceAccount,
    /// Somebody holds the plugin.
    Paused,
    /// The breaker is open.
    Tripped,
    /// The next instance is due.
    BackingOff,
    /// The configuration no longer grants the read.
    Grant,
    /// There is no room for the keys that events become.
    Workqueue,
    /// The plugin has been called as often as it may.
    RateLimit,
    /// It has failed, and comes again then.
    Retry(Instant),
    /// More events of its object are waited for until then.
    Debounce(Instant),
    /// So many events come first.
    Line { ahead: usize },
    /// An earlier event of its object comes first.
    Object,
}

impl NotNow {
    /// Its word in answers.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Ending => "ending",
            Self::ServiceAccount => "serviceAccount",
            Self::Paused => "paused",
            Self::Tripped => "tripped",
            Self::BackingOff => "backing-off",
            Self::Grant => "grant",
            Self::Workqueue => "workqueue",
            Self::RateLimit => "rateLimit",
            Self::Retry(_) => "retry",
            Self::Debounce(_) => "debounce",
            Self::Line { .. } => "line",
            Self::Object => "object",
        }
    }
}
