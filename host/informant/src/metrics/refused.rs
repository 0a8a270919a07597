//! Connections and requests that the HTTP server refused for lack of places.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What one listener refused so far.
#[derive(Debug, Default)]
pub(crate) struct RefusedCounts {
    /// Connections that gave their place to others.
    pub(crate) connections: AtomicU64,
    /// Requests that were answered with 503.
    pub(crate) requests: AtomicU64,
}

/// Requests to the secure address, and for actions on loopback, that were refused for their callers.
#[derive(Debug, Default)]
pub(crate) struct RefusedCallers {
    /// Without a valid token.
    pub(crate) unauthenticated: AtomicU64,
    /// With more new tokens of one peer than are asked about at once.
    pub(crate) too_many_tokens: AtomicU64,
    /// Without the right to read this.
    pub(crate) forbidden: AtomicU64,
    /// The API server did not say.
    pub(crate) unknown: AtomicU64,
}

/// By the option that names the listener's address or path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedByListener {
    /// `--listen`.
    pub(crate) api: Arc<RefusedCounts>,
    /// `--metrics-bind-address`.
    pub(crate) metrics: Arc<RefusedCounts>,
    /// `--secure-listen-address`.
    pub(crate) secure: Arc<RefusedCounts>,
    /// The same address, and actions on loopback, by reason.
    pub(crate) callers: Arc<RefusedCallers>,
    /// `--admin-socket`.
    pub(crate) admin: Arc<RefusedCounts>,
}
