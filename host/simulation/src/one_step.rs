//! A relist is one step: a handler in the informer's task sees all of its result at its first notification, and gets
//! the deletions first.

use informant_cache::{Object, Uid};
use tokio::time::Instant;

/// The notifications of a relist so far. Two relists never happen at the same moment, because a pause precedes each.
/// But a resource can be found absent right after a relist. Then all of its objects are deleted in a separate step.
#[derive(Debug, Default)]
pub(crate) struct OneStep {
    heard: Option<Heard>,
}

#[derive(Debug)]
struct Heard {
    at: Instant,
    /// The store's objects.
    stored: Vec<Object>,
    /// Whether an object was notified that has not been deleted.
    goes_on: bool,
}

impl OneStep {
    /// Records a notification of a relist, and the store's objects at that moment. Returns the error, if there is one.
    pub(crate) fn told(
        &mut self,
        object: &Object,
        is_deletion: bool,
        stored: Vec<Object>,
    ) -> Option<&'static str> {
        // Another object may have the same name now.
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

fn versions(stored: &[Object]) -> impl Iterator<Item = (Uid<'_>, &str)> {
    stored.iter().map(|object| (object.uid(), object.resource_version()))
}
