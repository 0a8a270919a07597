//! The span of one call of a plugin, and those of the call's requests.

use super::clocks::TraceClocks;
use super::ids::{SpanId, TraceId, traceparent};
use super::resources::object_attributes;
use super::span::{Child, Span, SpanKind, SpanValue};
use super::{ChangeIds, Tracer, change};
use crate::event::CurrentEvent;
use crate::one_line::one_line;
use std::time::Instant;

/// The requests of one call that have spans of their own. The others are counted in an attribute of the call.
const CHILDREN_MAX: u32 = 128;
/// Bytes of a key in an attribute. A plugin chooses its keys.
const KEY_BYTES_MAX: usize = 256;

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

/// A call of a sampled trace.
pub(crate) struct CallTrace {
    tracer: Tracer,
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

    fn trigger(&self) -> &'static str {
        match self {
            Self::Event(_) => "datasource",
            Self::Schedule(_) => "timer",
            Self::Key(_) | Self::Synced => "other",
        }
    }

    fn attributes(&self, coalesced: u32) -> Vec<(&'static str, SpanValue)> {
        match self {
            Self::Event(event) => event_attributes(event, coalesced),
            Self::Key(Some(key)) => {
                vec![("informant.key", (&*one_line(key, KEY_BYTES_MAX)).into())]
            }
            Self::Schedule(name) => {
                vec![("informant.schedule", (&*one_line(name, KEY_BYTES_MAX)).into())]
            }
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

/// The place of a call in a trace.
struct TracePlace {
    parent: Option<SpanId>,
    link: Option<(TraceId, SpanId)>,
}

impl Tracer {
    /// Begins the span of a call. `None` if its trace is not sampled.
    pub(crate) fn call(&self, call: &TracedCall<'_>, called: Instant) -> Option<Box<CallTrace>> {
        let news = match &call.cause {
            CallCause::Event(event) if change::is_news(event.reason) => Some(self.change(event)),
            _ => None,
        };
        let trace = news.map_or_else(TraceId::random, |change| change.trace);
        if !self.samples(trace) {
            return None;
        }
        let clocks = TraceClocks::read();
        let CallOrigin { attempt, received, coalesced } = call.origin;
        let place = self.place(news, &call.cause, (clocks, received, called));
        let mut attributes = vec![
            ("informant.plugin", call.plugin.into()),
            ("faas.trigger", call.cause.trigger().into()),
        ];
        if let Some(shard) = call.shard {
            attributes.push(("informant.shard", SpanValue::Number(shard as i64)));
        }
        if attempt > 1 {
            attributes.push(("informant.attempt", attempt.into()));
        }
        attributes.append(&mut call.cause.attributes(coalesced));
        let span = Span {
            trace,
            id: SpanId::random(),
            parent: place.parent,
            name: format!("{} {}", call.cause.function(), call.plugin),
            kind: SpanKind::Internal,
            start: clocks.unix_nanoseconds(called),
            end: 0,
            attributes,
            link: place.link,
            is_error: false,
        };
        Some(Box::new(CallTrace { tracer: self.clone(), clocks, span, children: 0 }))
    }

    fn place(
        &self,
        news: Option<ChangeIds>,
        cause: &CallCause<'_>,
        times: (TraceClocks, Instant, Instant),
    ) -> TracePlace {
        let CallCause::Event(event) = cause else {
            return TracePlace { parent: None, link: None };
        };
        match news {
            Some(change) => {
                self.begin_change(change, event, times);
                TracePlace { parent: Some(change.root), link: None }
            }
            None => {
                let change = Some(self.change(event)).filter(|change| self.knows(*change));
                let link = change.map(|change| (change.trace, change.root));
                TracePlace { parent: None, link }
            }
        }
    }
}

impl CallTrace {
    /// The ids for log lines.
    pub(crate) fn ids(&self) -> (TraceId, SpanId) {
        (self.span.trace, self.span.id)
    }

    /// The header for a request with a span of this id.
    pub(crate) fn traceparent(&self, request: SpanId) -> String {
        traceparent(self.span.trace, request)
    }

    /// Sends the span of a request that has ended now.
    pub(crate) fn child(&mut self, child: Child) {
        self.children += 1;
        if self.children > CHILDREN_MAX {
            return;
        }
        let Child { id, name, began, mut attributes, error } = child;
        let is_error = error.is_some();
        attributes.extend(error.map(|error| ("error.type", SpanValue::Text(error))));
        self.tracer.on_end(Span {
            trace: self.span.trace,
            id,
            parent: Some(self.span.id),
            name,
            kind: SpanKind::Client,
            start: self.clocks.unix_nanoseconds(began),
            end: self.clocks.unix_nanoseconds(Instant::now()),
            attributes,
            link: None,
            is_error,
        });
    }

    /// Ends the call. `error` is the type of its failure.
    pub(crate) fn end(mut self, error: Option<&'static str>) {
        self.span.end = self.clocks.unix_nanoseconds(Instant::now());
        self.span.is_error = error.is_some();
        self.span.attributes.extend(error.map(|error| ("error.type", error.into())));
        let untold = self.children.saturating_sub(CHILDREN_MAX);
        if untold > 0 {
            self.span.attributes.push(("informant.requests_without_span", untold.into()));
        }
        self.tracer.on_end(self.span);
    }
}

#[cfg(test)]
mod tests;
