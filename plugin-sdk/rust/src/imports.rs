//! The seam between this crate and the host: the contract's imports under one name. In a wasm module they
//! are the host's functions, natively [`testing`](crate::testing) answers in its place.

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::informant::plugin::{
    event_data, host_info, http, indexer, kube, log, metrics, state, workqueue,
};
#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::wasi::wasi::clocks::monotonic_clock as clock;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::imports::{
    clock, event_data, host_info, http, indexer, kube, log, metrics, state, workqueue,
};
