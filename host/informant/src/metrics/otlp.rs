//! Spans and requests of the export to OpenTelemetry's collectors (`otlp.rs` of the program).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Debug, Default)]
pub(crate) struct OtlpCounts {
    /// Spans that the collector accepted.
    pub(crate) spans_exported: AtomicU64,
    /// Spans that found the queue full.
    pub(crate) spans_dropped: AtomicU64,
    /// Spans that were sent in vain.
    pub(crate) spans_failed: AtomicU64,
    /// Requests with spans or with metrics.
    pub(crate) requests_ok: AtomicU64,
    /// Those of which the collector refused a part.
    pub(crate) requests_partial: AtomicU64,
    pub(crate) requests_failed: AtomicU64,
}

impl OtlpCounts {
    /// Spans by result.
    pub(super) fn spans(&self) -> [(&'static str, u64); 3] {
        [
            ("exported", self.spans_exported.load(Relaxed)),
            ("dropped", self.spans_dropped.load(Relaxed)),
            ("failed", self.spans_failed.load(Relaxed)),
        ]
    }

    /// Requests by result.
    pub(super) fn requests(&self) -> [(&'static str, u64); 3] {
        [
            ("ok", self.requests_ok.load(Relaxed)),
            ("partial", self.requests_partial.load(Relaxed)),
            ("failed", self.requests_failed.load(Relaxed)),
        ]
    }
}
