//! Shared informers: client-go's `tools/cache` for Rust.
//!
//! The way of one change: [`ApiServer`] reads bytes into an [`Object`]; the reflector queues it; the
//! [`SharedIndexInformer`] writes it to its [`Indexer`], then tells each [`ResourceEventHandler`].

mod apiserver;
mod delta_fifo;
mod demand;
mod indexer;
mod informer_factory;
mod informer_state;
mod latch;
pub mod leader_election;
mod list_watch;
mod lister;
mod merge;
mod mutation_cache;
mod notifications;
mod object;
#[cfg(test)]
mod recorder;
mod reflector;
mod resource_definitions;
mod resource_event_handler;
mod scope;
mod shared_informer;
mod shared_processor;
mod sync;
pub mod testing;
mod transform;
mod view;
pub mod workqueue;

pub use apiserver::{ApiServer, LeaseLock};
pub use indexer::{
    IndexFunc, Indexer, IndexerError, JsonPointer, NAMESPACE_INDEX, Page, ParseJsonPointerError,
    Snapshot,
};
pub use informer_factory::{FactoryOptions, InformerLease, NotSynced, SharedInformerFactory};
pub use informer_state::{InformerState, InformerStats};
pub use list_watch::{
    Change, ListEvent, ListOptions, ListStream, ListTweaks, ListTweaksError, ListWatchError,
    ListerWatcher, ListerWatcherSource, Part, QueryParameters, WatchEvent, WatchOptions,
    WatchStream,
};
pub use lister::{Lister, ListerError, NamespaceLister};
pub use merge::{Merge, MergeKind, merge};
pub use mutation_cache::{MUTATION_TTL, MUTATIONS_MAX, MutationCache};
pub use notifications::{HandlerOptions, HighWaterMark, Notification, Notifications, QueueStats};
pub use object::{
    DecodeError, Object, ObjectKey, OwnerReference, TypeMeta, compare_resource_versions,
};
pub use reflector::{RelistCause, WatchErrorHandler, WatchFailure};
pub use resource_definitions::ResourceDefinitions;
pub use resource_event_handler::{
    Cause, FilteringResourceEventHandler, FinalState, Reason, ResourceEventHandler,
};
pub use scope::{Namespaces, Scope, ScopeError};
pub use shared_informer::{InformerOptions, SharedIndexInformer};
pub use shared_processor::Registration;
pub use transform::{Transform, TransformError};
pub use view::View;
