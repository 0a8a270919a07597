//! The HTTP server: probes and metrics; on loopback, and for callers with a token, also plugins and the cache.

mod accept;
mod answers;
mod callers;
mod client_certificate;
mod connections;
mod dashboard;
mod entity_tag;
mod event_stream;
mod exposure;
mod field_paths;
mod gzip;
mod heartbeat;
mod informers;
mod kinds;
mod kubernetes_api;
mod listeners;
mod on_demand;
mod open;
mod own_thread;
mod pages;
mod places;
mod plugins;
mod probe_checks;
mod problems;
mod query;
mod readiness;
mod resources;
mod scrapes;
mod server;
mod shares;
#[cfg(test)]
mod stuck_tests;
mod tls;
mod why;
mod write_deadline;

pub(crate) use answers::message;
pub(crate) use connections::{Bounds, serve};
pub(crate) use listeners::{Addresses, Listeners, SecureAddress};
pub(crate) use plugins::respond as respond_plugins;
pub(crate) use problems::list as list_problems;
pub(crate) use readiness::not_ready;
pub(crate) use server::Server;
pub(crate) use tls::{TlsFiles, Transport};
pub(crate) use why::{SecretAccess, respond as respond_why};
