//! The HTTP server: health, metrics, plugins, and the cache for whoever asks on this machine.

mod exposure;
mod plugins;
mod query;
mod resources;
mod server;

pub(crate) use server::{Server, ServerOptions};
