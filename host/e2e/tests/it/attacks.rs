//! What an attacker tries who can drop a plugin, a file beside it, or a request on the host's port: each try by name, and what comes of it.
//!
//! Tries whose proof is elsewhere are in the same table as these: `host/docs/designs/attacks.md`.

mod accounts;
mod attacker;
mod configuration;
mod descriptors;
mod ends;
mod files;
mod http;
mod kept;
mod plugin_files;
mod port;
mod reads;
mod requests;
mod secrets;
mod system;
mod words;
mod writes;
