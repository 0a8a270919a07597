//! What a plugin sees of the cache: which objects, and how much of each. With the delivery `metadata` it sees no more than
//! that, unless another of its views has the object whole.

use super::{AnswerBounds, OBJECTS_SCANNED, ReadError, Readable};
use crate::delivery::view::View;
use informant_cache::Object;

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

    /// Whether the plugin sees every object of the cache: one view has all, and no object is awaited as a whole one.
    pub(super) fn sees_all(&self) -> bool {
        let is_whole = self.views.iter().all(|shown| shown.judges_metadata)
            || self.indexer.count_of_metadata_only() == 0;
        is_whole && self.allowed().any(View::is_everything)
    }

    pub(super) fn sees(&self, object: &Object) -> bool {
        self.form_of(object).is_some()
    }

    /// As much of the object as the plugin sees, whatever the cache has. The views judge what the cache has.
    pub(super) fn shown(&self, object: Object) -> Option<Object> {
        match self.form_of(&object)? {
            SeenForm::AsCached => Some(object),
            SeenForm::Metadata => Some(object.metadata_only()),
        }
    }

    /// An object that is not whole yet does not exist for a view of whole objects, and no other view shows it then.
    fn form_of(&self, object: &Object) -> Option<SeenForm> {
        let is_partial = object.is_metadata_only();
        let mut form = None;
        for shown in self.views.iter().filter(|shown| shown.permissions.allow()) {
            let judges = !is_partial || shown.judges_metadata || !shown.metadata_only;
            if !judges || !shown.view.contains(object) {
                continue;
            }
            if !shown.metadata_only {
                return (!is_partial).then_some(SeenForm::AsCached);
            }
            form = Some(SeenForm::Metadata);
        }
        form
    }
}

/// How much of an object the plugin sees.
enum SeenForm {
    AsCached,
    Metadata,
}
