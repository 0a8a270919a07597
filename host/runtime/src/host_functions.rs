//! What a plugin can call: one file for each interface of the contract.

mod event_data;
mod fields;
mod host_info;
mod indexer;
mod log;
mod state;

use crate::bindings::informant::plugin::types;
use crate::guest_state::GuestState;

impl types::Host for GuestState {}
