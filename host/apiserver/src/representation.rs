//! Objects in the form a client asked for.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::table::{self, TableOptions};
use crate::{ApiObject, Representation, ResourceInfo};

/// One object alone, as an answer to get or inside a watch event. A table shows ages as of `now`;
/// in a watch only the first has headers.
pub fn render_object(
    object: &ApiObject,
    resource: &ResourceInfo,
    representation: Representation,
    now: Timestamp,
    no_headers: bool,
) -> Bytes {
    match representation {
        Representation::Object => object.json_as(resource),
        Representation::PartialMetadata => to_bytes(&partial_metadata(object)),
        Representation::Table(include_object) => {
            let metadata = json!({"resourceVersion": object.resource_version().to_string()});
            let options = TableOptions { include_object, no_headers, now };
            to_bytes(&table(resource, metadata, [object], &options))
        }
    }
}

/// `PartialObjectMetadata`: the object without everything but its metadata.
pub fn partial_metadata(object: &ApiObject) -> Value {
    let mut value = object.to_value();
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": value["metadata"].take(),
    })
}

/// A bookmark, in the form that the client watches in.
pub fn bookmark(
    resource: &ResourceInfo,
    resource_version: u64,
    initial_events_end: bool,
    representation: Representation,
) -> Bytes {
    let mut metadata = json!({"resourceVersion": resource_version.to_string()});
    if initial_events_end {
        let annotation = informant_apimachinery::watch::INITIAL_EVENTS_END;
        metadata["annotations"] = json!({annotation: "true"});
    }
    let object = match representation {
        Representation::PartialMetadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
        }),
        Representation::Object | Representation::Table(_) => json!({
            "kind": resource.kind,
            "apiVersion": resource.gvr.api_version(),
            "metadata": metadata,
        }),
    };
    to_bytes(&object)
}

/// A table of these objects under the list's metadata.
pub fn table<'a>(
    resource: &ResourceInfo,
    metadata: Value,
    objects: impl IntoIterator<Item = &'a ApiObject>,
    options: &TableOptions,
) -> Value {
    let custom = resource.custom.then_some(&resource.printer_columns);
    let objects: Vec<Value> = objects.into_iter().map(ApiObject::to_value).collect();
    table::render(&resource.gvr, custom, metadata, &objects, options)
}

/// The items of a list in `PartialObjectMetadataList`.
pub fn partial_items(objects: &[Arc<ApiObject>]) -> Vec<Value> {
    objects.iter().map(|object| partial_metadata(object)).collect()
}

/// JSON without newlines.
pub fn to_bytes(value: &Value) -> Bytes {
    serde_json::to_vec(value).expect("a Value is always JSON").into()
}
