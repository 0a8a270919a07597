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
    pub(super) fn requests(&self) -> [(&'static str, u64); 2] {
        let (ok, failed) = (&self.requests_ok, &self.requests_failed);
        [("ok", ok.load(Relaxed)), ("failed", failed.load(Relaxed))]
    }
}
