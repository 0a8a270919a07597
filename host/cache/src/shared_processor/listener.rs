//! One handler: how it is told, and its place in its informer.

use super::inbox::{Beginning, Inbox};
use crate::handler_queue::{HandlerQueue, QueueStats};
use crate::informer_state::Progress;
use crate::latch::Latch;
use crate::resource_event_handler::{Notification, ResourceEventHandler};
use crate::scope::Scope;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A shorter resync period is raised to this one (client-go's `minimumResyncPeriod`).
const RESYNC_PERIOD_MIN: Duration = Duration::from_secs(1);

/// Notifications told between two looks at whatever else the runtime's thread has to do.
const TOLD_AT_ONCE: usize = 64;

/// Who tells a handler.
pub(super) enum Told {
    /// The informer's task.
    Inline(Arc<dyn ResourceEventHandler>),
    /// A task of its own, from its queue.
    ByTask { handler: Arc<dyn ResourceEventHandler>, queue: Arc<HandlerQueue> },
    /// It pulls from its queue itself.
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
    /// What it is told of; none: whatever the informer has.
    pub(super) scope: Option<Arc<Scope>>,
    /// What has to be listed before it has heard of everything; none: what was asked for when the informer first synced.
    pub(super) asked: Option<Arc<Scope>>,
    pub(super) resync_period: Option<Duration>,
    /// It continues another handler's story: changes concern it even before its replay came by.
    pub(super) succeeds: bool,
    /// It is told of what is there already.
    pub(super) replay: bool,
    /// That comes while it has room, and what happens ahead of it is told as such; of an inline one.
    pub(super) paced: bool,
    removed: AtomicBool,
    synced: Latch,
    /// No call is being made and none will be.
    ended: Latch,
}

impl Listener {
    pub(super) fn new(told: Told, beginning: &Beginning) -> Self {
        let Beginning { options, scope, asked, replaces } = beginning;
        Self {
            paced: options.paced && matches!(told, Told::Inline(_)),
            told,
            scope: scope.clone(),
            asked: asked.clone(),
            resync_period: options.resync_period.map(|period| period.max(RESYNC_PERIOD_MIN)),
            succeeds: replaces.is_some(),
            replay: options.replay,
            removed: AtomicBool::new(false),
            synced: Latch::default(),
            ended: Latch::default(),
        }
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
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

    /// Tells what happens to an object that its walk has not come to.
    pub(super) fn tell_ahead(&self, notification: &Notification, progress: &Progress) {
        if let Told::Inline(handler) = &self.told {
            self.call_with(notification, progress, || handler.on_ahead(notification));
        }
    }

    /// A batch of notifications ends here.
    pub(super) fn batch_told(&self, progress: &Progress) {
        let Told::Inline(handler) = &self.told else { return };
        if catch_unwind(AssertUnwindSafe(|| handler.on_batch_told())).is_err() {
            progress.handler_panicked();
        }
    }

    /// Whether a walk may tell it more.
    pub(super) fn has_room(&self) -> bool {
        match &self.told {
            Told::Inline(handler) if self.paced => {
                catch_unwind(AssertUnwindSafe(|| handler.has_room())).unwrap_or(true)
            }
            Told::Inline(_) => true,
            Told::ByTask { queue, .. } | Told::Pulls(queue) => queue.has_room(),
        }
    }

    /// Whether a resync still waits to be told.
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

    /// Calls the handler, whose panic harms nobody: it counts as told. Answers whether it did: one that was removed is not called.
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

    /// Tells what waits, up to a bound.
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

/// A handler's hold on its informer's side. When it is let go, nothing more is told.
#[derive(Debug)]
pub(super) struct ListenerPlace {
    listener: Arc<Listener>,
    /// Its task says when it has ended.
    has_task: bool,
}

impl ListenerPlace {
    pub(super) fn new(listener: Arc<Listener>) -> Self {
        Self { listener, has_task: false }
    }

    pub(super) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// The task that calls the handler, if it has one of its own. Invariant 12.
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
        self.listener.removed.store(true, Ordering::Release);
        if let Some(queue) = self.listener.queue() {
            queue.close();
        }
        if !self.has_task {
            self.listener.ended.set();
        }
    }
}

/// Says so when the task has ended, even if it was aborted.
struct ListenerEnded(Arc<Listener>);

impl Drop for ListenerEnded {
    fn drop(&mut self) {
        self.0.ended.set();
    }
}

/// One handler's task. A handler may take its time: on a runtime of several threads the others' tasks are moved off this thread
/// while it is called, on one of a single thread they wait.
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
        // A queue that is never empty must not keep the others' tasks from running.
        tokio::task::yield_now().await;
    }
}

/// One handler's place in an informer. Dropping it removes the handler.
#[derive(Debug)]
pub struct Registration {
    listener: Arc<Listener>,
    /// Not owned: the inbox may itself hold a registration that is to be replaced.
    inbox: Weak<Inbox>,
}

impl Registration {
    pub(super) fn new(listener: Arc<Listener>, inbox: Weak<Inbox>) -> Self {
        Self { listener, inbox }
    }

    /// Whether the informer's first list was complete and every object that was there when the handler was added has been told to it:
    /// each call has returned, or panicked.
    pub fn has_synced(&self) -> bool {
        self.listener.synced.is_set()
    }

    /// Waits until the handler has synced. False if it was removed or its informer stopped before.
    pub async fn synced(&self) -> bool {
        tokio::select! {
            // In this order: who has synced stays so.
            biased;
            () = self.listener.synced.wait() => true,
            () = self.listener.ended.wait() => self.has_synced(),
        }
    }

    /// Whether the handler was removed or its informer has stopped: it is told nothing more.
    pub fn is_removed(&self) -> bool {
        self.listener.is_removed()
    }

    /// How far behind the handler is; nothing ever waits for one that is called inline.
    pub fn queue_stats(&self) -> QueueStats {
        let now = tokio::time::Instant::now().into_std();
        self.listener.queue().map(|queue| queue.stats(now)).unwrap_or_default()
    }

    /// Removes the handler: what waits to be told is dropped, a call that is being made goes on, and no other begins after
    /// this returns, but for one that is just being made. Idempotent; a handler may remove itself.
    pub fn remove(&self) {
        if !self.listener.removed.swap(true, Ordering::AcqRel) {
            if let Some(queue) = self.listener.queue() {
                queue.close();
            }
            if let Some(inbox) = self.inbox.upgrade() {
                inbox.remove(&self.listener);
            }
        }
    }

    /// As [`Registration::remove`], and waits until no call is being made any more (client-go's `ShutDownEventHandler`). From
    /// within the handler's own call it would wait for itself: use `remove` there.
    pub async fn remove_and_wait(&self) {
        self.remove();
        self.listener.ended.wait().await;
    }

    /// Notes that somebody who pulls has come to the end of what was there.
    pub(crate) fn note_synced(&self) {
        self.listener.synced.set();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.remove();
    }
}
