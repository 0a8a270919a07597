//! Objects of the cache as the API shows them: unpacked when an answer or a field selector reads them.

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

    fn namespace(&self) -> &str {
        self.0.key().namespace()
    }

    fn name(&self) -> &str {
        self.0.key().name()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.0.label(key)
    }
}

/// The object; its resourceVersion counts as 0 where it is no number.
pub(super) fn shown(object: Object, resource: &Arc<ResourceInfo>) -> Arc<ApiObject> {
    let resource_version = object.resource_version().parse().unwrap_or_default();
    Arc::new(ApiObject::from_stored(Arc::new(Stored(object)), resource_version, resource))
}
