//! Traces: a change of an object, the calls of plugins for it, and the requests of those calls, as OpenTelemetry's
//! spans. The surrounding program sends the spans.
//!
//! No queue carries a context. The ids of a change are a keyed hash of the object's version, so every call for it
//! computes the same ids, and the sampler, a function of the change's trace id, decides the same everywhere.

mod call;
mod change;
mod clocks;
mod ids;
mod resources;
mod span;
mod traced_event;

pub(crate) use call::{CallCause, CallOrigin, CallTrace, TracedCall};
use change::Roots;
pub use ids::{SpanId, TraceId};
use parking_lot::Mutex;
pub(crate) use resources::object_attributes;
pub(crate) use span::Child;
pub use span::{Span, SpanAttribute, SpanKind, SpanValue};
use std::hash::RandomState;
use std::sync::Arc;
pub(crate) use traced_event::TracedEvent;

/// Takes ended spans, as OpenTelemetry's interface of this name does.
pub trait SpanProcessor: Send + Sync + 'static {
    /// Takes a span. Threads of informers and of guests call it, so it must not block.
    fn on_end(&self, span: &Span<'_>);
}

/// Makes spans of sampled traces. Clones share all state.
#[derive(Clone)]
pub struct Tracer(Arc<TracerState>);

struct TracerState {
    /// The keyed hash of changes: SipHash with random keys, so a plugin cannot predict a change's ids.
    hash: RandomState,
    /// Traces with a smaller number are sampled.
    threshold: u64,
    /// Whether requests have the header of their trace.
    propagates: bool,
    roots: Mutex<Roots>,
    processor: Box<dyn SpanProcessor>,
}

impl Tracer {
    /// Samples this part of all traces, from 0 to 1. `propagates`: requests have the header of their trace.
    pub fn new((ratio, propagates): (f64, bool), processor: impl SpanProcessor) -> Self {
        Self(Arc::new(TracerState {
            hash: RandomState::new(),
            threshold: ids::threshold(ratio),
            propagates,
            roots: Mutex::new(Roots::default()),
            processor: Box::new(processor),
        }))
    }

    fn samples(&self, trace: TraceId) -> bool {
        trace.sample() < self.0.threshold
    }

    fn on_end(&self, span: &Span<'_>) {
        self.0.processor.on_end(span);
    }
}
