//! One ended span. It borrows its texts from the event and from the plugin, so a span that is made costs no copy of them.

use super::ids::{SpanId, TraceId};
use crate::one_line::one_line;
use std::borrow::Cow;
use std::time::Instant;

/// Bytes of a text in an attribute. The longest resource has 320, and the longest name of an object 253; plugins choose
/// other texts, and so may API servers.
pub(super) const TEXT_BYTES_MAX: usize = 512;

/// The key and the value of an attribute. Keys are names of OpenTelemetry's semantic conventions, or have the prefix
/// `informant.`.
pub type SpanAttribute<'a> = (&'static str, SpanValue<'a>);

/// One ended span, as OpenTelemetry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<'a> {
    /// The trace.
    pub trace: TraceId,
    /// The span's own id.
    pub id: SpanId,
    /// `None` for the first span of a trace.
    pub parent: Option<SpanId>,
    /// Two words of the name, with a space between them, or one and an empty text. Few names for many spans.
    pub name: (&'a str, &'a str),
    /// The span's part in the trace.
    pub kind: SpanKind,
    /// In nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds since 1970.
    pub end: u64,
    /// The attributes, in this order.
    pub attributes: Vec<SpanAttribute<'a>>,
    /// The changes that it is about, if it is not in their traces.
    pub links: &'a [TraceId],
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
pub enum SpanValue<'a> {
    /// A text. One that was made from a `&str` is cut to a bound.
    Text(Cow<'a, str>),
    /// A number.
    Number(i64),
}

impl SpanValue<'_> {
    /// The same with a text of its own.
    pub fn into_owned(self) -> SpanValue<'static> {
        match self {
            Self::Text(text) => SpanValue::Text(text.into_owned().into()),
            Self::Number(number) => SpanValue::Number(number),
        }
    }
}

impl<'a> From<&'a str> for SpanValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(one_line(text, TEXT_BYTES_MAX))
    }
}

impl From<u32> for SpanValue<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// A request of a call, once it has ended.
pub(crate) struct Child<'a> {
    pub(crate) id: SpanId,
    pub(crate) name: (&'a str, &'a str),
    pub(crate) began: Instant,
    pub(crate) attributes: Vec<SpanAttribute<'a>>,
    /// The value of `error.type`.
    pub(crate) error: Option<Cow<'a, str>>,
}
