//! `host-info`: the plugin's name, its shard and its host.

use super::HostCall;
use crate::guest::bindings::informant::plugin::host_info::Host;

impl Host for HostCall<'_> {
    fn is_leader(&mut self) -> wasmtime::Result<bool> {
        Ok(self.leading.is_leader())
    }

    fn plugin_name(&mut self) -> wasmtime::Result<String> {
        Ok(self.plugin.to_string())
    }

    fn shard(&mut self) -> wasmtime::Result<(u32, u32)> {
        let [number, count] = [self.shard.number, self.shard.count].map(u32::try_from);
        Ok((number?, count?))
    }

    fn host_version(&mut self) -> wasmtime::Result<String> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }
}
