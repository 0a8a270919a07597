//! What a plugin hands to the version that replaces it.

use crate::{Plugin, Result};

/// A plugin that carries memory over a reload. Export it with `export_plugin!(MyPlugin, stateful)`.
///
/// Where the version before had something to say and this one accepted it, its subscriptions that stay the same are not told their
/// objects again, whatever their `replay` says. Nothing is carried over a trap or an exceeded deadline.
pub trait Stateful: Plugin {
    /// What the next version is to know: at most 1 MiB, in a form that another version can read. `None`: nothing, and the subscriptions'
    /// `replay` decides; so it does after a failure.
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>>;

    /// Takes in what the version before handed over, after [`start`](Plugin::start) and before any event. A failure keeps this version
    /// from taking over: the one before goes on.
    fn restore(&mut self, from_version: &str, data: Vec<u8>) -> Result;
}
