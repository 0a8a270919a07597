//! What a plugin can call: one file for each interface of the contract.

mod event_data;
mod host_info;
mod indexer;
mod log;

pub(crate) use event_data::changed;

use crate::bindings::informant::plugin::types;
use crate::guest_state::GuestState;

impl types::Host for GuestState {}
