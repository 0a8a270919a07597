//! Wakes the reflectors that wait for a resource when its definition changes.
//! `resource_definitions.rs` follows the definitions.

use crate::object::Object;
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// The reflectors that wait for definitions.
#[derive(Default)]
pub(crate) struct DefinitionSignals {
    names: Mutex<Names>,
    /// How many reflectors wait.
    waiting: watch::Sender<usize>,
    /// Both kinds of definition are followed.
    told: AtomicBool,
    told_changes: Notify,
}

/// Fewer names are never searched for unneeded ones.
const NAMES_MIN: usize = 64;

#[derive(Default)]
struct Names {
    /// The signal of each definition, by its name.
    known: BTreeMap<String, Arc<Notify>>,
    /// Names without a reflector are dropped when there are this many: [`NAMES_MIN`], or twice as many as were left the last time. So there are
    /// hardly more than 64, or than twice the names that were needed then. A look at all of them for each reflector that begins would take
    /// time in proportion to the square.
    most: usize,
}

impl Names {
    fn drop_unneeded(&mut self) {
        if self.known.len() >= self.most {
            self.known.retain(|_, changes| Arc::strong_count(changes) > 1);
            self.most = NAMES_MIN.max(2 * self.known.len());
        }
    }
}

impl DefinitionSignals {
    fn definitions(&self, definitions: [String; 2]) -> [Arc<Notify>; 2] {
        let mut names = self.names.lock();
        names.drop_unneeded();
        definitions.map(|name| names.known.entry(name).or_default().clone())
    }

    #[cfg(test)]
    pub(crate) fn known(&self) -> usize {
        self.names.lock().known.len()
    }

    /// How many reflectors wait.
    pub(crate) fn waiting(&self) -> watch::Receiver<usize> {
        self.waiting.subscribe()
    }

    /// Something has happened to a definition.
    pub(crate) fn tell(&self, definition: &Object) {
        if let Some(changes) = self.names.lock().known.get(definition.key().name()) {
            changes.notify_waiters();
        }
    }

    /// Whether both kinds of definition are followed.
    pub(crate) fn say_told(&self, told: bool) {
        if self.told.swap(told, Ordering::AcqRel) != told {
            self.told_changes.notify_waiters();
        }
    }
}

/// One reflector's ear.
pub(crate) struct DefinitionSignal {
    signals: Arc<DefinitionSignals>,
    /// Its CustomResourceDefinition and its APIService.
    definitions: [Arc<Notify>; 2],
    /// The next change of each after the mark.
    changes: [Pin<Box<OwnedNotified>>; 2],
}

impl DefinitionSignal {
    /// For the reflector of `resource`; none for resources that every API server has.
    pub(crate) fn of(
        signals: &Arc<DefinitionSignals>,
        resource: &GroupVersionResource,
    ) -> Option<Self> {
        if resource.group.is_empty() {
            return None;
        }
        let custom_resource = format!("{}.{}", resource.resource, resource.group);
        let api_service = format!("{}.{}", resource.version, resource.group);
        let definitions = signals.definitions([custom_resource, api_service]);
        let changes = definitions.each_ref().map(next_change);
        Some(Self { signals: signals.clone(), definitions, changes })
    }

    /// What was told up to now is known.
    pub(crate) fn mark(&mut self) {
        self.changes = self.definitions.each_ref().map(next_change);
    }

    /// Until a definition has changed since the mark, at most `told` while both kinds are followed, else at most `untold`.
    /// What has changed meanwhile is known. Returns whether one has changed.
    pub(crate) async fn wait(&mut self, told: Duration, untold: Duration) -> bool {
        let waiting = SignalWaiter::new(&self.signals);
        let begun = Instant::now();
        let [custom_resource, api_service] = &mut self.changes;
        let has_changed = loop {
            let followed = self.signals.told_changes.notified();
            let wait = if self.signals.told.load(Ordering::Acquire) { told } else { untold };
            // The news first.
            tokio::select! {
                biased;
                () = custom_resource.as_mut() => break true,
                () = api_service.as_mut() => break true,
                () = followed => {}
                () = tokio::time::sleep_until(begun + wait) => break false,
            }
        };
        drop(waiting);
        self.mark();
        has_changed
    }
}

/// From now on, whether or not it is waited for yet.
fn next_change(definition: &Arc<Notify>) -> Pin<Box<OwnedNotified>> {
    Box::pin(definition.clone().notified_owned())
}

/// Somebody waits while it lives.
struct SignalWaiter<'a> {
    signals: &'a DefinitionSignals,
}

impl<'a> SignalWaiter<'a> {
    fn new(signals: &'a DefinitionSignals) -> Self {
        signals.waiting.send_modify(|waiting| *waiting += 1);
        Self { signals }
    }
}

impl Drop for SignalWaiter<'_> {
    fn drop(&mut self) {
        self.signals.waiting.send_modify(|waiting| *waiting -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_wait_are_looked_at_a_few_times() {
        let (mut names, mut held, mut looks) = (Names::default(), Vec::new(), 0);
        for number in 0..10_000 {
            let most = names.most;
            names.drop_unneeded();
            looks += usize::from(names.most != most);
            held.push(
                names.known.entry(format!("widgets{number}.example.com")).or_default().clone(),
            );
        }
        assert!(looks < 12, "{looks} looks");
        held.clear();
        names.most = 0;
        names.drop_unneeded();
        assert!(names.known.is_empty());
    }
}
