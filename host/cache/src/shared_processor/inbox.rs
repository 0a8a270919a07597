//! New handlers that wait for the informer's task: adding one takes no lock that a notification needs.

use super::Arrivals;
use super::listener::{Listener, ListenerPlace, Registration, Told};
use crate::handler_queue::{HandlerOptions, HandlerQueue, Wake};
use crate::resource_event_handler::ResourceEventHandler;
use crate::scope::Scope;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// New handlers, and the signal to the informer's task.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<InboxContent>,
    woken: Notify,
    /// Whether there is a new entry, or another reason to check, since the last [`Self::take_signal`].
    is_signalled: AtomicBool,
    /// The number of handlers that were added and not removed.
    handlers: Arc<AtomicUsize>,
}

/// A call to make in the informer's task.
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
    /// The informer has stopped: no handler is admitted any more.
    closed: bool,
}

/// Signals an informer that a paced handler has room again. Cheap to clone; without effect once the informer is gone.
#[derive(Clone, Debug)]
pub struct RoomSignal {
    /// Weak: the informer's handlers hold it.
    inbox: Weak<Inbox>,
}

impl RoomSignal {
    pub(crate) fn new(inbox: &Arc<Inbox>) -> Self {
        Self { inbox: Arc::downgrade(inbox) }
    }

    /// The replay may go on. Never waits; callable from anywhere.
    pub fn send(&self) {
        if let Some(inbox) = self.inbox.upgrade() {
            inbox.look_again();
        }
    }
}

/// A new handler, and the replaced one.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) place: ListenerPlace,
    pub(super) replaces: Option<Registration>,
}

/// The options of a new handler.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) options: HandlerOptions,
    /// The scope of its notifications; `None`: the whole scope of the informer.
    pub(crate) scope: Option<Arc<Scope>>,
    /// The scope that must be listed before it has synced.
    pub(crate) asked: Option<Arc<Scope>>,
    /// The handler that it replaces; only for inline handlers.
    pub(crate) replaces: Option<Registration>,
}

impl Wake for Inbox {
    fn wake(&self) {
        self.look_again();
    }
}

impl Inbox {
    /// Adds a handler with a queue and its own task.
    pub(crate) fn add(
        self: &Arc<Self>,
        handler: Arc<dyn ResourceEventHandler>,
        beginning: Beginning,
    ) -> Registration {
        let queue = self.queue(&beginning.options);
        self.admit(Told::ByTask { handler, queue }, beginning)
    }

    /// Adds a handler that is called in the informer's task. Invariant 12.
    pub(crate) fn add_inline(
        self: &Arc<Self>,
        handler: Arc<dyn ResourceEventHandler>,
        beginning: Beginning,
    ) -> Registration {
        self.admit(Told::Inline(handler), beginning)
    }

    /// Adds a queue from which a caller pulls.
    pub(crate) fn add_queue(
        self: &Arc<Self>,
        beginning: Beginning,
    ) -> (Arc<HandlerQueue>, Registration) {
        let queue = self.queue(&beginning.options);
        let registration = self.admit(Told::Pulls(queue.clone()), beginning);
        (queue, registration)
    }

    /// Adds a call to make in the informer's task, between two notifications. Dropped if the informer has stopped.
    pub(crate) fn call(&self, call: impl FnOnce() + Send + 'static) {
        let call = TaskCall(Box::new(call));
        self.put(|waiting| waiting.calls.push(call));
    }

    /// Waits until there is a new entry, or another reason to check, since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// Whether the informer's task was woken since the last call.
    pub(super) fn take_signal(&self) -> bool {
        // The load alone takes no cache line from other processors.
        self.is_signalled.load(Ordering::Relaxed) && self.is_signalled.swap(false, Ordering::AcqRel)
    }

    /// Wakes the informer's task.
    pub(crate) fn look_again(&self) {
        self.is_signalled.store(true, Ordering::Release);
        self.woken.notify_one();
    }

    /// The number of handlers that were added and not removed.
    pub(crate) fn handlers(&self) -> usize {
        self.handlers.load(Ordering::Acquire)
    }

    /// Admits no more handlers.
    pub(crate) fn close(&self) {
        let left = {
            let mut waiting = self.waiting.lock();
            waiting.closed = true;
            (std::mem::take(&mut waiting.arrivals), std::mem::take(&mut waiting.calls))
        };
        // Outside of the lock: a dropped value may call back to remove itself.
        drop(left);
    }

    /// Takes the new handlers that can begin. The others wait here. A handler that replaces one of those replaces that
    /// one's predecessor. All together look at about so many objects before they begin: those for which none are left wait.
    pub(super) fn take_ready(&self, looks_max: usize) -> (Vec<Arrival>, Arrivals) {
        let mut looks_left = looks_max;
        let arrivals = std::mem::take(&mut self.waiting.lock().arrivals);
        let (mut ready, mut later) = (Vec::new(), Vec::<Arrival>::new());
        for mut arrival in arrivals {
            if let Some(replaced) = &arrival.replaces
                && let Some(index) =
                    later.iter().position(|other| replaced.is_of(other.place.listener()))
            {
                arrival.replaces = later.remove(index).replaces.take();
            }
            let listener = arrival.place.listener();
            let is_at_end = listener.is_removed() || listener.is_ready(&mut looks_left);
            if is_at_end { &mut ready } else { &mut later }.push(arrival);
        }
        let left = match (later.is_empty(), looks_left) {
            (true, _) => Arrivals::None,
            (false, 0) => Arrivals::Left,
            (false, _) => Arrivals::Wait,
        };
        if !later.is_empty() {
            self.waiting.lock().arrivals.splice(0..0, later);
        }
        (ready, left)
    }

    pub(super) fn take_calls(&self) -> Vec<TaskCall> {
        std::mem::take(&mut self.waiting.lock().calls)
    }

    /// A handler is removed: wakes the informer's task to drop it, even if there are no changes for long.
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
        let listener = Arc::new(Listener::new(told, &beginning, self.handlers.clone()));
        let registration = Registration::new(listener.clone(), Arc::downgrade(self));
        let arrival = Arrival { place: ListenerPlace::new(listener), replaces: beginning.replaces };
        self.put(|waiting| waiting.arrivals.push(arrival));
        registration
    }

    /// Adds an entry, unless the informer has stopped.
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
        // Outside of the lock: a dropped value may call back to remove itself.
        drop(refused);
        self.look_again();
    }
}
