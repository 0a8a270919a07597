//! What a plugin sees of the cache: which objects, and how much of each. With the delivery `metadata` it sees no more than
//! that, unless another of its views has the object whole.

use super::{AnswerBounds, OBJECTS_SCANNED, ReadError, Readable};
use informant_cache::{Object, Page};

impl Readable {
    pub(super) fn sees_any(
        &self,
        index: &str,
        value: &str,
        bounds: AnswerBounds<'_>,
    ) -> Result<bool, ReadError> {
        let mut cursor = None::<String>;
        loop {
            bounds.check_deadline()?;
            let page = self.indexer.by_index(index, value, OBJECTS_SCANNED, cursor.as_deref())?;
            if page.items.iter().any(|object| self.sees(object)) {
                return Ok(true);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(false);
            }
        }
    }

    /// Whether one of the views with whole objects has this one, which is not whole yet.
    pub(super) fn lacks(&self, object: &Object) -> bool {
        object.is_metadata_only() && self.sees_whole(object)
    }

    fn sees_whole(&self, object: &Object) -> bool {
        let whole = self.views.iter().filter(|shown| !shown.metadata_only);
        let mut allowed = whole.filter(|shown| shown.permissions.allow());
        allowed.any(|shown| shown.view.contains(object))
    }

    /// As much of the object as the plugin sees, whatever the cache has.
    pub(super) fn shown(&self, object: Object) -> Object {
        match self.views.iter().all(|shown| !shown.metadata_only) || self.sees_whole(&object) {
            true => object,
            false => object.metadata_only(),
        }
    }

    pub(super) fn page(&self, page: Page<Object>) -> Page<Object> {
        Page { items: page.items.into_iter().map(|object| self.shown(object)).collect(), ..page }
    }
}
