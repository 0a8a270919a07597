//! Shared informers, listers, work queues and leader election for Kubernetes: client-go's `tools/cache`, `util/workqueue`
//! and `tools/leaderelection` for Rust, under their names.
//!
//! An *informer* keeps a copy of a resource's objects in this process and tells handlers of every change. It lists
//! once, then watches; a lost watch goes on where it was, and where that is impossible a list finds what was missed. Programs read the copy
//! instead of asking the API server.
//!
//! ```
//! use informant_cache::testing::FakeControllerSource;
//! use informant_cache::{
//!     Cause, FactoryOptions, FinalState, LabelSelector, Object, ResourceEventHandler,
//!     SharedInformerFactory,
//! };
//! use k8s_openapi::api::core::v1::Pod;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! struct Printer;
//!
//! impl ResourceEventHandler for Printer {
//!     fn on_add(&self, object: &Object, cause: Cause) {
//!         println!("added {} ({:?})", object.key(), cause.reason);
//!     }
//!     fn on_update(&self, old: &Object, new: &Object, _: Cause) {
//!         println!("{}: {} -> {}", new.key(), old.resource_version(), new.resource_version());
//!     }
//!     fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
//!         println!("deleted {}", last.key());
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A cluster: `ApiServer::new(client_for_config(kube::Config::infer().await?)?)`. Here, a fake one with a pod.
//! let source = FakeControllerSource::default();
//! source.add(r#"{"metadata":{"namespace":"default","name":"web","labels":{"app":"web"}}}"#);
//!
//! let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
//! let pods = factory.informer_for::<Pod>(); // or `for_resource`, by name
//! let _registration = pods.add_event_handler(Arc::new(Printer)); // removed when it is dropped
//! factory.start();
//! factory.wait_for_cache_sync(Duration::from_secs(30)).await?; // or says which did not, and why
//!
//! let selector: LabelSelector = "app=web".parse()?;
//! let found = pods.indexer().list(Some("default"), &selector, 0, None)?;
//! assert_eq!(found.items[0].key().to_string(), "default/web");
//!
//! factory.shutdown().await; // every task has ended
//! # Ok(()) }
//! ```
//!
//! The crate's `examples` are whole programs: an event printer, Deployments by label and any resource over HTTP, a node informer, and two
//! controllers: a short one, and one with leader election.
//!
//! # The way of one change
//!
//! 1. The *reflector* (a task) reads a line of the watch into an [`Object`]: a handle to the bytes, with the metadata that the store needs. It queues
//!    it as a delta, in order; the queue is bounded, and a list is its begin, its items and its end.
//! 2. The *informer* (a task) writes the [`Indexer`], then calls the handlers: a handler reads objects that are at least
//!    as new as its notification. The store decides the meaning of a delta: an unchanged object reaches no handler, and another UID under the same
//!    name is a deletion and an addition.
//! 3. Each *handler* has a queue and a task of its own, so that a slow one holds nobody up. Above its [`HighWaterMark`] the queue merges by
//!    object: memory is bounded by the objects there are. [`SharedIndexInformer::notifications`] is the same queue to pull from;
//!    [`SharedIndexInformer::add_inline_handler`] does without one.
//! 4. A handler that has more to do than to note something adds the key to a [`workqueue::WorkQueue`], from which workers take it, never two
//!    at once for one key ([`workqueue::Controller`]).
//!
//! # client-go's five constructors
//!
//! | client-go | here | how it differs |
//! | --- | --- | --- |
//! | `NewInformer(lw, type, resync, handler)`: one handler, a store without indexes | [`SharedIndexInformer::new`], then [`add_event_handler`](SharedIndexInformer::add_event_handler) | The handler is not part of the informer: more can come, and go, at any time. Instead of `Store` and `Controller` there is one handle. |
//! | `NewIndexerInformer(.., indexers)`: the same with indexes | the same, then [`Indexer::add_index`] | Indexes are added and removed at any time, also by JSON pointer. An index function cannot panic the store. |
//! | `NewSharedInformer(lw, type, resync)`: many handlers, no indexes | [`SharedIndexInformer::new`] | A handler may have a resync period of its own ([`HandlerOptions::resync_period`]); there is none by default. |
//! | `NewSharedIndexInformer(.., indexers)`: many handlers and indexes | [`SharedIndexInformer::new`] | As above. It needs no type: objects are [`Object`]s, and a [`Lister`] reads them as any `K`. |
//! | `NewSharedInformerFactory(client, resync)`: one informer for each type | [`SharedInformerFactory::new`] | Any resource, by type or by name, whether it exists yet or not. [`SharedInformerFactory::lease`] counts users: an informer that nobody needs stops, frees its memory and can come again. [`SharedInformerFactory::view`] covers namespaces and selectors that may differ from user to user, all from one store. |
//!
//! # client-go's types
//!
//! | client-go | here | how it differs |
//! | --- | --- | --- |
//! | `Reflector`, `ListerWatcher` | [`ListerWatcher`], [`ApiServer`] | What fails is a state that people see ([`InformerState`]) and a call of the [`WatchErrorHandler`], in mid-stream too. A watch-list that never ends is given up for a paged list. |
//! | `DeltaFIFO`, `RealFIFO` | inside | In order and bounded. |
//! | `Store`, `Indexer`, listers | [`Indexer`], [`Lister`], [`NamespaceLister`], [`Store`] where no informer writes | Reads are of an immutable snapshot, wait for nobody and come in pages. |
//! | `MutationCache` | [`MutationCache`] | One's own writes, deletions too, are read at once. |
//! | `TransformFunc` | [`Transform`] | Runs once for each version, and cannot lose resourceVersion or UID. |
//! | `runtime.Object` | [`Object`] | Bytes, which each reader decodes when it needs them. |
//! | `ResourceEventHandler` | [`ResourceEventHandler`] | Every call says why it comes ([`Reason`]): `isInInitialList` is [`Reason::Initial`]. |
//! | `ResourceEventHandlerFuncs`, `ResourceEventHandlerDetailedFuncs` | [`ResourceEventHandlerFuncs`] | The closures get typed objects. |
//! | `FilteringResourceEventHandler` | [`FilteringResourceEventHandler`] | What leaves the filter is deleted with [`FinalState::LeftScope`]. |
//! | `DeletedFinalStateUnknown` | [`FinalState::Unknown`] | An argument, not another type of object. |
//! | `sharedProcessor`, `processorListener` | [`Notifications`] | Bounded. |
//! | `WithNamespace`, `WithTweakListOptions` | [`FactoryOptions`], [`Scope`], [`View`] | A scope belongs to who asks; an update that moves an object out of it is a deletion there. |
//! | `WaitForCacheSync` | [`SharedInformerFactory::wait_for_cache_sync`], [`SharedIndexInformer::synced`] | The former has a deadline, and its error names what is missing and why. |
//! | `tools/pager.ListPager` | [`ListPager`] | The items are a stream, or a whole list. Nothing is asked for ahead. |
//! | `sharedProcessor.listeners` | [`InformerStats::handlers`] | The number of handlers. |
//! | `tools/watch.UntilWithSync` | a loop over [`Notifications`] | Its example waits for a pod. For one object without an informer: `kube::runtime::wait::await_condition`. |
//! | `tools/watch.RetryWatcher` | the reflector of each informer | `kube::runtime::watcher` is one without a cache. |
//! | `tools/record.EventRecorder` | `kube::runtime::events::Recorder` | kube's feature `runtime`; the README shows one. |
//! | `tools/cache/testing.FakeControllerSource` | [`testing::FakeControllerSource`] | Also refuses, ends, forgets and rewinds. |
//! | `util/workqueue` | [`workqueue`] | Two lanes, drains that lose nothing. |
//! | `tools/leaderelection` | [`leader_election`] | Knows from the clock alone that it leads no more. |
//!
//! # What it asks of a program
//!
//! Everything runs on tokio, and stops when it is told to: every task has an owner that joins it. Time is tokio's, so tests can pause
//! it, and what is random follows from a seed. Nothing here needs the rest of Informant, and no WebAssembly.

