//! What a plugin can call: one file for each interface of the contract.

mod event_data;
pub(crate) mod fields;
pub(crate) mod host_call;
mod host_info;
mod http;
mod indexer;
mod kube;
mod log;
mod metrics;
mod state;
mod workqueue;

use host_call::HostCall;
pub(crate) use indexer::SELECTOR_BYTES_MAX;
pub(crate) use log::MESSAGE_BYTES_MAX;

use crate::bindings::informant::plugin::types;
use crate::guest_state::GuestState;

impl types::Host for GuestState {}
