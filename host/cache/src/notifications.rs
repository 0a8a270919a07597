//! One handler's notifications, for a caller that pulls them at its own pace.

use crate::handler_queue::HandlerQueue;
use crate::resource_event_handler::Notification;
use crate::shared_processor::Registration;
use std::sync::Arc;

/// A handler's place in an informer, to pull from: every existing object (`Reason::Initial`), then
/// [`Notification::Synced`], then every change, each object's in order. Dropping it removes the handler.
#[derive(Debug)]
pub struct Notifications {
    queue: Arc<HandlerQueue>,
    registration: Registration,
}

impl Notifications {
    pub(crate) fn new(queue: Arc<HandlerQueue>, registration: Registration) -> Self {
        Self { queue, registration }
    }

    /// The next notification. `None` once the informer has stopped or the handler was removed; waiting notifications
    /// are then dropped. Dropping the future before it is ready loses nothing.
    pub async fn next(&mut self) -> Option<Notification> {
        let next = self.queue.next().await;
        self.note(next)
    }

    /// The next notification, if one waits.
    pub fn try_next(&mut self) -> Option<Notification> {
        let next = self.queue.try_next();
        self.note(next)
    }

    /// The handler's place in its informer.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    fn note(&self, next: Option<Notification>) -> Option<Notification> {
        if matches!(next, Some(Notification::Synced)) {
            self.registration.note_synced();
        }
        next
    }
}
