//! One handler: its way of delivery, and its place in its informer.

mod own_walk;

use super::inbox::{Beginning, Inbox};
use crate::handler_queue::{HandlerQueue, QueueStats};
use crate::informer_state::Progress;
use crate::latch::Latch;
use crate::object::Object;
use crate::resource_event_handler::{Interest, Notification, ResourceEventHandler};
use crate::scope::Scope;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A shorter resync period is raised to this one (client-go's `minimumResyncPeriod`).
const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// Notifications that are delivered before the runtime's thread has a chance for other tasks.
const TOLD_AT_ONCE: usize = 64;

/// The way in which a handler gets its notifications.
pub(super) enum Told {
    /// By calls in the informer's task.
    Inline(Arc<dyn ResourceEventHandler>),
    /// By calls in its own task, from its queue.
    ByTask { handler: Arc<dyn ResourceEventHandler>, queue: Arc<HandlerQueue> },
    /// By pulling from its queue.
    Pulls(Arc<HandlerQueue>),
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Inline(_) => "Inline",
            Self::ByTask { .. } => "ByTask",
            Self::Pulls(_) => "Pulls",
        })
    }
}

/// One handler of one informer.
#[derive(Debug)]
pub(super) struct Listener {
    told: Told,
    /// The scope of its notifications; `None`: the whole scope of the informer.
    pub(super) scope: Option<Arc<Scope>>,
    /// The scope that must be listed before it has synced; `None`: the requests at the informer's first sync.
    pub(super) asked: Option<Arc<Scope>>,
    pub(super) resync_period: Option<Duration>,
    /// Whether it continues another handler's knowledge: changes concern it even before its replay reached them.
    pub(super) succeeds: bool,
    /// Whether it gets existing objects.
    pub(super) replay: bool,
    /// For an inline handler: whether the replay waits for its room, and changes ahead of the replay are delivered as
    /// such.
    pub(super) paced: bool,
    removed: AtomicBool,
    /// The number of the informer's handlers that are not removed, with this one.
    handlers: Arc<AtomicUsize>,
    synced: Latch,
    /// Set when no call is under way and none will be.
    ended: Latch,
}

impl Listener {
    pub(super) fn new(told: Told, beginning: &Beginning, handlers: Arc<AtomicUsize>) -> Self {
        let Beginning { options, scope, asked, replaces } = beginning;
        handlers.fetch_add(1, Ordering::AcqRel);
        Self {
            paced: options.paced && matches!(told, Told::Inline(_)),
            told,
            scope: scope.clone(),
            asked: asked.clone(),
            resync_period: options.resync_period.map(|period| period.max(RESYNC_PERIOD_MIN)),
            succeeds: replaces.is_some(),
            replay: options.replay,
            removed: AtomicBool::new(false),
            handlers,
            synced: Latch::default(),
            ended: Latch::default(),
        }
    }

    /// Whether the handler is notified of the object in this form.
    pub(super) fn takes(&self, object: &Object) -> bool {
        self.asked.as_ref().map_or(!object.is_metadata_only(), |scope| scope.takes(object))
    }

    /// Whether the object may become whole for the handler: it is in the requested scope, as far as its metadata say.
    pub(super) fn awaits(&self, object: &Object) -> bool {
        self.asked.as_ref().is_none_or(|scope| scope.may_select(object))
    }

