//! Where handlers wait for the informer's task to take them in: adding one takes no lock that a notification needs.

use super::listener::{Listener, ListenerPlace, Registration, Told};
use crate::handler_queue::{HandlerOptions, HandlerQueue, Wake};
use crate::resource_event_handler::ResourceEventHandler;
use crate::scope::Scope;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// New handlers, and the knock on the informer's door.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<InboxContent>,
    woken: Notify,
}

/// What somebody wants done in the informer's task.
pub(super) struct TaskCall(pub(super) Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for TaskCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Call")
    }
}

#[derive(Debug, Default)]
struct InboxContent {
    arrivals: Vec<Arrival>,
    calls: Vec<TaskCall>,
    /// The informer has stopped: nobody is taken in any more.
    closed: bool,
}

/// Tells an informer that a paced handler has room again. Cheap to clone; of no effect once the informer is gone.
#[derive(Clone, Debug)]
pub struct RoomSignal {
    /// Not owned: the informer's handlers have it.
    inbox: Weak<Inbox>,
}

impl RoomSignal {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self { inbox: Arc::downgrade(inbox) }
    }

    /// Its replay may go on. Never waits; callable from anywhere.
    pub fn send(&self) {
        if let Some(inbox) = self.inbox.upgrade() {
            inbox.look_again();
        }
    }
}

/// A new handler, and the one whose place it takes.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) place: ListenerPlace,
    pub(super) replaces: Option<Registration>,
}

/// How a handler begins.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) options: HandlerOptions,
    /// What it is told of; none: whatever the informer has.
    pub(crate) scope: Option<Arc<Scope>>,
    /// What has to be listed before it has heard of everything.
    pub(crate) asked: Option<Arc<Scope>>,
    /// The handler whose place it takes; for inline handlers alone.
    pub(crate) replaces: Option<Registration>,
}

impl Wake for Inbox {
    fn wake(&self) {
        self.look_again();
    }
}

impl Inbox {
    /// A handler with a queue and a task of its own.
    pub(crate) fn add(
        self: &Arc<Self>,
        handler: Arc<dyn ResourceEventHandler>,
        beginning: Beginning,
    ) -> Registration {
        let queue = self.queue(&beginning.options);
        self.admit(Told::ByTask { handler, queue }, beginning)
    }

    /// A handler that is called in the informer's task. Invariant 12.
    pub(crate) fn add_inline(
        self: &Arc<Self>,
        handler: Arc<dyn ResourceEventHandler>,
        beginning: Beginning,
    ) -> Registration {
        self.admit(Told::Inline(handler), beginning)
    }

    /// A queue that somebody pulls from.
    pub(crate) fn add_queue(
        self: &Arc<Self>,
        beginning: Beginning,
    ) -> (Arc<HandlerQueue>, Registration) {
        let queue = self.queue(&beginning.options);
        let registration = self.admit(Told::Pulls(queue.clone()), beginning);
        (queue, registration)
    }

    /// Something to do in the informer's task, between two notifications. Dropped if the informer has stopped.
    pub(crate) fn call(&self, call: impl FnOnce() + Send + 'static) {
        let call = TaskCall(Box::new(call));
        self.put(|waiting| waiting.calls.push(call));
    }

    /// Something arrived, or there is another reason to look, since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// There is a reason to look again.
    pub(crate) fn look_again(&self) {
        self.woken.notify_one();
    }

    /// Takes nobody in any more.
    pub(crate) fn close(&self) {
        let left = {
            let mut waiting = self.waiting.lock();
            waiting.closed = true;
            (std::mem::take(&mut waiting.arrivals), std::mem::take(&mut waiting.calls))
        };
        // Outside of the lock: what is dropped here may come back to remove itself.
        drop(left);
    }

    pub(super) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.waiting.lock().arrivals)
    }

    pub(super) fn take_calls(&self) -> Vec<TaskCall> {
        std::mem::take(&mut self.waiting.lock().calls)
    }

    /// A handler is removed: the informer's task lets go of it, even where nothing happens for long.
    pub(super) fn remove(&self, listener: &Arc<Listener>) {
        let forgotten = {
            let mut waiting = self.waiting.lock();
            let is_it = |arrival: &Arrival| Arc::ptr_eq(arrival.place.listener(), listener);
            let found = waiting.arrivals.iter().position(is_it);
            found.map(|index| waiting.arrivals.remove(index))
        };
        // Outside of the lock, as above.
        drop(forgotten);
        self.look_again();
    }

    fn queue(self: &Arc<Self>, options: &HandlerOptions) -> Arc<HandlerQueue> {
        let informer: Weak<Self> = Arc::downgrade(self);
        Arc::new(HandlerQueue::new(options.high_water_mark, informer))
    }

    fn admit(self: &Arc<Self>, told: Told, beginning: Beginning) -> Registration {
        let listener = Arc::new(Listener::new(told, &beginning));
        let registration = Registration::new(listener.clone(), Arc::downgrade(self));
        let arrival = Arrival { place: ListenerPlace::new(listener), replaces: beginning.replaces };
        self.put(|waiting| waiting.arrivals.push(arrival));
        registration
    }

    /// Puts something in, unless the informer has stopped.
    fn put(&self, put: impl FnOnce(&mut InboxContent)) {
        let refused = {
            let mut waiting = self.waiting.lock();
            if waiting.closed {
                Some(put)
            } else {
                put(&mut waiting);
                None
            }
        };
        // Outside of the lock: what is dropped here may come back to remove itself.
        drop(refused);
        self.look_again();
    }
}
