//! A relist is one step: whoever hears of it in the informer's task sees all of it already, and hears of what is gone first.

use informant_cache::Object;
use tokio::time::Instant;

/// What was heard of a relist so far. Two of them never come at the same moment, because a pause is before each; but a
/// resource can be found to be absent right after one, and then all of it goes in a step of its own.
#[derive(Debug, Default)]
pub(crate) struct OneStep {
    heard: Option<Heard>,
}

#[derive(Debug)]
struct Heard {
    at: Instant,
    /// The store's objects.
    stored: Vec<Object>,
    /// Something was told that has not gone.
    goes_on: bool,
}

impl OneStep {
    /// Notes what a relist tells of an object, and what the store shows meanwhile. Answers what is wrong.
    pub(crate) fn told(
        &mut self,
        object: &Object,
        is_deletion: bool,
        stored: Vec<Object>,
    ) -> Option<&'static str> {
        // Another object may have taken the name.
        let is_gone = is_deletion && stored.iter().all(|stored| stored.key() != object.key());
        let at = Instant::now();
        let is_of_it =
            |before: &Heard| before.at == at && (before.stored.is_empty() || !stored.is_empty());
        let before = self.heard.take().filter(is_of_it);
        let changed =
            before.as_ref().is_some_and(|before| versions(&before.stored).ne(versions(&stored)));
        let goes_on = before.is_some_and(|before| before.goes_on);
        self.heard = Some(Heard { at, stored, goes_on: goes_on || !is_gone });
        match (changed, goes_on && is_gone) {
            (true, _) => Some("the store changes while it is told of"),
            (false, true) => Some("what is gone comes late"),
            (false, false) => None,
        }
    }
}

fn versions(stored: &[Object]) -> impl Iterator<Item = (&str, &str)> {
    stored.iter().map(|object| (object.uid(), object.resource_version()))
}
