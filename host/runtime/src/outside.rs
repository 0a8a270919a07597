//! What a plugin can ask of the world outside the host, and who asks it there: writes to the cluster, requests over HTTP, reviews of what may be read.
//! Nothing here knows of a plugin's configuration, which is made of these forms.

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
