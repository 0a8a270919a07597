//! The admin socket: the one way to change a running host, for the user that runs it. It speaks
//! HTTP, so `curl --unix-socket` works as `informant plugin` and `informant dlq` do.

mod client;
mod routes;
mod socket;

pub(crate) use client::Client;
pub(crate) use routes::{AdminState, Letters};
pub(crate) use socket::{AdminSocket, default_path, default_path_of_ours};
