//! The data that outlives a plugin's versions, and the host if there is a state directory: `state`,
//! dead letters, and events that wait for a retry.

pub(crate) mod archive;
pub(crate) mod dead_letters;
pub(crate) mod plugin_archive;
pub(crate) mod plugin_state;
