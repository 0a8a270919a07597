//! Facts about the host and this instance.

use crate::imports::host_info as host;

/// Whether this replica of the host leads. Always true without leader election.
#[must_use]
pub fn is_leader() -> bool {
    host::is_leader()
}

/// The plugin's name: its file name without `.wasm`.
#[must_use]
pub fn plugin_name() -> String {
    host::plugin_name()
}

/// This instance's number, from 0, and the number of instances: [`Descriptor::shards`](crate::Descriptor::shards).
#[must_use]
pub fn shard() -> (u32, u32) {
    host::shard()
}

/// The host's version.
#[must_use]
pub fn host_version() -> String {
    host::host_version()
}
