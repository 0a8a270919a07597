//! Writes to the cluster as the program makes them that this host is a part of. What may be asked for is decided before.

use crate::outside::service_account::ServiceAccount;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;
use std::time::Duration;

/// Sends writes to an API server.
pub trait ClusterWriter: Send + Sync + 'static {
    /// Sends the request as it is, with the host's credentials, in the name of whom it is for, and answers with the body of a success. Nothing is sent before the future is polled
    /// for the first time, and then at once: whoever asks has just made sure that it may. Where hosts are elected it sends nothing once this host leads
    /// no more, and gives up what is under way then. Dropping the future gives the request up, whatever has become of it. It is polled on threads
    /// that have timers and no sockets.
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>>;
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Path and query: made of checked names only.
    pub uri: String,
    /// The object that the path leads to.
    pub target: WriteTarget,
    /// What the body is.
    pub content_type: &'static str,
    /// At most 3 MiB.
    pub body: Vec<u8>,
    /// A larger answer is an error.
    pub answer_bytes_max: usize,
    /// In whose name; none: in the host's own user's. The API server has to let that one impersonate it.
    pub service_account: Option<ServiceAccount>,
}

/// The object that a request writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTarget {
    /// The resource that it is one of.
    pub resource: GroupVersionResource,
    /// Empty: it is in none.
    pub namespace: String,
    /// Empty where a new object is posted to all the others.
    pub name: String,
    /// Empty: the object itself.
    pub subresource: String,
}

/// Why a write has no answer that could be handed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The API server refused it.
    #[error("{code} {reason}: {message}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// The API server's word for programs, empty where it has none.
        reason: String,
        /// Its text for people.
        message: String,
        /// When it may be tried again.
        retry_after: Option<Duration>,
    },
    /// Another host leads; nothing was sent.
    #[error("another host leads, and nothing was sent")]
    NotLeader,
    /// Nobody knows whether it was done.
    #[error("{0}")]
    Transport(String),
}

/// For a host that has no cluster to write to: every write fails.
#[derive(Debug, Clone, Copy)]
pub struct NoCluster;

impl ClusterWriter for NoCluster {
    fn write(&self, _: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let text = "this host has no cluster to write to".to_owned();
        Box::pin(std::future::ready(Err(WriteError::Transport(text))))
    }
}
