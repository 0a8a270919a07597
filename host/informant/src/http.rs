//! The HTTP server: health, metrics, plugins, and the cache for whoever asks on this machine.

mod connections;
mod exposure;
mod on_demand;
mod pages;
mod plugins;
mod query;
mod readiness;
mod resources;
mod server;

pub(crate) use plugins::list as list_plugins;
pub(crate) use readiness::not_ready;
pub(crate) use server::{Server, ServerOptions, message};
