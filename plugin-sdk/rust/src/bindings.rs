//! The contract in `../wit` as Rust. `make rust-bindings` generates the modules below with the `wit-bindgen` program,
//! so that a plugin's build compiles no generator. Do not edit them. The other modules of this crate are a layer over
//! them. Plugins use them only through [`export_plugin!`](crate::export_plugin).

#![allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]

pub mod flat_handler;
mod plugin;
pub mod reconciler;
pub mod stateful;
pub mod sync_aware;
pub mod timer;
/// WASI's clock: the part that [`clock`](crate::clock) needs.
pub mod wasi;

pub use plugin::*;
