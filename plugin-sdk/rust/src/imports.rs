//! The seam between this crate and the host: the contract's imports under one name. In a wasm module they are the
//! host's functions. In a native build the host of a test replaces them.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod test_host;

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::informant::plugin::{
    event_data, host_info, http, indexer, kube, log, metrics, state, workqueue,
};
#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::wasi::wasi::clocks::monotonic_clock as clock;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use test_host::functions::{
    clock, event_data, host_info, http, indexer, kube, log, metrics, state, workqueue,
};

use std::time::Duration;

/// A wait in the contract's milliseconds, rounded up. The contract bounds it.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
