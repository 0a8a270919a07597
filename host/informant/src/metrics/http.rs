//! What the HTTP server had no place for.

use super::{Snapshot, counters};
use prometheus_client::encoding::DescriptorEncoder;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// For what a listener had no place, so far.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// Connections that gave their place to others.
    pub(crate) connections: AtomicU64,
    /// Requests that were answered by 503.
    pub(crate) requests: AtomicU64,
}

/// By the option that names the listener's address or path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedByListener {
    /// `--listen`.
    pub(crate) api: Arc<Refused>,
    /// `--metrics-bind-address`.
    pub(crate) metrics: Arc<Refused>,
    /// `--admin-socket`.
    pub(crate) admin: Arc<Refused>,
}

impl Snapshot {
    pub(super) fn encode_http(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let listeners = [
            ("listen", &self.refused.api),
            ("metrics-bind-address", &self.refused.metrics),
            ("admin-socket", &self.refused.admin),
        ];
        counters(
            encoder,
            "informant_http_refused",
            "Connections that gave their place to others and requests that were answered by 503 because there was no place, by listener",
            listeners.into_iter().flat_map(|(listener, refused)| {
                let counts = [
                    ("connection", refused.connections.load(Relaxed)),
                    ("request", refused.requests.load(Relaxed)),
                ];
                counts.map(|(what, n)| (vec![("listener", listener), ("refused", what)], n))
            }),
        )
    }
}
