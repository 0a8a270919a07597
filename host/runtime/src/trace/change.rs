//! The trace of a change: its ids, and the first span, which comes once.

use super::clocks::TraceClocks;
use super::ids::TraceId;
use super::span::{Span, SpanKind};
use super::{TracedEvent, Tracer};
use hashbrown::HashSet;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::time::Instant;

/// The number of changes whose first span is known to have been sent. Three times as many as the events that wait for
/// a plugin before they are merged. A call for an older change sends the span again, with the same ids.
const ROOTS_MAX: usize = 32_768;

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

impl Tracer {
    /// The trace of the event's version.
    pub(super) fn change(&self, event: &TracedEvent) -> TraceId {
        let (object, key) = (&event.object, event.object.key());
        let mut hasher = self.0.hash.build_hasher();
        let version = [key.namespace(), key.name(), &object.uid(), object.resource_version()];
        [&*event.resource].into_iter().chain(version).for_each(|part| part.hash(&mut hasher));
        let first = hasher.finish();
        hasher.write_u8(0);
        TraceId::of(first, hasher.finish())
    }

    /// The trace that calls for the event's keys link to. `None`: it is not sampled, or was not sent lately.
    pub(crate) fn becomes_keys(
        &self,
        event: &TracedEvent,
        received: Instant,
        now: Instant,
    ) -> Option<TraceId> {
        let change = self.change(event);
        if !self.samples(change) {
            return None;
        }
        if event.is_news() {
            self.begin_change(change, event, (TraceClocks::read(), received, now));
        }
        self.knows(change).then_some(change)
    }

    /// Sends the first span of a change, if it was not sent: from the read of the bytes to the begin of the first call, or
    /// to the time from which the first keys wait.
    pub(super) fn begin_change(
        &self,
        change: TraceId,
        event: &TracedEvent,
        (clocks, received, called): (TraceClocks, Instant, Instant),
    ) {
        if !self.0.roots.lock().begin(change) {
            return;
        }
        let (uid, mut attributes) = (event.object.uid(), Vec::with_capacity(6));
        event.push_version(&uid, &mut attributes);
        attributes.push(("informant.event.reason", event.reason.as_str().into()));
        self.on_end(&Span {
            trace: change,
            id: change.root(),
            parent: None,
            name: ("watch", &event.resource),
            kind: SpanKind::Consumer,
            start: clocks.unix_nanoseconds(received),
            end: clocks.unix_nanoseconds(called),
            attributes,
            links: &[],
            is_error: false,
        });
    }

    /// Whether the first span of a change was sent.
    pub(super) fn knows(&self, change: TraceId) -> bool {
        self.0.roots.lock().known.contains(&change)
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
