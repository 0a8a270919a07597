//! The reasons for which a plugin is not called now. `/plugins`, `informant why` and `informant plugin list` show
//! their words.

use std::time::Instant;

/// Why an event is not delivered now. A reason of the whole plugin comes before one of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// A call has the event.
    Call,
    /// The plugin is about to end.
    Ending,
    /// Its subscription is withheld: the service account may not read the resource.
    ServiceAccount,
    /// A user paused the plugin.
    Paused,
    /// The breaker is open.
    Tripped,
    /// The next instance is not due yet.
    BackingOff,
    /// The configuration no longer grants the read.
    Grant,
    /// There is no room for the keys of events.
    Workqueue,
    /// The plugin has reached its call rate.
    RateLimit,
    /// The event has failed, and its next attempt is then.
    Retry(Instant),
    /// The event waits until then for later events of its object.
    Debounce(Instant),
    /// So many events come first.
    Line { ahead: usize },
    /// An earlier event of its object comes first.
    Object,
}

impl NotNow {
    /// The reason's word in answers.
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
