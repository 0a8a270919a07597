//! The span of one call of a plugin, and those of the call's requests.

use super::clocks::TraceClocks;
use super::ids::{SpanId, TraceId, traceparent};
use super::resources::object_attributes;
use super::span::{Child, Span, SpanKind, SpanValue};
use super::{Tracer, change};
use crate::event::CurrentEvent;
use std::time::Instant;

/// The requests of one call that have spans of their own. The others are counted in an attribute of the call.
const CHILDREN_MAX: u32 = 128;

/// The reason of a call.
pub(crate) enum CallCause<'a> {
    Event(&'a CurrentEvent),
    /// `None`: the key is not shown.
    Key(Option<&'a str>),
    Schedule(&'a str),
    Synced,
}

/// A call that begins.
pub(crate) struct TracedCall<'a> {
    pub(crate) plugin: &'a str,
    /// `None` for a plugin with one instance.
    pub(crate) shard: Option<usize>,
    pub(crate) cause: CallCause<'a>,
    pub(crate) origin: CallOrigin,
}

/// The way of the work to its call.
#[derive(Clone, Copy)]
pub(crate) struct CallOrigin {
    /// From 1.
    pub(crate) attempt: u32,
    /// When the bytes of the event's newest state were read; for other calls the begin of the call.
    pub(crate) received: Instant,
    /// How many older events were merged into this one.
    pub(crate) coalesced: u32,
}

/// The trace of a call.
pub(crate) struct CallTrace {
    tracer: Tracer,
    trace: TraceId,
    /// The call itself.
    id: SpanId,
    /// `None`: the trace is not sampled, and only headers name it.
    sampled: Option<SampledCall>,
}

/// A call of a sampled trace.
struct SampledCall {
    clocks: TraceClocks,
    /// Its end is not known yet.
    span: Span,
    children: u32,
}

impl CallCause<'_> {
    /// The function of the contract.
    fn function(&self) -> &'static str {
        match self {
            Self::Event(_) => "handle",
            Self::Key(_) => "reconcile",
            Self::Schedule(_) => "fire",
            Self::Synced => "synced",
        }
    }

    fn event(&self) -> Option<&CurrentEvent> {
        match self {
            Self::Event(event) => Some(event),
            Self::Key(_) | Self::Schedule(_) | Self::Synced => None,
        }
    }

    fn is_news(&self) -> bool {
        self.event().is_some_and(change::is_news)
    }

    fn attributes(&self, coalesced: u32) -> Vec<(&'static str, SpanValue)> {
        match self {
            Self::Event(event) => event_attributes(event, coalesced),
            Self::Key(Some(key)) => vec![("informant.key", (*key).into())],
            Self::Schedule(name) => vec![("informant.schedule", (*name).into())],
            Self::Key(None) | Self::Synced => Vec::new(),
        }
    }
}

fn event_attributes(event: &CurrentEvent, coalesced: u32) -> Vec<(&'static str, SpanValue)> {
    let (object, key) = (&event.object, event.object.key());
    let mut attributes =
        object_attributes(&event.resource, key.namespace(), key.name(), object.uid());
    attributes.push(("k8s.object.resource_version", object.resource_version().into()));
    attributes.push(("informant.event.change", event.change.as_str().into()));
    attributes.push(("informant.event.reason", event.reason.as_str().into()));
    if coalesced > 0 {
        attributes.push(("informant.event.coalesced", coalesced.into()));
    }
    attributes
}

impl Tracer {
    /// Begins the trace of a call. `None`: the trace is not sampled, and no header names it.
    pub(crate) fn call(&self, call: &TracedCall<'_>, called: Instant) -> Option<Box<CallTrace>> {
        let change = match &call.cause {
            CallCause::Event(event) => Some(self.change(event)),
            _ => None,
        };
        let news = change.filter(|_| call.cause.is_news());
        let trace = news.map_or_else(TraceId::random, |change| change.trace);
        // The attempts of a repeated delivery have a trace each. They are sampled together, with the change.
        let is_sampled = self.samples(change.map_or(trace, |change| change.trace));
        if !is_sampled && !self.0.propagates {
            return None;
        }
        let id = SpanId::random();
        let sampled = is_sampled.then(|| {
            let clocks = TraceClocks::read();
            let parent = news.zip(call.cause.event()).map(|(change, event)| {
                self.begin_change(change, event, (clocks, call.origin.received, called));
                change.root
            });
            let known = change.filter(|change| news.is_none() && self.knows(*change));
            let span = Span {
                trace,
                id,
                parent,
                name: format!("{} {}", call.cause.function(), call.plugin),
                kind: SpanKind::Internal,
                start: clocks.unix_nanoseconds(called),
                end: 0,
                attributes: attributes(call),
                link: known.map(|change| (change.trace, change.root)),
                is_error: false,
            };
            SampledCall { clocks, span, children: 0 }
        });
        Some(Box::new(CallTrace { tracer: self.clone(), trace, id, sampled }))
    }
}

fn attributes(call: &TracedCall<'_>) -> Vec<(&'static str, SpanValue)> {
    let mut attributes = vec![("informant.plugin", call.plugin.into())];
    if let Some(shard) = call.shard {
        attributes.push(("informant.shard", SpanValue::Number(shard as i64)));
    }
    if call.origin.attempt > 1 {
        attributes.push(("informant.attempt", call.origin.attempt.into()));
    }
    attributes.append(&mut call.cause.attributes(call.origin.coalesced));
    attributes
}

impl CallTrace {
    /// Whether the call and its requests have spans.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled.is_some()
    }

    /// The ids for log lines.
    pub(crate) fn ids(&self) -> Option<(TraceId, SpanId)> {
        self.is_sampled().then_some((self.trace, self.id))
    }

    /// The header for a request that is to have a span of this id. It names the call if the request will have none.
    pub(crate) fn traceparent(&self, request: SpanId) -> Option<String> {
        let has_span = self.sampled.as_ref().is_some_and(|call| call.children < CHILDREN_MAX);
        let span = if has_span { request } else { self.id };
        self.tracer.0.propagates.then(|| traceparent(self.trace, span, self.is_sampled()))
    }

    /// Sends the span of a request that has ended now.
    pub(crate) fn child(&mut self, child: Child) {
        let Some(call) = &mut self.sampled else { return };
        call.children += 1;
        if call.children > CHILDREN_MAX {
            return;
        }
        let Child { id, name, began, mut attributes, error } = child;
        let is_error = error.is_some();
        attributes.extend(error.map(|error| ("error.type", SpanValue::Text(error))));
        self.tracer.on_end(Span {
            trace: self.trace,
            id,
            parent: Some(self.id),
            name,
            kind: SpanKind::Client,
            start: call.clocks.unix_nanoseconds(began),
            end: call.clocks.unix_nanoseconds(Instant::now()),
            attributes,
            link: None,
            is_error,
        });
    }

    /// Ends the call. `error` is the type of its failure.
    pub(crate) fn end(self, error: Option<&'static str>) {
        let Some(SampledCall { clocks, mut span, children }) = self.sampled else { return };
        span.end = clocks.unix_nanoseconds(Instant::now());
        span.is_error = error.is_some();
        span.attributes.extend(error.map(|error| ("error.type", error.into())));
        let untold = children.saturating_sub(CHILDREN_MAX);
        if untold > 0 {
            span.attributes.push(("informant.requests_without_span", untold.into()));
        }
        self.tracer.on_end(span);
    }
}

#[cfg(test)]
mod tests;
