//! The cause of a relist, for counters and people.

/// The cause of a new list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelistCause {
    /// The first list.
    Start,
    /// 410: the watch's resourceVersion is forgotten.
    Expired,
    /// The server does not know the resourceVersion yet, or was set back.
    TooLargeResourceVersion,
    /// The server failed in the middle of the watch and may have lost changes.
    ServerError,
    /// The resource or the permission was missing.
    Unavailable,
    /// The list before broke off.
    Interrupted,
    /// An event could not be read: the cached object may be wrong.
    Unreadable,
    /// After a broken connection the server could not show that its history is the followed one.
    Unconfirmed,
    /// The server's history is not the followed one: its storage was restored from a backup.
    Rewind,
    /// Watches are refused, or end at once, while lists are answered: lists replace them.
    Unwatched,
}

impl RelistCause {
    /// Every cause.
    pub const ALL: [Self; 10] = [
        Self::Start,
        Self::Expired,
        Self::TooLargeResourceVersion,
        Self::ServerError,
        Self::Unavailable,
        Self::Interrupted,
        Self::Unreadable,
        Self::Unconfirmed,
        Self::Rewind,
        Self::Unwatched,
    ];

    /// The word in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Expired => "expired",
            Self::TooLargeResourceVersion => "too_large_resource_version",
            Self::ServerError => "server_error",
            Self::Unavailable => "unavailable",
            Self::Interrupted => "interrupted",
            Self::Unreadable => "unreadable",
            Self::Unconfirmed => "unconfirmed",
            Self::Rewind => "rewind",
            Self::Unwatched => "unwatched",
        }
    }
}
