//! Objects of the cache as the API shows them: unpacked when somebody reads them.

use bytes::Bytes;
use informant_apiserver::{ApiObject, ResourceInfo, StoredObject};
use informant_cache::Object;
use std::sync::Arc;

struct Stored(Object);

impl StoredObject for Stored {
    fn json(&self) -> Bytes {
        self.0.json()
    }

    fn json_len(&self) -> usize {
        self.0.json_len()
    }
}

/// The object; its resourceVersion counts as 0 where it is no number.
pub(super) fn shown(object: Object, resource: &Arc<ResourceInfo>) -> Arc<ApiObject> {
    let labels: Vec<_> =
        object.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let key = object.key().clone();
    let resource_version = object.resource_version().parse().unwrap_or_default();
    let names = [key.namespace(), key.name()];
    let stored = Arc::new(Stored(object));
    Arc::new(ApiObject::from_stored(stored, names, resource_version, labels.into_iter(), resource))
}
