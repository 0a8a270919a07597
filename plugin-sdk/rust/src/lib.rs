//! Write Informant plugins in Rust.
//!
//! A plugin declares its subscriptions ([`Plugin::describe`]). It then gets events, one at a time and in order for
//! each object ([`Plugin::handle`]):
//!
//! ```
//! use informant_plugin::prelude::*;
//!
//! struct Greeter;
//!
//! impl Plugin for Greeter {
//!     fn describe(_: &Config) -> Result<Descriptor> {
//!         Ok(Descriptor::new("0.1.0").subscribe(Subscription::to("v1/pods")))
//!     }
//!     fn start(_: &Config) -> Result<Self> {
//!         Ok(Greeter)
//!     }
//!     fn handle(&mut self, event: Event) -> Result {
//!         info!("{} {}", event.change(), event.key());
//!         Ok(())
//!     }
//! }
//!
//! export_plugin!(Greeter);
//! ```
//!
//! Build it with `--target wasm32-unknown-unknown` and drop the `.wasm` into the host's plugin directory.
//! [`testing`] runs the same plugin natively, in an ordinary unit test.
//!
//! Events come at least once, so [`Plugin::handle`] must be idempotent. The contract, `plugin-sdk/wit`, contains the
//! host's other guarantees.
//!
//! A controller works on keys instead: [`Subscription::enqueue`], [`workqueue`] and [`Reconciler`].
//!
//! Work at certain times needs a [`Schedule`] and a [`Timer`].
//!
//! Plugins change the cluster through [`kube`], and send requests to other servers through [`http`].

#[doc(hidden)]
pub mod bindings;
pub mod clock;
mod config;
mod descriptor;
mod enqueue_rule;
mod event;
pub mod event_data;
mod export;
mod failure;
#[cfg(all(
    feature = "heap",
    target_arch = "wasm32",
    target_os = "unknown",
    not(target_feature = "atomics")
))]
mod heap;
pub mod host_info;
pub mod http;
mod imports;
mod index;
pub mod indexer;
pub mod kube;
pub mod log;
pub mod metrics;
mod plugin;
mod reconciler;
pub mod state;
mod stateful;
mod subscription;
mod sync_aware;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod timer;
pub mod workqueue;

pub use bindings::informant::plugin::types::{Change, ObjectKey, Reason};
pub use config::Config;
pub use descriptor::{Addresses, Descriptor, Every, Http, Read, Schedule, Verb, Write};
pub use enqueue_rule::{EnqueueRule, KeyNamespace};
pub use event::{Event, Gone};
pub use failure::{Failure, Result, Retry, RetryExt};
pub use index::Index;
pub use plugin::Plugin;
pub use reconciler::Reconciler;
pub use stateful::Stateful;
#[cfg(feature = "k8s-openapi")]
pub use subscription::resource_of;
pub use subscription::{Delivery, Replay, Subscription};
pub use sync_aware::SyncAware;
pub use timer::Timer;

#[cfg(feature = "k8s-openapi")]
pub use k8s_openapi;

/// The items that [`export_plugin!`](crate::export_plugin) uses. Do not use them directly.
#[doc(hidden)]
pub mod __export {
    pub use crate::bindings;
    pub use crate::bindings::export;
    pub use crate::export::{
        describe, fire, handle, handle_flat, last_failure, reconcile, restore, snapshot, start,
        stop, synced,
    };
}

/// The items that most plugins need: `use informant_plugin::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Change, Config, Descriptor, Event, Failure, ObjectKey, Plugin, Reason, Result, RetryExt,
        Subscription, debug, error, export_plugin, indexer, info, trace, warn,
    };
}

/// The README's plugin compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
