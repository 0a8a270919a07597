//! The bytes of an object as a subscription wants them.

use crate::descriptor::Delivery;
use bytes::Bytes;
use informant_cache::Object;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataOnly<'a> {
    #[serde(borrow)]
    api_version: &'a RawValue,
    kind: &'a RawValue,
    metadata: &'a RawValue,
}

/// Nothing for lazy delivery.
pub(crate) fn payload(object: &Object, delivery: Delivery) -> Option<Bytes> {
    match delivery {
        Delivery::Full => Some(object.json()),
        Delivery::Lazy => None,
        Delivery::Metadata => {
            let json = object.json();
            let metadata: MetadataOnly<'_> = serde_json::from_slice(&json).ok()?;
            serde_json::to_vec(&metadata).ok().map(Bytes::from)
        }
    }
}
