//! The trace of a change: its ids, and the first span, which comes once.

use super::Tracer;
use super::clocks::TraceClocks;
use super::ids::{SpanId, TraceId};
use super::resources::object_attributes;
use super::span::{Span, SpanKind};
use crate::event::{CurrentEvent, Gone, Reason};
use hashbrown::HashSet;
use ring::hmac;
use std::collections::VecDeque;
use std::time::Instant;

/// The number of changes whose first span is known to have been sent. Three times as many as the events that wait for
/// a plugin before they are merged. A call for an older change sends the span again, with the same ids.
const ROOTS_MAX: usize = 32_768;

/// The ids of one version of an object.
#[derive(Clone, Copy)]
pub(super) struct ChangeIds {
    pub(super) trace: TraceId,
    pub(super) root: SpanId,
}

/// The changes whose first span was sent, oldest first.
#[derive(Default)]
pub(super) struct Roots {
    known: HashSet<TraceId>,
    order: VecDeque<TraceId>,
}

impl Roots {
    /// Whether the trace is new. It is known from here on.
    fn begin(&mut self, trace: TraceId) -> bool {
        if !self.known.insert(trace) {
            return false;
        }
        self.order.push_back(trace);
        if self.order.len() > ROOTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

/// Whether the event is a change that the API server reported. All plugins get it at once, so it has one trace. Other
/// events repeat what the cache has, for one subscription, at any later time. So does the end of an object that the API
/// server did not report: it has the last version that was known.
pub(super) fn is_news(event: &CurrentEvent) -> bool {
    match (event.reason, event.gone) {
        (_, Some(Gone::LeftView | Gone::Unknown)) => false,
        (Reason::Watch | Reason::Relist, None | Some(Gone::Deleted)) => true,
        (Reason::Initial | Reason::Resync | Reason::Reload | Reason::Redrive, _) => false,
    }
}

impl Tracer {
    /// The ids of the event's version.
    pub(super) fn change(&self, event: &CurrentEvent) -> ChangeIds {
        let (object, key) = (&event.object, event.object.key());
        let version = [key.namespace(), key.name(), object.uid(), object.resource_version()];
        let mut context = hmac::Context::with_key(&self.0.key);
        for part in [&*event.resource].into_iter().chain(version) {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part.as_bytes());
        }
        let tag = context.sign();
        let (mut trace, mut root) = ([0; 16], [0; 8]);
        trace.copy_from_slice(&tag.as_ref()[..16]);
        root.copy_from_slice(&tag.as_ref()[16..24]);
        ChangeIds { trace: TraceId(trace), root: SpanId(root) }
    }

    /// Sends the first span of a change, if no call has sent it: from the read of the bytes to the begin of the first
    /// call.
    pub(super) fn begin_change(
        &self,
        change: ChangeIds,
        event: &CurrentEvent,
        (clocks, received, called): (TraceClocks, Instant, Instant),
    ) {
        if !self.0.roots.lock().begin(change.trace) {
            return;
        }
        let (object, key) = (&event.object, event.object.key());
        let mut attributes =
            object_attributes(&event.resource, key.namespace(), key.name(), object.uid());
        attributes.push(("k8s.object.resource_version", object.resource_version().into()));
        attributes.push(("informant.event.reason", event.reason.as_str().into()));
        self.on_end(Span {
            trace: change.trace,
            id: change.root,
            parent: None,
            name: format!("watch {}", event.resource),
            kind: SpanKind::Consumer,
            start: clocks.unix_nanoseconds(received),
            end: clocks.unix_nanoseconds(called),
            attributes,
            link: None,
            is_error: false,
        });
    }

    /// Whether the first span of a change was sent.
    pub(super) fn knows(&self, change: ChangeIds) -> bool {
        self.0.roots.lock().known.contains(&change.trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_begins_once_while_it_is_among_the_newest() {
        let trace = |number: usize| TraceId((number as u128).to_be_bytes());
        let mut roots = Roots::default();
        assert!(roots.begin(trace(0)) && !roots.begin(trace(0)));
        assert!((1..ROOTS_MAX).all(|number| roots.begin(trace(number))));
        assert!(!roots.begin(trace(0)), "it is the oldest one");
        assert!(roots.begin(trace(ROOTS_MAX)));
        assert!(roots.begin(trace(0)), "it was forgotten");
        assert_eq!((roots.known.len(), roots.order.len()), (ROOTS_MAX, ROOTS_MAX));
    }
}
