//! Says of every event what it is, and hands its version to the next one: see `src/storm.rs`.

use informant_plugin::export_plugin;
use test_guests::storm::Storm;

export_plugin!(Storm, stateful);
