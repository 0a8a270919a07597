//! The span of one call of a plugin, and those of the call's requests.

use super::clocks::TraceClocks;
use super::ids::{SpanId, TraceId, traceparent};
use super::span::{Child, Span, SpanAttribute, SpanKind, SpanValue};
use super::{TracedEvent, Tracer};
use crate::plugin_name::PluginName;
use std::sync::Arc;
use std::time::Instant;

/// The requests of one call that have spans of their own. The others are counted in an attribute of the call.
const CHILDREN_MAX: u32 = 128;

/// The attributes of a call for an event, with room for one of its end.
const ATTRIBUTES: usize = 10;

/// The reason of a call.
pub(crate) enum CallCause {
    Event(TracedEvent),
    /// A key, with the sampled changes that added it. `None`: the key is not shown.
    Key(Option<Arc<str>>, Vec<TraceId>),
    Schedule(Arc<str>),
    Synced,
}

/// A call that begins.
pub(crate) struct TracedCall {
    pub(crate) plugin: PluginName,
    /// `None` for a plugin with one instance.
    pub(crate) shard: Option<usize>,
    pub(crate) cause: CallCause,
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
    call: TracedCall,
    called: Instant,
    parent: Option<SpanId>,
    links: Vec<TraceId>,
    children: u32,
}

impl CallCause {
    /// The function of the contract.
    fn function(&self) -> &'static str {
        match self {
            Self::Event(_) => "handle",
            Self::Key(..) => "reconcile",
            Self::Schedule(_) => "fire",
            Self::Synced => "synced",
        }
    }

    fn event(&self) -> Option<&TracedEvent> {
        match self {
            Self::Event(event) => Some(event),
            Self::Key(..) | Self::Schedule(_) | Self::Synced => None,
        }
    }

    /// The changes that added a key.
    fn changes(&mut self) -> Vec<TraceId> {
        match self {
            Self::Key(_, changes) => std::mem::take(changes),
            Self::Event(_) | Self::Schedule(_) | Self::Synced => Vec::new(),
        }
    }
}

impl TracedCall {
    /// `uid` is that of the event's object.
    fn attributes<'a>(&'a self, uid: &'a str) -> Vec<SpanAttribute<'a>> {
        let mut attributes = Vec::with_capacity(ATTRIBUTES);
        attributes.push(("informant.plugin", self.plugin.as_str().into()));
        if let Some(shard) = self.shard {
            attributes.push(("informant.shard", SpanValue::Number(shard as i64)));
        }
        if self.origin.attempt > 1 {
            attributes.push(("informant.attempt", self.origin.attempt.into()));
        }
        match &self.cause {
            CallCause::Event(event) => {
                event.push_version(uid, &mut attributes);
                attributes.push(("informant.event.change", event.change.as_str().into()));
                attributes.push(("informant.event.reason", event.reason.as_str().into()));
            }
            CallCause::Key(Some(key), _) => attributes.push(("informant.key", (&**key).into())),
            CallCause::Schedule(name) => attributes.push(("informant.schedule", (&**name).into())),
            CallCause::Key(None, _) | CallCause::Synced => {}
        }
        if self.origin.coalesced > 0 {
            attributes.push(("informant.event.coalesced", self.origin.coalesced.into()));
        }
        attributes
    }
}

impl Tracer {
    /// Begins the trace of a call. `None`: the trace is not sampled, and no header names it.
    pub(crate) fn call(&self, mut call: TracedCall, called: Instant) -> Option<Box<CallTrace>> {
        let mut links = call.cause.changes();
        let change = call.cause.event().map(|event| self.change(event));
        let news = change.filter(|_| call.cause.event().is_some_and(TracedEvent::is_news));
        let trace = news.unwrap_or_else(TraceId::random);
        // The attempts of a repeated delivery have a trace each. They are sampled together, with the change.
        let is_sampled = !links.is_empty() || self.samples(change.unwrap_or(trace));
        if !is_sampled && !self.0.propagates {
            return None;
        }
        let sampled = is_sampled.then(|| {
            let clocks = TraceClocks::read();
            if let Some((change, event)) = news.zip(call.cause.event()) {
                self.begin_change(change, event, (clocks, call.origin.received, called));
            }
            let parent = news.map(TraceId::root);
            links.extend(change.filter(|change| news.is_none() && self.knows(*change)));
            SampledCall { clocks, call, called, parent, links, children: 0 }
        });
        let id = SpanId::random();
        Some(Box::new(CallTrace { tracer: self.clone(), trace, id, sampled }))
    }
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
    pub(crate) fn child(&mut self, child: Child<'_>) {
        let Some(call) = &mut self.sampled else { return };
        call.children += 1;
        if call.children > CHILDREN_MAX {
            return;
        }
        let Child { id, name, began, mut attributes, error } = child;
        let is_error = error.is_some();
        attributes.extend(error.map(|error| ("error.type", SpanValue::Text(error))));
        self.tracer.on_end(&Span {
            trace: self.trace,
            id,
            parent: Some(self.id),
            name,
            kind: SpanKind::Client,
            start: call.clocks.unix_nanoseconds(began),
            end: call.clocks.unix_nanoseconds(Instant::now()),
            attributes,
            links: &[],
            is_error,
        });
    }

    /// Ends the call. `error` is the type of its failure.
    pub(crate) fn end(self, error: Option<&'static str>) {
        let Some(SampledCall { clocks, call, called, parent, links, children }) = self.sampled
        else {
            return;
        };
        let uid = call.cause.event().map(|event| event.object.uid());
        let mut attributes = call.attributes(uid.as_deref().unwrap_or_default());
        attributes.extend(error.map(|error| ("error.type", error.into())));
        let untold = children.saturating_sub(CHILDREN_MAX);
        if untold > 0 {
            attributes.push(("informant.requests_without_span", untold.into()));
        }
        self.tracer.on_end(&Span {
            trace: self.trace,
            id: self.id,
            parent,
            name: (call.cause.function(), call.plugin.as_str()),
            kind: SpanKind::Internal,
            start: clocks.unix_nanoseconds(called),
            end: clocks.unix_nanoseconds(Instant::now()),
            attributes,
            links: &links,
            is_error: error.is_some(),
        });
    }
}

#[cfg(test)]
mod tests;
