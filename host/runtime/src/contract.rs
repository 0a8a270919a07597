//! The agreement between a host and a plugin before the plugin runs: the valid content of its file,
//! its requests (the descriptor), its permissions and settings (the configuration), and its limits.

pub(crate) mod component;
pub mod configuration;
pub(crate) mod coverage;
pub(crate) mod descriptor;
pub(crate) mod filter;
pub(crate) mod limits;
pub(crate) mod schedule;
pub mod selectors;
pub(crate) mod unknown_key;
