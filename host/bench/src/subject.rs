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
}
