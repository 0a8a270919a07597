//! `host-info`: who and where the plugin is.

use crate::bindings::informant::plugin::host_info::Host;
use crate::guest_state::GuestState;

impl Host for GuestState {
    /// There is one replica and no election yet, so it always leads.
    fn is_leader(&mut self) -> wasmtime::Result<bool> {
        Ok(true)
    }

    fn plugin_name(&mut self) -> wasmtime::Result<String> {
        Ok(self.plugin.to_string())
    }

    fn shard(&mut self) -> wasmtime::Result<(u32, u32)> {
        Ok((0, 1))
    }

    fn host_version(&mut self) -> wasmtime::Result<String> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }
}
