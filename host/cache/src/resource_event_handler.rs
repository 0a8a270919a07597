//! Handlers, and the reason of a notification. Answers to client-go's `ResourceEventHandler`.

mod filtering;
mod funcs;
mod notification;
mod sieve;

pub use filtering::FilteringResourceEventHandler;
pub use funcs::ResourceEventHandlerFuncs;
pub use notification::Notification;
pub use sieve::{Sieve, SievePlace};

use crate::indexer::Indexer;
use crate::object::Object;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// The reason of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The object was there before the handler was added: client-go's `isInInitialList`.
    Initial,
    /// The API server reported the change on a watch.
    Watch,
    /// A relist found a difference that the watch had missed.
    Relist,
    /// The handler's resync period came round; nothing changed.
    Resync,
}

/// The cause of a notification, and when its bytes were read.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// The reason.
    pub reason: Reason,
    /// When the bytes were read from the API server; for replays, when the replay was made.
    pub received: Instant,
}

/// The knowledge about a deleted object's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalState {
    /// The API server sent the object's last state with the deletion.
    Known,
    /// The deletion itself was missed and a relist found the object gone: the state is the last one
    /// cached. client-go's `DeletedFinalStateUnknown`.
    Unknown,
    /// The object still exists outside of the requested scope: an update moved it out of a view's scope or of a
    /// handler's filter. The state is the last one inside.
    LeftScope,
}

/// The objects whose changes concern a handler: those of which one state, before or after the change, is among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Interest {
    /// All.
    #[default]
    All,
    /// Those of these namespaces; without a name, none.
    Namespaces(Arc<BTreeSet<String>>),
    /// Those whose label has one of these values; without a value, none.
    Label {
        /// The label.
        key: String,
        /// The values.
        values: Vec<String>,
    },
    /// All, without the updates that a sieve refuses for the handler.
    Sifted(SievePlace),
}

/// Gets every change of one resource, each object's changes in order, after the indexer was
/// written.
///
/// An event handler has a queue and a task of its own and may take its time. On a runtime of one
/// thread nothing else runs meanwhile; a handler that wants to await pulls from
/// [`SharedIndexInformer::notifications`](crate::SharedIndexInformer::notifications). An inline
/// handler is called in the informer's task: it must not block and should only note or enqueue. A
/// panic is caught and counted
/// ([`InformerStats::handler_panics`](crate::InformerStats::handler_panics)); its notification
/// counts as delivered.
pub trait ResourceEventHandler: Send + Sync + 'static {
    /// The objects whose changes concern the handler: all that it acts on, in any state. Asked once, before it begins. Most
    /// changes of other objects take no time for the handler. It gets some of them all the same, and its replay has all
    /// objects.
    fn interest(&self) -> Interest {
        Interest::All
    }
    /// The object is new to this handler.
    fn on_add(&self, object: &Object, cause: Cause);
    /// The object changed, or comes again (`Reason::Resync`, where both are the same version).
    fn on_update(&self, old: &Object, new: &Object, cause: Cause);
    /// The object is gone; `last` is its last known state.
    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause);
    /// As `on_delete`, where `last` is a later state than `known_as`, the last state that the
    /// handler got. A handler that compares states uses `known_as`.
    fn on_delete_known_as(
        &self,
        known_as: &Object,
        last: &Object,
        final_state: FinalState,
        cause: Cause,
    ) {
        let _ = known_as;
        self.on_delete(last, final_state, cause);
    }
    /// As `on_add`: the replay of an inline handler has come to the object, by key.
    fn on_replay(&self, object: &Object, cause: Cause) {
        self.on_add(object, cause);
    }
    /// A change of an object that the replay of a paced inline handler
    /// ([`HandlerOptions::paced`](crate::HandlerOptions::paced)) has not reached. The replay
    /// delivers the object later, if it exists then. A handler that uses the change at once skips
    /// the object in the replay.
    fn on_ahead(&self, notification: &Notification) {
        let _ = notification;
    }
    /// Whether the replay of a paced inline handler may go on. A handler that returns `false` sends its informer's
    /// [`RoomSignal`](crate::RoomSignal) once it may.
    fn has_room(&self) -> bool {
        true
    }
    /// Whether an inline handler can begin. Until then it gets nothing, and a handler that it replaces goes on. Called
    /// in the informer's task, at the handler's beginning and when its informer looks again, for example after a
    /// [`RoomSignal`](crate::RoomSignal). It begins at once when this returns `true`.
    ///
    /// A handler that looks at objects before it begins does so while `looks_left` is not 0, and takes its looks from it.
    /// With 0 it returns `false`: the informer looks again after the changes that wait.
    fn is_ready(&self, looks_left: &mut usize) -> bool {
        let _ = looks_left;
        true
    }
    /// The next step of a walk over the store that a paced inline handler makes of its own accord, between two batches
    /// of changes: it looks at no more than `objects_max` objects, and only at those that `takes` accepts. Returns the
    /// number of its looks; 0: it has nothing to look at now, and sends a [`RoomSignal`](crate::RoomSignal) once it has.
    fn walk(&self, store: &Indexer, takes: &dyn Fn(&Object) -> bool, objects_max: usize) -> usize {
        let _ = (store, takes, objects_max);
        0
    }
    /// The handler has got every object that existed when it was added. Called once.
    fn on_synced(&self) {}
    /// An inline handler has got a batch, which may be empty. A handler that passes notifications
    /// on to another thread wakes it here, once for the batch. Returns whether it passed any on:
    /// the informer of many such handlers gathers changes for a moment.
    fn on_batch_told(&self) -> bool {
        false
    }
}