    /// Whether the object is in its scope, in any form.
    pub(super) fn selects(&self, object: &Object) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.selects(object))
    }

    /// The objects whose changes concern the handler.
    pub(super) fn interest(&self) -> Interest {
        match &self.told {
            Told::Inline(handler) | Told::ByTask { handler, .. } => {
                catch_unwind(AssertUnwindSafe(|| handler.interest())).unwrap_or_default()
            }
            Told::Pulls(_) => Interest::All,
        }
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    /// Ends its notifications. Returns whether they had not ended before.
    fn end(&self) -> bool {
        let is_first = !self.removed.swap(true, Ordering::AcqRel);
        if is_first {
            self.handlers.fetch_sub(1, Ordering::AcqRel);
            if let Some(queue) = self.queue() {
                queue.close();
            }
        }
        is_first
    }

    /// `walked`: it comes from a walk over the store.
    pub(super) fn tell(
        &self,
        notification: &Notification,
        progress: &Progress,
        now: Instant,
        walked: bool,
    ) {
        match &self.told {
            Told::Inline(handler) if walked => match notification {
                Notification::Added { object, cause, .. } => {
                    let call = || handler.on_replay(object, *cause);
                    self.call_with(notification, progress, call);
                }
                _ => self.call(&**handler, notification, progress),
            },
            Told::Inline(handler) => self.call(&**handler, notification, progress),
            Told::ByTask { queue, .. } | Told::Pulls(queue) => {
                queue.push(notification.clone(), now, walked);
            }
        }
    }

    /// Delivers a change of an object that its walk has not reached.
    pub(super) fn tell_ahead(&self, notification: &Notification, progress: &Progress) {
        if let Told::Inline(handler) = &self.told {
            self.call_with(notification, progress, || handler.on_ahead(notification));
        }
    }

    /// Ends a batch of notifications. Returns whether the handler passed any on to another thread.
    pub(super) fn batch_told(&self, progress: &Progress) -> bool {
        let Told::Inline(handler) = &self.told else { return false };
        catch_unwind(AssertUnwindSafe(|| handler.on_batch_told())).unwrap_or_else(|_| {
            progress.handler_panicked();
            false
        })
    }

    /// Whether a walk may deliver more.
    pub(super) fn has_room(&self) -> bool {
        match &self.told {
            Told::Inline(handler) if self.paced => {
                catch_unwind(AssertUnwindSafe(|| handler.has_room())).unwrap_or(true)
            }
            Told::Inline(_) => true,
            Told::ByTask { queue, .. } | Told::Pulls(queue) => queue.has_room(),
        }
    }

    /// Whether a resync still waits.
    pub(super) fn is_resyncing(&self) -> bool {
        self.queue().is_some_and(|queue| queue.is_resyncing())
    }

    fn queue(&self) -> Option<&HandlerQueue> {
        match &self.told {
            Told::Inline(_) => None,
            Told::ByTask { queue, .. } | Told::Pulls(queue) => Some(queue),
        }
    }

    fn call(
        &self,
        handler: &dyn ResourceEventHandler,
        notification: &Notification,
        progress: &Progress,
    ) {
        let called = self.call_with(notification, progress, || match notification {
            Notification::Added { object, cause, .. } => handler.on_add(object, *cause),
            Notification::Updated { old, new, cause, .. } => handler.on_update(old, new, *cause),
            Notification::Deleted { last, known_as: None, final_state, cause, .. } => {
                handler.on_delete(last, *final_state, *cause);
            }
            Notification::Deleted {
                last, known_as: Some(known_as), final_state, cause, ..
            } => {
                handler.on_delete_known_as(known_as, last, *final_state, *cause);
            }
            Notification::Synced => handler.on_synced(),
        });
        if called && matches!(notification, Notification::Synced) {
            self.synced.set();
        }
    }

    /// Calls the handler. A panic is caught and counts as delivered. Returns whether there was a call: a removed
    /// handler is not called.
    fn call_with(
        &self,
        notification: &Notification,
        progress: &Progress,
        call: impl FnOnce(),
    ) -> bool {
        if self.is_removed() {
            return false;
        }
        if catch_unwind(AssertUnwindSafe(call)).is_err() {
            progress.handler_panicked();
            let object = notification.object().map(|object| object.key().to_string());
            tracing::error!(
                object,
                "event handler panicked; it goes on with its next notification"
            );
        }
        true
    }

    /// Delivers waiting notifications, up to a bound.
    fn call_some(
        &self,
        handler: &dyn ResourceEventHandler,
        queue: &HandlerQueue,
        first: &Notification,
        progress: &Progress,
    ) {
        self.call(handler, first, progress);
        for _ in 1..TOLD_AT_ONCE {
            let Some(next) = queue.try_next() else { return };
            self.call(handler, &next, progress);
        }
    }
}

/// A handler's place on its informer's side. Dropping it ends its notifications.
#[derive(Debug)]
pub(super) struct ListenerPlace {
    listener: Arc<Listener>,
    /// Whether its own task signals its end.
    has_task: bool,
}

impl ListenerPlace {
    pub(super) fn new(listener: Arc<Listener>) -> Self {
        Self { listener, has_task: false }
    }

