//! The HTTP server: probes and metrics, and on loopback also plugins and the cache.

mod connections;
mod exposure;
mod field_names;
mod listeners;
mod on_demand;
mod pages;
mod plugins;
mod query;
mod readiness;
mod resources;
mod server;

pub(crate) use listeners::Listeners;
pub(crate) use plugins::list as list_plugins;
pub(crate) use readiness::not_ready;
pub(crate) use server::{Server, ServerOptions, message};
