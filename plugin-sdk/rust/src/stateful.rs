//! The trait of plugins that pass state to the next version.

use crate::{Plugin, Result};

/// A plugin that carries memory over a reload. Export it with `export_plugin!(MyPlugin, stateful)`.
///
/// If the previous version passed a snapshot and this version accepted it, unchanged subscriptions get no replay,
/// whatever their `replay` is. No snapshot is passed on after a trap or an exceeded deadline.
pub trait Stateful: Plugin {
    /// The snapshot for the next version: at most 1 MiB, in a form that another version can read. After `None` or a
    /// failure there is no snapshot, and the `replay` of the subscriptions decides.
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>>;

    /// Takes the snapshot of the previous version, after [`start`](Plugin::start) and before any event. After a
    /// failure this version does not take over, and the previous one continues.
    fn restore(&mut self, from_version: &str, data: Vec<u8>) -> Result;
}
