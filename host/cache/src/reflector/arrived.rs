//! What came of an action: owned by the driver, shown to the machine as a view.

use super::state::ReflectorInput;
use crate::delta_fifo::Delta;
use crate::list_watch::{Change, ListEvent, ListStream, ListWatchError, WatchEvent, WatchStream};
use crate::object::DecodeError;
use futures::StreamExt;
use std::time::Duration;
use tokio::time::Instant;

/// The stream that is being read.
pub(super) enum Stream {
    None,
    List(ListStream),
    Watch(WatchStream),
}

/// What came.
pub(super) enum Arrived {
    Opened,
    List(ListEvent),
    Watch(WatchEvent),
    Ended,
    Failed(ListWatchError),
    Deadline,
    Elapsed,
    DefinitionTold,
    Served(Option<bool>),
}

impl Arrived {
    pub(super) fn input(&self) -> ReflectorInput<'_> {
        match self {
            Self::Opened => ReflectorInput::Opened,
            Self::List(ListEvent::Object(object, _)) => {
                ReflectorInput::Event { object, gone: false }
            }
            Self::Watch(WatchEvent::Changed(change, object, _)) => {
                ReflectorInput::Event { object, gone: *change == Change::Deleted }
            }
            Self::List(ListEvent::Malformed(error)) | Self::Watch(WatchEvent::Malformed(error)) => {
                // What has no name never was in the cache.
                let known = !matches!(**error, DecodeError::NoName);
                ReflectorInput::Malformed { known, message: error }
            }
            Self::List(ListEvent::End { resource_version, continue_token }) => {
                ReflectorInput::PageEnd {
                    resource_version,
                    continue_token: continue_token.as_deref(),
                }
            }
            Self::Watch(WatchEvent::Bookmark { resource_version, initial_events_end }) => {
                ReflectorInput::Bookmark {
                    resource_version,
                    initial_events_end: *initial_events_end,
                }
            }
            Self::Ended => ReflectorInput::Ended,
            Self::Failed(error) => ReflectorInput::Failed(error),
            Self::Deadline => ReflectorInput::Deadline,
            Self::Elapsed => ReflectorInput::Elapsed,
            Self::DefinitionTold => ReflectorInput::DefinitionTold,
            Self::Served(served) => ReflectorInput::Served(*served),
        }
    }

    /// As a delta; only what the machine can ask to be queued is one.
    pub(super) fn into_delta(self) -> Option<Delta> {
        match self {
            Self::List(ListEvent::Object(object, received)) => {
                Some(Delta::Listed(object, received))
            }
            Self::Watch(WatchEvent::Changed(change, object, received)) => {
                Some(Delta::Changed(change, object, received))
            }
            Self::Watch(WatchEvent::Bookmark { resource_version, .. }) => {
                Some(Delta::Bookmark { resource_version })
            }
            Self::List(ListEvent::Malformed(_) | ListEvent::End { .. })
            | Self::Watch(WatchEvent::Malformed(_))
            | Self::Opened
            | Self::Ended
            | Self::Failed(_)
            | Self::Deadline
            | Self::Elapsed
            | Self::DefinitionTold
            | Self::Served(_) => None,
        }
    }
}

impl Stream {
    pub(super) async fn read(&mut self) -> Arrived {
        match self {
            Self::None => Arrived::Ended,
            Self::List(list) => match list.next().await {
                Some(Ok(event)) => Arrived::List(event),
                Some(Err(error)) => Arrived::Failed(error),
                None => Arrived::Ended,
            },
            Self::Watch(watch) => match watch.next().await {
                Some(Ok(event)) => Arrived::Watch(event),
                Some(Err(error)) => Arrived::Failed(error),
                None => Arrived::Ended,
            },
        }
    }
}

/// What the future says, or `Deadline`.
pub(super) async fn within(
    deadline: Option<Instant>,
    future: impl Future<Output = Arrived>,
) -> Arrived {
    // Far enough away to be never, near enough to be added.
    let never = Duration::from_secs(86_400 * 365);
    let deadline = deadline.unwrap_or_else(|| Instant::now() + never);
    tokio::time::timeout_at(deadline, future).await.unwrap_or(Arrived::Deadline)
}
