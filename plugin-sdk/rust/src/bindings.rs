//! The contract in `../wit` as Rust. `make rust-bindings` generates the modules below from it with the
//! `wit-bindgen` program, so that a plugin's build has no generator to compile. They are never edited.
//! Everything else in this crate is a layer over them; plugins reach them through
//! [`export_plugin!`](crate::export_plugin) only.

#![allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]

mod plugin;
pub mod reconciler;
pub mod stateful;
pub mod sync_aware;
pub mod timer;
/// WASI's clock, as far as [`clock`](crate::clock) needs it.
pub mod wasi;

pub use plugin::*;
