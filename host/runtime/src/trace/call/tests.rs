use super::*;
use crate::event::{Change as EventChange, CurrentEvent, Event, Gone, Reason, SubscriptionId};
use crate::trace::SpanProcessor;
use crate::trace::span::TEXT_BYTES_MAX;
use informant_cache::Object;
use parking_lot::Mutex;
use std::sync::Arc;

/// A span with texts of its own.
struct KeptSpan {
    trace: TraceId,
    id: SpanId,
    parent: Option<SpanId>,
    name: String,
    kind: SpanKind,
    start: u64,
    attributes: Vec<SpanAttribute<'static>>,
    links: Vec<TraceId>,
    is_error: bool,
}

/// Keeps the spans.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<KeptSpan>>>);

impl SpanProcessor for Kept {
    fn on_end(&self, span: &Span<'_>) {
        let Span { trace, id, parent, kind, start, is_error, .. } = *span;
        let own = |(key, value): &SpanAttribute<'_>| (*key, value.clone().into_owned());
        let attributes = span.attributes.iter().map(own).collect();
        let name = format!("{} {}", span.name.0, span.name.1);
        let links = span.links.to_vec();
        self.0.lock().push(KeptSpan {
            trace,
            id,
            parent,
            name,
            kind,
            start,
            attributes,
            links,
            is_error,
        });
    }
}

fn pod(version: u32) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"shop","name":"web","uid":"u","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("an object")
}

fn event(version: u32, reason: Reason) -> CurrentEvent {
    let event = Event {
        reason,
        ..Event::new(SubscriptionId(0), EventChange::Added, pod(version), Instant::now())
    };
    CurrentEvent::new("v1/pods".into(), Arc::new(event), false)
}

/// The same event with another end.
fn gone_as(gone: Gone, of: CurrentEvent) -> CurrentEvent {
    let event = Event { gone: Some(gone), ..Event::clone(&of.event) };
    CurrentEvent { event: Arc::new(event), ..of }
}

fn tracer(ratio: f64) -> (Tracer, Kept) {
    let kept = Kept::default();
    (Tracer::new((ratio, true), kept.clone()), kept)
}

fn name(plugin: &str) -> PluginName {
    plugin.parse().expect("a name")
}

fn origin(attempt: u32, coalesced: u32) -> CallOrigin {
    CallOrigin { attempt, received: Instant::now(), coalesced }
}

/// Makes a call and ends it.
fn call(tracer: &Tracer, plugin: &str, cause: CallCause) {
    call_from(tracer, plugin, cause, origin(1, 0));
}

fn call_from(tracer: &Tracer, plugin: &str, cause: CallCause, origin: CallOrigin) {
    let call = TracedCall { plugin: name(plugin), shard: None, cause, origin };
    if let Some(trace) = tracer.call(call, Instant::now()) {
        trace.end(None);
    }
}

/// Makes these calls of a plugin for versions of one object. Checks the spans: name, letter of the trace, letter of
/// the parent, letter of the linked trace.
#[track_caller]
fn check(calls: &[(&str, u32, Reason)], expect: &[&str]) {
    let (tracer, kept) = tracer(1.0);
    for (plugin, version, reason) in calls {
        call(&tracer, plugin, CallCause::Event((&event(*version, *reason)).into()));
    }
    check_spans(&kept, expect);
}

#[track_caller]
fn check_spans(kept: &Kept, expect: &[&str]) {
    let spans = kept.0.lock();
    let mut traces = Vec::new();
    let mut letter = |trace: TraceId| {
        let place = traces.iter().position(|known| *known == trace).unwrap_or_else(|| {
            traces.push(trace);
            traces.len() - 1
        });
        char::from(b'A' + place as u8)
    };
    let shown: Vec<String> = spans
        .iter()
        .map(|span| {
            let parent = span.parent.map(|parent| {
                let parent = spans.iter().find(|span| span.id == parent).expect("it was sent");
                assert_eq!(parent.trace, span.trace);
                assert!(parent.start <= span.start);
                parent.name.clone()
            });
            let parent = parent.map_or_else(String::new, |parent| format!(" < {parent}"));
            let link = span.links.first().map(|trace| format!(" ~ {}", letter(*trace)));
            format!("{} {}{parent}{}", letter(span.trace), span.name, link.unwrap_or_default())
        })
        .collect();
    assert_eq!(shown, expect);
}

#[test]
fn calls_for_one_change_have_one_trace_and_one_first_span() {
    check(
        &[("a", 1, Reason::Watch), ("b", 1, Reason::Watch), ("a", 2, Reason::Relist)],
        &[
            "A watch v1/pods",
            "A handle a < watch v1/pods",
            "A handle b < watch v1/pods",
            "B watch v1/pods",
            "B handle a < watch v1/pods",
        ],
    );
}

