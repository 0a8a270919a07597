//! A span as OpenTelemetry's message, `Span` of `opentelemetry/proto/trace/v1/trace.proto`, and the request with many of
//! them. The thread that ends a span encodes it: its texts are at hand then, and a copy of them would cost as much.

use super::messages::{Resource, Scope};
use super::wire::{field_len, put_bytes, put_head, put_key, put_varint, varint_len};
use informant_runtime::{Span, SpanKind, SpanValue, TraceId};
use prost::Message as _;

/// The bytes of most spans are fewer.
const USUAL_BYTES: usize = 512;
/// Types of fields.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const FIXED32: u32 = 5;
const STATUS_ERROR: u8 = 2;
/// The flag of W3C's Trace Context: the trace is sampled.
const SAMPLED: u32 = 1;

/// The fields of the message.
pub(super) fn encoded(span: &Span<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    put_bytes(&mut out, 1, &span.trace.0);
    put_bytes(&mut out, 2, &span.id.0);
    if let Some(parent) = span.parent {
        put_bytes(&mut out, 4, &parent.0);
    }
    put_name(&mut out, span.name);
    put_key(&mut out, 6, VARINT);
    put_varint(&mut out, kind(span.kind));
    for (field, time) in [(7, span.start), (8, span.end)] {
        put_key(&mut out, field, FIXED64);
        out.extend_from_slice(&time.to_le_bytes());
    }
    span.attributes.iter().for_each(|(key, value)| put_attribute(&mut out, key, value));
    span.links.iter().for_each(|link| put_link(&mut out, *link));
    if span.is_error {
        put_head(&mut out, 15, 2);
        put_key(&mut out, 3, VARINT);
        out.push(STATUS_ERROR);
    }
    put_key(&mut out, 16, FIXED32);
    out.extend_from_slice(&SAMPLED.to_le_bytes());
    out
}

fn kind(kind: SpanKind) -> u64 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Client => 3,
        SpanKind::Consumer => 5,
    }
}

fn put_name(out: &mut Vec<u8>, (first, second): (&str, &str)) {
    let space = if second.is_empty() { "" } else { " " };
    put_head(out, 5, first.len() + space.len() + second.len());
    [first, space, second].iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}

/// `KeyValue` with `AnyValue`.
fn put_attribute(out: &mut Vec<u8>, key: &str, value: &SpanValue<'_>) {
    let value_len = match value {
        SpanValue::Text(text) => field_len(text.len()),
        SpanValue::Number(number) => 1 + varint_len(*number as u64),
    };
    put_head(out, 9, field_len(key.len()) + field_len(value_len));
    put_bytes(out, 1, key.as_bytes());
    put_head(out, 2, value_len);
    match value {
        SpanValue::Text(text) => put_bytes(out, 1, text.as_bytes()),
        SpanValue::Number(number) => {
            put_key(out, 3, VARINT);
            put_varint(out, *number as u64);
        }
    }
}

/// A link to the first span of a trace.
fn put_link(out: &mut Vec<u8>, link: TraceId) {
    let (trace, span) = (link.0, link.root().0);
    put_head(out, 13, field_len(trace.len()) + field_len(span.len()));
    put_bytes(out, 1, &trace);
    put_bytes(out, 2, &span);
}

/// Appends a message as one of a request's spans.
pub(super) fn append(spans: &mut Vec<u8>, encoded: &[u8]) {
    put_bytes(spans, 2, encoded);
}

/// `ExportTraceServiceRequest` with spans that were appended.
pub(super) fn request(resource: &Resource, spans: &[u8]) -> Vec<u8> {
    let (scope, resource) = (Scope::of_host().encode_to_vec(), resource.encode_to_vec());
    let of_scope = field_len(scope.len()) + spans.len();
    let of_resource = field_len(resource.len()) + field_len(of_scope);
    let mut out = Vec::with_capacity(field_len(of_resource));
    put_head(&mut out, 1, of_resource);
    put_bytes(&mut out, 1, &resource);
    put_head(&mut out, 2, of_scope);
    put_bytes(&mut out, 1, &scope);
    out.extend_from_slice(spans);
    out
}

#[cfg(test)]
pub(super) mod tests;
