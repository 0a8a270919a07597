//! One ended span.

use super::ids::{SpanId, TraceId};
use crate::one_line::one_line;
use std::mem::size_of;
use std::time::Instant;

/// Bytes of a text in an attribute. The longest resource has 320, and the longest name of an object 253; plugins choose
/// other texts, and so may API servers.
pub(super) const TEXT_BYTES_MAX: usize = 512;

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

impl Span {
    /// About the bytes that it takes.
    pub fn bytes(&self) -> usize {
        let text = |value: &SpanValue| match value {
            SpanValue::Text(text) => text.capacity(),
            SpanValue::Number(_) => 0,
        };
        let texts: usize = self.attributes.iter().map(|(_, value)| text(value)).sum();
        let attributes = self.attributes.capacity() * size_of::<(&str, SpanValue)>();
        size_of::<Self>() + self.name.capacity() + attributes + texts
    }
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
    /// A text. One that was made from a `&str` is cut to a bound.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(one_line(text, TEXT_BYTES_MAX).into_owned())
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