mod apiserver;
#[doc(hidden)]
pub mod bench_parts;
mod cache_sync;
mod definition_signal;
mod delta_fifo;
mod demand;
mod error_causes;
mod handler_queue;
mod indexer;
mod informer_factory;
mod informer_state;
mod json;
mod latch;
pub mod leader_election;
mod list_watch;
mod lister;
mod merge_rule;
mod mutation_cache;
mod notifications;
mod object;
mod pager;
mod places;
mod pulse;
#[cfg(test)]
mod recorder;
mod reflector;
mod relist_cause;
mod resource_definitions;
mod resource_event_handler;
mod scope;
mod shared_informer;
mod shared_processor;
mod store;
mod sync;
pub mod testing;
mod transform;
mod view;
pub mod workqueue;

pub use apiserver::{
    ApiServer, KeepAlive, LeaseLock, TypedResource, client_for_config, client_with_bodies,
    client_with_keep_alive, is_unconnected,
};
pub use cache_sync::{HasSyncedChecker, NotAllSynced, wait_for_cache_sync};
pub use error_causes::with_causes;
pub use handler_queue::{HandlerOptions, HighWaterMark, QueueStats};
pub use indexer::{
    DetachedIndex, IndexFunc, Indexer, IndexerError, NAMESPACE_INDEX, Page, Snapshot,
};
pub use informer_factory::{FactoryOptions, InformerLease, NotSynced, SharedInformerFactory};
pub use informer_state::{InformerState, InformerStats};
pub use json::escape as pointer_step;
pub use json::{JsonPointer, JsonReader, ParseJsonPointerError, Projection};
pub use json::{SharedProjection, SharedReader, SharedValues};
pub use list_watch::{
    Change, ListEvent, ListOptions, ListStream, ListTweaks, ListTweaksError, ListWatchError,
    ListerWatcher, ListerWatcherSource, Part, QueryParameters, WatchEvent, WatchOptions,
    WatchStream,
};
pub use lister::{Lister, ListerError, NamespaceLister};
pub use merge_rule::{Merge, MergeKind, merge};
pub use mutation_cache::{MUTATION_TTL, MUTATIONS_MAX, MutationCache};
pub use notifications::Notifications;
pub use object::{
    DecodeError, Object, ObjectKey, ObjectNames, OwnerReference, ParseKeyError, TypeMeta, Uid,
    compare_resource_versions,
};
pub use pager::{ListPager, PagedList};
pub use places::SievePlaces;
pub use pulse::Pulse;
pub use reflector::{WatchErrorHandler, WatchFailure};
pub use relist_cause::RelistCause;
pub use resource_definitions::ResourceDefinitions;
pub use resource_event_handler::{
    Cause, FilteringResourceEventHandler, FinalState, Interest, Notification, Reason,
    ResourceEventHandler, ResourceEventHandlerFuncs, Sieve, SievePlace,
};
pub use scope::{Namespaces, Scope, ScopeError, field_pointer};
pub use shared_informer::{InformerOptions, SharedIndexInformer};
pub use shared_processor::{Registration, RoomSignal};
pub use store::Store;
pub use transform::{Transform, TransformError};
pub use view::View;

// Parts of this crate's interface that are the wire's.
pub use informant_apimachinery::{FieldSelector, GroupVersionResource, LabelSelector};

// The releases whose types this crate's interface names.
pub use k8s_openapi;
pub use kube;
