//! Writes to the cluster, which the surrounding program sends. Grants are checked before.

use crate::outside::service_account::ServiceAccount;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;
use std::time::Duration;

/// Sends writes to an API server.
pub trait ClusterWriter: Send + Sync + 'static {
    /// Sends the request unchanged, with the host's credentials, in the name of its service account, and returns the
    /// body of a success. The request is sent at the first poll and not before: the caller has just made sure that it
    /// may. With leader election, nothing is sent once this host no longer leads, and a request under way is cancelled
    /// then. Dropping the future cancels the request, whatever its state. The future is polled on threads with timers
    /// and without sockets.
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>>;
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'static str,
    /// Path and query, made only from checked names.
    pub uri: String,
    /// The object of the path.
    pub target: WriteTarget,
    /// The media type of the body.
    pub content_type: &'static str,
    /// At most 3 MiB.
    pub body: Vec<u8>,
    /// A larger answer is an error.
    pub answer_bytes_max: usize,
    /// The account of the request; `None`: the host's own user. The API server must allow the host's user to
    /// impersonate it.
    pub service_account: Option<ServiceAccount>,
}

/// The object that a request writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTarget {
    /// The resource of the object.
    pub resource: GroupVersionResource,
    /// Empty: the object has no namespace.
    pub namespace: String,
    /// Empty for the creation of an object without a known name.
    pub name: String,
    /// Empty: the object itself.
    pub subresource: String,
}

/// The reason for which a write has no answer for the plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The API server refused it.
    #[error("{code} {reason}: {message}")]
    Status {
        /// The HTTP status.
        code: u16,
        /// The API server's word for programs; empty if it has none.
        reason: String,
        /// The API server's text for people.
        message: String,
        /// How long to wait before another try.
        retry_after: Option<Duration>,
    },
    /// Another host leads; nothing was sent.
    #[error("another host leads, and nothing was sent")]
    NotLeader,
    /// The write was not sent.
    #[error("nothing was sent: {0}")]
    Unsent(String),
    /// It is unknown whether the write was done.
    #[error("{0}")]
    Transport(String),
}

/// For a host without a cluster: every write fails.
#[derive(Debug, Clone, Copy)]
pub struct NoCluster;

impl ClusterWriter for NoCluster {
    fn write(&self, _: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let text = "this host has no cluster to write to".to_owned();
        Box::pin(std::future::ready(Err(WriteError::Unsent(text))))
    }
}
