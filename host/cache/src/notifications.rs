//! One handler's notifications, for a caller that pulls them at its own pace.

use crate::handler_queue::HandlerQueue;
use crate::resource_event_handler::Notification;
use crate::shared_processor::Registration;
use std::sync::Arc;

/// A handler's place in an informer, to pull from: every existing object (`Reason::Initial`), then
/// [`Notification::Synced`], then every change, each object's in order. Dropping it removes the handler.
///
/// A loop over it waits for a condition, as client-go's `tools/watch.UntilWithSync` does:
///
/// ```
/// use informant_cache::{HandlerOptions, Notification, SharedIndexInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// /// Waits for a running pod. `None`: the informer has stopped.
/// async fn running(pods: &SharedIndexInformer) -> serde_json::Result<Option<Pod>> {
///     let mut changes = pods.notifications(HandlerOptions::default());
///     while let Some(change) = changes.next().await {
///         let (Notification::Added { object, .. } | Notification::Updated { new: object, .. }) =
///             change
///         else {
///             continue;
///         };
///         let pod: Pod = serde_json::from_slice(&object.json())?;
///         if pod.status.as_ref().is_some_and(|it| it.phase.as_deref() == Some("Running")) {
///             return Ok(Some(pod));
///         }
///     }
///     Ok(None)
/// }
/// # use informant_cache::testing::FakeControllerSource;
/// # use informant_cache::{FactoryOptions, SharedInformerFactory};
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// #
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let source = FakeControllerSource::default();
/// # source.add(r#"{"metadata":{"name":"web"}}"#);
/// # let factory = SharedInformerFactory::new(Arc::new(source.clone()), FactoryOptions::default());
/// # let pods = factory.informer_for::<Pod>();
/// # factory.start();
/// # source.modify(r#"{"metadata":{"name":"web"},"status":{"phase":"Running"}}"#);
/// # let pod = tokio::time::timeout(Duration::from_secs(60), running(&pods)).await??;
/// # assert_eq!(pod.and_then(|pod| pod.metadata.name).as_deref(), Some("web"));
/// # Ok(()) }
/// ```
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
