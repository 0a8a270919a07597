//! Adding, filling and removing an index.

use super::IndexerWrite;
use crate::indexer::index::{Filing, Index, IndexFunc};
use crate::indexer::state::IndexerState;
use crate::indexer::{IndexerError, NAMESPACE_INDEX};
use crate::object::{Object, ObjectKey};
use std::collections::VecDeque;
use std::sync::Arc;

impl IndexerWrite<'_> {
    /// Adds an index that no reader sees before [`IndexerWrite::index_is_ready`].
    pub(in super::super) fn add_index(
        &mut self,
        name: &str,
        func: IndexFunc,
    ) -> Result<(), IndexerError> {
        let writer = &mut *self.writer;
        match writer.state.index(name) {
            Err(at) if name != NAMESPACE_INDEX => {
                writer.last_index += 1;
                writer.changed = true;
                writer.state.indexes.insert(at, Index::new(name, func));
                writer.filings.insert(at, Filing::new(writer.last_index));
                Ok(())
            }
            Ok(_) | Err(_) => Err(IndexerError::IndexExists(name.to_owned())),
        }
    }

    /// The identity and the function of an index that no reader sees yet, and the key up to which it is filled.
    pub(in super::super) fn index_to_fill(
        &self,
        name: &str,
    ) -> Option<(u64, IndexFunc, Option<ObjectKey>)> {
        let at = self.writer.state.index(name).ok()?;
        let (index, filing) = (&self.writer.state.indexes[at], &self.writer.filings[at]);
        (!index.ready).then(|| (filing.id, index.function.clone(), filing.filled_to.clone()))
    }

    pub(in super::super) fn remove_index(&mut self, name: &str) -> Option<(Index, Filing)> {
        let writer = &mut *self.writer;
        let at = writer.state.index(name).ok()?;
        writer.changed = true;
        Some((writer.state.indexes.remove(at), writer.filings.remove(at)))
    }

    /// The states that were kept after others were published.
    pub(in super::super) fn take_retired(&mut self) -> VecDeque<Arc<IndexerState>> {
        std::mem::take(&mut self.writer.retired)
    }

    /// Files objects in an index that is being built, unless they were written meanwhile: every write files its object.
    /// Returns whether the index still exists.
    pub(in super::super) fn file(
        &mut self,
        id: u64,
        filed: Vec<(Object, Option<Vec<String>>)>,
    ) -> bool {
        let writer = &mut *self.writer;
        let Some(at) = writer.filings.iter().position(|filing| filing.id == id) else {
            return false;
        };
        for (object, values) in filed {
            writer.filings[at].filled_to = Some(object.key().clone());
            let Some(stored) = writer.state.objects.get(object.key()) else { continue };
            let slot = stored.slot();
            if !writer.filings[at].has(slot) {
                writer.state.index_panics += u64::from(values.is_none());
                let (filing, index) = (&mut writer.filings[at], &mut writer.state.indexes[at]);
                filing.set(index, slot, object.key(), values.unwrap_or_default());
                writer.changed = true;
            }
        }
        true
    }

    pub(in super::super) fn index_is_ready(&mut self, id: u64) {
        let writer = &mut *self.writer;
        if let Some(at) = writer.filings.iter().position(|filing| filing.id == id) {
            writer.state.indexes[at].ready = true;
            writer.changed = true;
        }
    }
}
