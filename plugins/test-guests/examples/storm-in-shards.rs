//! The same as `storm` with nothing to hand over, so that it can run in several instances: see `src/storm.rs`.
//!
//! The host must lose nothing, and tell each object's events in their order.

use informant_plugin::export_plugin;
use test_guests::storm::Storm;

export_plugin!(Storm);
