//! What is kept of a plugin beyond its versions, and beyond the host where there is a state directory: its `state`, its dead letters, what waits.

pub(crate) mod archive;
pub(crate) mod dead_letters;
pub(crate) mod plugin_archive;
pub(crate) mod plugin_state;
