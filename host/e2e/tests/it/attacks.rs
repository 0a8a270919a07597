//! Attacks by plugins, by files beside plugins, and by requests to the host's port. Each try has a name and an
//! expected result.
//!
//! `host/docs/designs/attacks.md` lists these tries, and tries that other tests prove.

mod accounts;
mod actions;
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
mod unread_log;
mod watches;
mod words;
mod writes;
