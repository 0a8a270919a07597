//! The places where the events of one object wait, for the question why the plugin is not called for them now.

use super::Mailbox;
use crate::delivery::not_now::NotNow;
use crate::event::{Change, Event, SubscriptionId};
use informant_cache::ObjectKey;
use std::time::Instant;

/// An event that waits or is in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingEvent {
    pub(crate) subscription: SubscriptionId,
    pub(crate) change: Change,
    pub(crate) resource_version: String,
    /// 1 for the first delivery.
    pub(crate) attempt: u32,
    pub(crate) received: Instant,
    pub(crate) why: NotNow,
}

impl WaitingEvent {
    fn new(event: &Event, attempt: u32, why: NotNow) -> Self {
        Self {
            subscription: event.subscription,
            change: event.change,
            resource_version: event.object.resource_version().to_owned(),
            attempt,
            received: event.received,
            why,
        }
    }
}

impl Mailbox {
    /// The events of an object that have not ended. The search visits all waiting events.
    pub(crate) fn waiting_of(&self, key: &ObjectKey) -> Vec<WaitingEvent> {
        let mut found = Vec::new();
        if let Some(queued) = &self.in_flight
            && queued.event.object.key() == key
        {
            found.push(WaitingEvent::new(&queued.event, queued.tried.number, NotNow::Call));
        }
        self.held.each_of(key, |queued, at| {
            let why = at.map_or(NotNow::Object, NotNow::Retry);
            found.push(WaitingEvent::new(&queued.event, queued.tried.number, why));
        });
        let is_of = |event: &&Event| event.object.key() == key;
        for (ahead, event) in self.replays.iter().enumerate().filter(|(_, event)| is_of(event)) {
            found.push(WaitingEvent::new(event, 1, NotNow::Line { ahead }));
        }
        let debounce = self.debounce();
        for (ahead, event) in self.backlog.events().enumerate().filter(|(_, event)| is_of(event)) {
            let why = match debounce.is_zero() {
                true => NotNow::Line { ahead },
                false => NotNow::Debounce(event.received + debounce),
            };
            found.push(WaitingEvent::new(event, 1, why));
        }
        for event in self.withheld.events().filter(is_of) {
            found.push(WaitingEvent::new(event, 1, NotNow::ServiceAccount));
        }
        let aside = self.aside.iter().flat_map(|aside| aside.waiting_of(key));
        found.extend(aside.map(|event| WaitingEvent { why: NotNow::Ending, ..event }));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NO_MARK, parse};
    use super::super::{Mailbox, Settled};
    use super::*;
    use std::time::Duration;

    /// Shows the waiting events of the object `a` after these steps. `p` takes the next event, `f` fails it for a
    /// second, and `w` withholds its subscription. Every other step is an event, `(+a1)` a replayed one.
    #[track_caller]
    fn check(debounce: Duration, steps: &str, expect: &[&str]) {
        let (mut queue, now) = (Mailbox::new(NO_MARK), Instant::now());
        queue.set_debounce(debounce);
        let received = |text: &str| Event { received: now, ..parse(text) };
        for step in steps.split(' ') {
            match (step, step.strip_prefix('(')) {
                ("p", _) => _ = queue.pop(now),
                ("f", _) => queue.settle(Settled::RetryAt(now + Duration::from_secs(1)), now),
                ("w", _) => queue.withhold(parse("+a1").subscription),
                (_, Some(text)) => queue.push_replayed(received(text.trim_end_matches(')'))),
                _ => queue.push(received(step)),
            }
        }
        let key = parse("+a1").object.key().clone();
        let found = queue.waiting_of(&key);
        let shown = |change: &str, attempt: u32, why| {
            let why = match why {
                NotNow::Line { ahead } => format!("line {ahead}"),
                why => why.as_str().to_owned(),
            };
            format!("{change}#{attempt} {why}")
        };
        let found: Vec<String> = found
            .iter()
            .map(|event| shown(event.change.as_str(), event.attempt, event.why))
            .collect();
        assert_eq!(found, expect, "{steps}");
    }

    #[test]
    fn each_place_where_an_event_waits_is_found() {
        let none = Duration::ZERO;
        check(none, "+b1 +a1", &["added#1 line 1"]);
        check(none, "(+b1) (+a1)", &["added#1 line 1"]);
        check(none, "+a1 p", &["added#1 call"]);
        check(none, "+a1 p f", &["added#2 retry"]);
        check(none, "+a1 p f ~a2 +b1 p", &["added#2 retry", "updated#1 object"]);
        check(none, "+a1 w", &["added#1 serviceAccount"]);
        check(Duration::from_secs(9), "+a1", &["added#1 debounce"]);
        check(none, "+b1", &[]);
    }
}