#[test]
fn a_repeated_delivery_has_a_trace_of_its_own_and_a_link_to_a_known_change() {
    check(
        &[("a", 1, Reason::Initial), ("a", 2, Reason::Watch), ("a", 2, Reason::Resync)],
        &["A handle a", "B watch v1/pods", "B handle a < watch v1/pods", "C handle a ~ B"],
    );
}

#[test]
fn an_object_that_left_a_view_joins_no_trace_of_its_last_version() {
    let (tracer, kept) = tracer(1.0);
    call(&tracer, "a", CallCause::Event((&event(1, Reason::Watch)).into()));
    for gone in [Gone::LeftView, Gone::Unknown, Gone::Deleted] {
        let left = gone_as(gone, event(1, Reason::Watch));
        call(&tracer, "b", CallCause::Event((&left).into()));
    }
    // The trace of a version that the host has not shown is not begun by its end.
    let left = gone_as(Gone::LeftView, event(2, Reason::Relist));
    call(&tracer, "b", CallCause::Event((&left).into()));
    check_spans(
        &kept,
        &[
            "A watch v1/pods",
            "A handle a < watch v1/pods",
            "B handle b ~ A",
            "C handle b ~ A",
            "A handle b < watch v1/pods",
            "D handle b",
        ],
    );
}

/// The attributes of a call for an event that stands for so many more.
#[track_caller]
fn check_attributes(coalesced: u32, expect: &str) {
    let (tracer, kept) = tracer(1.0);
    let event = event(1, Reason::Watch);
    call_from(&tracer, "a", CallCause::Event((&event).into()), origin(1, coalesced));
    let spans = kept.0.lock();
    let shown = spans[1].attributes.iter().map(|(key, value)| match value {
        SpanValue::Text(text) => format!("{key}={text}"),
        SpanValue::Number(number) => format!("{key}={number}"),
    });
    assert_eq!(shown.collect::<Vec<_>>().join(" "), expect);
}

#[test]
fn a_call_names_its_event_and_how_many_were_merged_into_it() {
    let object = "informant.plugin=a informant.resource=v1/pods k8s.namespace.name=shop k8s.pod.name=web k8s.pod.uid=u";
    let rest = "informant.event.change=added informant.event.reason=watch";
    check_attributes(0, &format!("{object} k8s.object.resource_version=1 {rest}"));
    let merged =
        format!("{object} k8s.object.resource_version=1 {rest} informant.event.coalesced=3");
    check_attributes(3, &merged);
}

#[test]
fn ids_of_a_change_depend_on_the_start_and_the_version() {
    let [(a, _), (b, _)] = [tracer(1.0), tracer(1.0)];
    let change = |tracer: &Tracer, version| {
        tracer.change(&TracedEvent::from(&event(version, Reason::Watch)))
    };
    let found = change(&a, 1);
    assert_eq!(found, change(&a, 1));
    assert_ne!(found, change(&a, 2));
    assert_ne!(found, change(&b, 1));
    let (TraceId(trace), SpanId(root)) = (found, found.root());
    assert!(trace[..8] == root && trace[..8] != trace[8..]);
}

#[test]
fn a_ratio_of_zero_sends_nothing_and_a_half_sends_the_same_changes_of_all_plugins() {
    let (none, kept) = tracer(0.0);
    call(&none, "a", CallCause::Event((&event(1, Reason::Watch)).into()));
    call(&none, "a", CallCause::Synced);
    assert_eq!(kept.0.lock().len(), 0);

    let (half, kept) = tracer(0.5);
    for version in 0..200 {
        let event = event(version, Reason::Watch);
        ["a", "b"].into_iter().for_each(|it| call(&half, it, CallCause::Event((&event).into())));
    }
    let spans = kept.0.lock();
    let roots = spans.iter().filter(|span| span.parent.is_none()).count();
    assert_eq!(spans.len(), 3 * roots);
    assert!((50..150).contains(&roots), "{roots}");
}

