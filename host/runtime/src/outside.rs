//! Requests of plugins to the world outside the host, and their senders: writes to the cluster,
//! HTTP requests, reviews of permissions. Nothing here knows a plugin's configuration;
//! configurations are made of these types.

pub(crate) mod access_reviewer;
pub(crate) mod cluster_writer;
pub(crate) mod event_recorder;
pub(crate) mod http_client;
pub(crate) mod leading;
pub(crate) mod outbound;
pub(crate) mod service_account;
pub(crate) mod shares;
pub(crate) mod turns;
pub(crate) mod write;
