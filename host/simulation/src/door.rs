//! Access to a resource's cache: its informer with all objects, or a view of a part of them.

use informant_apimachinery::LabelSelector;
use informant_cache::{
    HandlerOptions, Indexer, IndexerError, InformerState, Notifications, Object, ObjectKey, Page,
    Registration, ResourceEventHandler, Scope, SharedIndexInformer, View,
};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum Door {
    Informer(SharedIndexInformer),
    View(View),
}

impl Door {
    /// The objects that this access shows.
    pub(crate) fn scope(&self) -> Scope {
        match self {
            Self::Informer(_) => Scope::all(),
            Self::View(view) => view.scope().clone(),
        }
    }

    pub(crate) fn state(&self) -> InformerState {
        match self {
            Self::Informer(informer) => informer.state(),
            Self::View(view) => view.state(),
        }
    }

    pub(crate) fn has_synced(&self) -> bool {
        match self {
            Self::Informer(informer) => informer.has_synced(),
            Self::View(view) => view.has_synced(),
        }
    }

    pub(crate) fn add_inline(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        match self {
            Self::Informer(informer) => informer.add_inline_handler(handler, options),
            Self::View(view) => view.add_inline_handler(handler, options),
        }
    }

    pub(crate) fn add_queued(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        match self {
            Self::Informer(informer) => informer.add_event_handler_with_options(handler, options),
            Self::View(view) => view.add_event_handler_with_options(handler, options),
        }
    }

    pub(crate) fn notifications(&self, options: HandlerOptions) -> Notifications {
        match self {
            Self::Informer(informer) => informer.notifications(options),
            Self::View(view) => view.notifications(options),
        }
    }

    /// The place for indexes.
    pub(crate) fn indexer(&self) -> Option<Indexer> {
        match self {
            Self::Informer(informer) => Some(informer.indexer()),
            Self::View(_) => None,
        }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Object> {
        match self {
            Self::Informer(informer) => {
                informer.indexer().get(key).filter(|object| !object.is_metadata_only())
            }
            Self::View(view) => view.get(key),
        }
    }

    pub(crate) fn list(
        &self,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<Object>, IndexerError> {
        let everything = LabelSelector::default();
        match self {
            Self::Informer(informer) => {
                let mut page = informer.indexer().list(None, &everything, limit, cursor)?;
                page.items.retain(|object| !object.is_metadata_only());
                Ok(page)
            }
            Self::View(view) => view.list(None, &everything, limit, cursor),
        }
    }

    pub(crate) fn count(&self, namespace: Option<&str>) -> usize {
        match self {
            Self::Informer(informer) => informer.indexer().count(namespace),
            Self::View(view) => view.count(namespace),
        }
    }

    /// Whether the store has no object that this access leaves out, because it is not whole yet.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Informer(informer) => informer.indexer().count_of_metadata_only() == 0,
            Self::View(_) => true,
        }
    }

    /// All visible objects.
    pub(crate) fn everything(&self) -> Vec<Object> {
        self.list(0, None).map(|page| page.items).unwrap_or_default()
    }

    /// The keys of all visible objects.
    pub(crate) fn keys(&self) -> impl Iterator<Item = String> {
        self.everything().into_iter().map(|object| object.key().to_string())
    }

    pub(crate) fn index_values(&self, index: &str) -> Result<Page<String>, IndexerError> {
        match self {
            Self::Informer(informer) => informer.indexer().index_values(index, 0, None),
            Self::View(view) => view.index_values(index, 0, None),
        }
    }

    pub(crate) fn by_index(&self, index: &str, value: &str) -> Result<Page<Object>, IndexerError> {
        match self {
            Self::Informer(informer) => informer.indexer().by_index(index, value, 0, None),
            Self::View(view) => view.by_index(index, value, 0, None),
        }
    }
}
