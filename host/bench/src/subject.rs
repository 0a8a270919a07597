//! What a run of the benchmark is of.

use serde::{Deserialize, Serialize};

/// What a run is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Pods of one informer, and their handlers.
    #[default]
    Pods,
    /// A plugin that is replaced while updates come.
    Reload,
    /// Plugins in Rust that have nothing to do; so many as the run has handlers.
    IdleRust,
    /// The same, written by hand in WebAssembly text.
    IdleText,
    /// The same in C.
    IdleC,
    /// Informers of many resources; so many as the run has handlers, each with so many objects as it has pods.
    Resources,
    /// So many handlers that are told of everything.
    Everything,
    /// So many handlers that are told of a namespace each.
    OwnNamespaces,
    /// One plugin that is told of everything: what the next three are compared with.
    RefusedByNone,
    /// That one, and others that refuse all updates by a filter.
    RefusedByFilter,
    /// The same by a label selector each.
    RefusedByLabels,
    /// The same by a value that never changes.
    RefusedByPointer,
    /// Plugins that are told of everything, and get no object with it.
    Lazy,
    /// Plugins that are told of everything, and get metadata with it.
    Metadata,
    /// Plugins that start at once, their code compiled before.
    Started,
    /// A plugin of many that is replaced by other code while updates come.
    Replaced,
    /// Pods that all plugins want as metadata alone.
    MetadataAlone,
    /// Pods of which all plugins select the same few.
    Chosen,
}
