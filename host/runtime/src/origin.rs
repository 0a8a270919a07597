//! The source of the objects of one resource: an informer that runs as long as the source is kept, or a store.

use informant_cache::{Indexer, InformerLease, Store};

/// The source of a resource's objects.
pub(crate) enum Origin {
    /// The informer runs for at least as long as the plugin may read the resource.
    Informer(InformerLease),
    /// A store that was complete from the beginning.
    Store(Store),
}

impl From<InformerLease> for Origin {
    fn from(lease: InformerLease) -> Self {
        Self::Informer(lease)
    }
}

impl Origin {
    pub(crate) fn indexer(&self) -> Indexer {
        match self {
            Self::Informer(lease) => lease.informer().indexer(),
            Self::Store(store) => store.indexer().clone(),
        }
    }

    pub(crate) fn has_synced(&self) -> bool {
        match self {
            Self::Informer(lease) => lease.informer().has_synced(),
            Self::Store(_) => true,
        }
    }
}
