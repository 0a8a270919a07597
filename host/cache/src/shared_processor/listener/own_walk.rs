//! The beginning of an inline handler, and its own walk over the store.

use super::{Listener, Told};
use crate::indexer::Indexer;
use crate::informer_state::Progress;
use crate::object::Object;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Listener {
    /// Whether the handler can begin, with so many looks at objects at most before it does.
    pub(in crate::shared_processor) fn is_ready(&self, looks_left: &mut usize) -> bool {
        let Told::Inline(handler) = &self.told else { return true };
        catch_unwind(AssertUnwindSafe(|| handler.is_ready(looks_left))).unwrap_or(true)
    }

    /// Lets a paced handler make the next step of its own walk. Returns the number of its looks.
    pub(in crate::shared_processor) fn walk(
        &self,
        store: &Indexer,
        objects_max: usize,
        progress: &Progress,
    ) -> usize {
        let Told::Inline(handler) = &self.told else { return 0 };
        if !self.paced || self.is_removed() {
            return 0;
        }
        let takes = |object: &Object| self.takes(object) && self.selects(object);
        let walk = || handler.walk(store, &takes, objects_max);
        catch_unwind(AssertUnwindSafe(walk)).unwrap_or_else(|_| {
            progress.handler_panicked();
            0
        })
    }
}
