//! The admin socket: the way to change a running host for the host's own user. It serves HTTP, for `informant plugin`,
//! `informant dlq`, `informant ui` and `curl --unix-socket`.

mod client;
mod routes;
mod socket;

pub(crate) use client::{AnswerLines, Client, server_error};
pub(crate) use routes::AdminState;
pub(crate) use socket::{AdminSocket, default_path, default_path_of_ours};
