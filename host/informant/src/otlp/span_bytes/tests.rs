use super::*;
use crate::otlp::messages::{AttributeValue, KeyValue};
use informant_runtime::SpanId;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct TracesRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<SpanMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanMessage {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<LinkMessage>,
    #[prost(message, optional, tag = "15")]
    status: Option<SpanStatus>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct LinkMessage {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanStatus {
    #[prost(int32, tag = "3")]
    code: i32,
}

pub(crate) fn span(name: &str) -> Span<'_> {
    Span {
        trace: TraceId([1; 16]),
        id: SpanId([2; 8]),
        parent: Some(SpanId([3; 8])),
        name: (name, ""),
        kind: SpanKind::Client,
        start: 4,
        end: 5,
        attributes: vec![("a", "b".into()), ("c", 6.into())],
        links: &[TraceId([7; 16])],
        is_error: true,
    }
}

/// The names in appended spans.
pub(crate) fn names(spans: &[u8]) -> Vec<String> {
    let spans = ScopeSpans::decode(spans).expect("spans").spans;
    spans.into_iter().map(|span| span.name).collect()
}

fn message(span: &Span<'_>) -> SpanMessage {
    SpanMessage::decode(&*encoded(span)).expect("a message")
}

fn message_of(name: &str) -> SpanMessage {
    SpanMessage {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        parent_span_id: vec![3; 8],
        name: name.to_owned(),
        kind: 3,
        start_time_unix_nano: 4,
        end_time_unix_nano: 5,
        attributes: vec![KeyValue::text("a", "b"), number("c", 6)],
        links: vec![LinkMessage { trace_id: vec![7; 16], span_id: vec![7; 8] }],
        status: Some(SpanStatus { code: 2 }),
        flags: 1,
    }
}

fn number(key: &str, number: i64) -> KeyValue {
    KeyValue::new(key, AttributeValue::Number(number))
}

#[test]
fn a_span_keeps_its_parts() {
    assert_eq!(message(&span("x")), message_of("x"));
    let least = Span { parent: None, attributes: Vec::new(), links: &[], ..span("x") };
    let expect = SpanMessage {
        parent_span_id: Vec::new(),
        attributes: Vec::new(),
        links: Vec::new(),
        ..message_of("x")
    };
    assert_eq!(message(&least), expect);
    let kinds = [SpanKind::Internal, SpanKind::Client, SpanKind::Consumer].map(|kind| {
        let ended = Span { kind, name: ("a", "b"), is_error: false, ..span("") };
        let SpanMessage { kind, name, status, .. } = message(&ended);
        assert_eq!((&*name, status), ("a b", None));
        kind
    });
    assert_eq!(kinds, [1, 3, 5]);
}

/// Prost's encoder is the model, byte by byte: lengths of one, two and three bytes.
#[test]
fn the_bytes_are_those_of_the_declarations() {
    for length in [0, 1, 127, 128, 16_383, 16_384, 100_000] {
        let text = "x".repeat(length);
        for value in [0, 1, -1, i64::MAX, i64::MIN, length as i64] {
            let whole = SpanValue::Text(text.as_str().into());
            let attributes = vec![("text", whole), ("number", SpanValue::Number(value))];
            let name = format!("x{text}");
            let found = encoded(&Span { attributes, ..span(&name) });
            let attributes = vec![KeyValue::text("text", &text), number("number", value)];
            let expect = SpanMessage { attributes, ..message_of(&name) };
            assert!(found == expect.encode_to_vec(), "{length} {value}");
        }
    }
}

#[test]
fn a_request_has_its_resource_and_all_spans() {
    let resource = Resource::new(vec![("team".to_owned(), "a".to_owned())], "1");
    let names = ["a", "b", "c"];
    let mut spans = Vec::new();
    names.iter().for_each(|name| append(&mut spans, &encoded(&span(name))));
    let scope = Some(Scope::of_host());
    let scope_spans = vec![ScopeSpans { scope, spans: names.map(message_of).to_vec() }];
    let expect = ResourceSpans { resource: Some(resource.clone()), scope_spans };
    let expect = TracesRequest { resource_spans: vec![expect] };
    assert_eq!(request(&resource, &spans), expect.encode_to_vec());
}
