//! One ended span.

use super::ids::{SpanId, TraceId};
use std::time::Instant;

/// One ended span, as OpenTelemetry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// The span's own id.
    pub id: SpanId,
    /// `None` for the first span of a trace.
    pub parent: Option<SpanId>,
    /// Few names for many spans.
    pub name: String,
    /// The span's part in the trace.
    pub kind: SpanKind,
    /// In nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds since 1970.
    pub end: u64,
    /// Names of OpenTelemetry's semantic conventions, or with the prefix `informant.`.
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// The change that a repeated delivery is about.
    pub link: Option<(TraceId, SpanId)>,
    /// Whether it ended with an error. The attribute `error.type` has the type.
    pub is_error: bool,
}

/// The part of a span in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work inside of the host.
    Internal,
    /// A request to a server.
    Client,
    /// A message that came.
    Consumer,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for SpanValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// A request of a call, once it has ended.
pub(crate) struct Child {
    pub(crate) id: SpanId,
    pub(crate) name: String,
    pub(crate) began: Instant,
    pub(crate) attributes: Vec<(&'static str, SpanValue)>,
    /// The value of `error.type`.
    pub(crate) error: Option<String>,
}