#[test]
fn a_call_for_a_key_links_to_its_sampled_changes_and_is_sampled_with_them() {
    let (half, kept) = tracer(0.5);
    let mut linked = 0;
    for version in 0..50 {
        let changes = [Reason::Watch, Reason::Resync].map(|reason| {
            let event = TracedEvent::from(&event(version, reason));
            half.becomes_keys(&event, Instant::now(), Instant::now())
        });
        let before = kept.0.lock().len();
        assert_eq!(changes[0], changes[1], "the repeated delivery is about the same change");
        let links: Vec<TraceId> = changes[0].into_iter().collect();
        let is_linked = !links.is_empty();
        linked += usize::from(is_linked);
        call(&half, "a", CallCause::Key(Some("k".into()), links.clone()));
        let spans = kept.0.lock();
        match spans.get(before) {
            Some(span) => assert_eq!((span.name.as_str(), &span.links), ("reconcile a", &links)),
            None => assert!(!is_linked),
        }
        let root = spans.iter().filter(|span| Some(span.trace) == changes[0]);
        assert_eq!(root.filter(|span| span.name == "watch v1/pods").count(), links.len());
    }
    assert!((10..40).contains(&linked), "{linked} of 50 changes are sampled");
    let unseen = TracedEvent::from(&event(50, Reason::Initial));
    assert_eq!(tracer(1.0).0.becomes_keys(&unseen, Instant::now(), Instant::now()), None);
}

#[test]
fn attempts_of_a_repeated_delivery_are_sampled_with_their_change() {
    let (half, kept) = tracer(0.5);
    for version in 0..50 {
        call(&half, "a", CallCause::Event((&event(version, Reason::Watch)).into()));
        for attempt in 1..=2 {
            let resync = event(version, Reason::Resync);
            call_from(&half, "a", CallCause::Event((&resync).into()), origin(attempt, 0));
        }
    }
    let spans = kept.0.lock();
    let linked = spans.iter().filter(|span| !span.links.is_empty()).count();
    let changes = spans.iter().filter(|span| span.kind == SpanKind::Consumer).count();
    assert_eq!((linked, spans.len()), (2 * changes, 4 * changes));
}

fn child(id: SpanId, error: Option<&'static str>) -> Child<'static> {
    let (attributes, error) = (Vec::new(), error.map(Into::into));
    Child { id, name: ("GET", ""), began: Instant::now(), attributes, error }
}

#[test]
fn a_call_that_is_not_sampled_has_a_header_and_no_span() {
    let begin = |ratio, propagates| {
        let kept = Kept::default();
        let tracer = Tracer::new((ratio, propagates), kept.clone());
        let cause = CallCause::Synced;
        let call = TracedCall { plugin: name("a"), shard: None, cause, origin: origin(1, 0) };
        (tracer.call(call, Instant::now()), kept)
    };
    let (trace, kept) = begin(0.0, true);
    let mut trace = trace.expect("headers name it");
    let expect = format!("00-{}-{}-00", trace.trace, trace.id);
    assert_eq!(trace.traceparent(SpanId::random()), Some(expect));
    assert_eq!(trace.ids(), None);
    trace.child(child(SpanId::random(), None));
    trace.end(None);
    assert_eq!(kept.0.lock().len(), 0);

    assert!(begin(0.0, false).0.is_none());
    let trace = begin(1.0, false).0.expect("it has a span");
    assert_eq!(trace.traceparent(SpanId::random()), None);
}

#[test]
fn requests_are_children_of_their_call_up_to_a_bound() {
    let (tracer, kept) = tracer(1.0);
    let key = "k".repeat(8 << 20);
    let cause = CallCause::Key(Some(key.into()), Vec::new());
    let call = TracedCall { plugin: name("a"), shard: Some(3), cause, origin: origin(2, 0) };
    let mut trace = tracer.call(call, Instant::now()).expect("it is sampled");
    for number in 0..=CHILDREN_MAX {
        let id = SpanId::random();
        let named = if number < CHILDREN_MAX { id } else { trace.id };
        let header = format!("00-{}-{named}-01", trace.trace);
        assert_eq!(trace.traceparent(id), Some(header), "{number}");
        trace.child(child(id, (number == 0).then_some("409")));
    }
    trace.end(Some("trap"));
    let spans = kept.0.lock();
    assert_eq!(spans.len(), CHILDREN_MAX as usize + 1);
    let call = spans.last().expect("the call");
    let [first, second] = [&spans[0], &spans[1]];
    assert_eq!((first.parent, first.trace), (Some(call.id), call.trace));
    assert_eq!((first.is_error, second.is_error, call.is_error), (true, false, true));
    assert_eq!(first.attributes, [("error.type", "409".into())]);
    let find = |key| call.attributes.iter().find(|(found, _)| *found == key).map(|(_, it)| it);
    assert_eq!(find("informant.attempt"), Some(&SpanValue::Number(2)));
    assert_eq!(find("informant.shard"), Some(&SpanValue::Number(3)));
    assert_eq!(find("informant.requests_without_span"), Some(&SpanValue::Number(1)));
    assert_eq!(find("error.type"), Some(&"trap".into()));
    let Some(SpanValue::Text(key)) = find("informant.key") else { panic!("a key") };
    assert!(key.len() <= TEXT_BYTES_MAX + 32, "{}", key.len());
}
