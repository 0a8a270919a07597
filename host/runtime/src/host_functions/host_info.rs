//! `host-info`: who and where the plugin is.

use super::HostCall;
use crate::bindings::informant::plugin::host_info::Host;

impl Host for HostCall<'_> {
    fn is_leader(&mut self) -> wasmtime::Result<bool> {
        Ok(self.leading.is_leader())
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
