//! `state`: a small store of the plugin's own. The writes of a call count once the call has succeeded.

use super::HostCall;
use crate::guest::bindings::informant::plugin::state::Host;
use crate::guest::guest_state::{GuestState, Phase};
use crate::kept::plugin_state::StateCall;

impl Host for HostCall<'_> {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, String>> {
        Ok(self.readable().map(|state| state.get(&key).map(|value| value.to_vec())))
    }

    fn set(&mut self, key: String, value: Option<Vec<u8>>) -> wasmtime::Result<Result<(), String>> {
        Ok(self.writable().and_then(|state| state.set(&key, value)))
    }

    fn compare_and_set(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
    ) -> wasmtime::Result<Result<bool, String>> {
        let state = self.writable();
        Ok(state.and_then(|state| state.compare_and_set(&key, expected.as_deref(), value)))
    }

    fn keys(&mut self, prefix: String) -> wasmtime::Result<Result<Vec<String>, String>> {
        Ok(self.readable().map(|state| state.keys(&prefix)))
    }
}

impl GuestState {
    fn readable(&self) -> Result<&StateCall, String> {
        self.state.as_ref().ok_or_else(|| "there is no state in `describe`".to_owned())
    }

    /// The state, in calls whose success differs from a failure while no other version is in charge.
    fn writable(&mut self) -> Result<&mut StateCall, String> {
        match (&self.phase, &mut self.state) {
            (Phase::Handle(_) | Phase::Reconcile(..) | Phase::Fire(_), Some(state)) => Ok(state),
            _ => Err("state is written in `handle`, `reconcile` and `fire` only".to_owned()),
        }
    }
}