    pub(super) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// The task that calls the handler, if it has one. Invariant 12.
    pub(super) fn task(
        &mut self,
        progress: Arc<Progress>,
    ) -> Option<impl Future<Output = ()> + use<>> {
        let Told::ByTask { handler, queue } = &self.listener.told else { return None };
        let (handler, queue) = (handler.clone(), queue.clone());
        self.has_task = true;
        Some(call_all(ListenerEnded(self.listener.clone()), handler, queue, progress))
    }
}

impl Drop for ListenerPlace {
    fn drop(&mut self) {
        self.listener.end();
        if !self.has_task {
            self.listener.ended.set();
        }
    }
}

/// Signals the end of the task, also after an abort.
struct ListenerEnded(Arc<Listener>);

impl Drop for ListenerEnded {
    fn drop(&mut self) {
        self.0.ended.set();
    }
}

/// One handler's task. A handler may take long. On a runtime of several threads, other tasks are moved off this thread
/// during its call; on one with a single thread they wait.
async fn call_all(
    ended: ListenerEnded,
    handler: Arc<dyn ResourceEventHandler>,
    queue: Arc<HandlerQueue>,
    progress: Arc<Progress>,
) {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let many_threads = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    while let Some(first) = queue.next().await {
        let call = || ended.0.call_some(&*handler, &queue, &first, &progress);
        if many_threads {
            tokio::task::block_in_place(call);
        } else {
            call();
        }
        // A queue that is never empty must not keep other tasks from running.
        tokio::task::yield_now().await;
    }
}

/// One handler's place in an informer. Dropping it removes the handler, unless [`Registration::keep`] takes it.
#[derive(Debug)]
pub struct Registration {
    listener: Arc<Listener>,
    /// Weak: the inbox may itself hold a registration that is to be replaced.
    inbox: Weak<Inbox>,
    /// Whether the handler stays after the drop.
    is_kept: bool,
}

impl Registration {
    pub(super) fn new(listener: Arc<Listener>, inbox: Weak<Inbox>) -> Self {
        Self { listener, inbox, is_kept: false }
    }

    pub(super) fn is_of(&self, listener: &Arc<Listener>) -> bool {
        Arc::ptr_eq(&self.listener, listener)
    }

    /// Whether the informer's first list was complete, and the handler has got every object that existed when it was
    /// added: each call has returned, or panicked.
    pub fn has_synced(&self) -> bool {
        self.listener.synced.is_set()
    }

    /// Waits until the handler has synced. `false` if it was removed or its informer stopped before.
    pub async fn synced(&self) -> bool {
        tokio::select! {
            // In this order: a synced handler stays synced.
            biased;
            () = self.listener.synced.wait() => true,
            () = self.listener.ended.wait() => self.has_synced(),
        }
    }

    /// Whether the handler was removed or its informer has stopped: it gets no more notifications.
    pub fn is_removed(&self) -> bool {
        self.listener.is_removed()
    }

    /// The handler stays until its informer stops. For programs that never remove it.
    pub fn keep(mut self) {
        self.is_kept = true;
    }

    /// How far the handler is behind. Nothing ever waits for an inline handler.
    pub fn queue_stats(&self) -> QueueStats {
        let now = tokio::time::Instant::now().into_std();
        self.listener.queue().map(|queue| queue.stats(now)).unwrap_or_default()
    }

    /// Removes the handler. Waiting notifications are dropped, and a call under way goes on. No other call begins
    /// after this returns, except one that is just beginning. Idempotent; a handler may remove itself.
    pub fn remove(&self) {
        if self.listener.end()
            && let Some(inbox) = self.inbox.upgrade()
        {
            inbox.remove(&self.listener);
        }
    }

    /// As [`Registration::remove`], and waits until no call is under way (client-go's `ShutDownEventHandler`). Within
    /// the handler's own call it would wait for itself: use `remove` there.
    pub async fn remove_and_wait(&self) {
        self.remove();
        self.listener.ended.wait().await;
    }

    /// Notes that a pulling caller has got all existing objects.
    pub(crate) fn note_synced(&self) {
        self.listener.synced.set();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.is_kept {
            self.remove();
        }
    }
}
