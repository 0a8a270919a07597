//! An object without everything but its metadata, as Kubernetes' `PartialObjectMetadata`: cut out of the JSON, not written anew.

use crate::json::Projection;
use bytes::Bytes;
use std::sync::LazyLock;

/// What is left of an object.
const KEPT: [&str; 3] = ["apiVersion", "kind", "metadata"];

static METADATA: LazyLock<Projection> =
    LazyLock::new(|| Projection::new(KEPT.map(|name| format!("/{name}"))));

/// Every object has all three: decoding sees to it.
pub(super) fn only(json: &[u8]) -> Bytes {
    let values = METADATA.values(json);
    let mut kept = Vec::with_capacity(values.iter().flatten().map(|value| value.len() + 16).sum());
    for (name, value) in KEPT.iter().zip(values) {
        let Some(value) = value else { continue };
        kept.push(if kept.is_empty() { b'{' } else { b',' });
        kept.extend_from_slice(format!("\"{name}\":").as_bytes());
        kept.extend_from_slice(value);
    }
    kept.push(b'}');
    Bytes::from(kept)
}
