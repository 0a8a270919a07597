//! An object's metadata alone, as the bytes that the object has.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// `PartialObjectMetadata`: the object without everything but its metadata, whose bytes it has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialMetadata<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Option<&'a RawValue>,
}

impl<'a> PartialMetadata<'a> {
    /// Of an object's JSON.
    pub fn of(json: &'a [u8]) -> Self {
        #[derive(Deserialize)]
        struct Metadata<'a> {
            #[serde(borrow)]
            metadata: Option<&'a RawValue>,
        }
        let metadata = serde_json::from_slice::<Metadata<'_>>(json).ok().and_then(|it| it.metadata);
        Self { kind: "PartialObjectMetadata", api_version: "meta.k8s.io/v1", metadata }
    }
}
