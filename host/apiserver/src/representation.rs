//! Objects in the form a client asked for.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::partial_metadata::PartialMetadata;
use crate::table::{self, Layout, TableOptions};
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
        Representation::PartialMetadata => to_bytes(&PartialMetadata::of(&object.json())),
        Representation::Table(include_object) => {
            let metadata = json!({"resourceVersion": object.resource_version().to_string()});
            let options = TableOptions { include_object, no_headers, now };
            let custom = resource.custom.then_some(&resource.printer_columns);
            table::render(&resource.gvr, custom, metadata, &[object.json()], &options)
        }
    }
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

/// The columns of a resource's tables.
pub fn layout(resource: &ResourceInfo) -> Layout {
    Layout::of(&resource.gvr, resource.custom.then_some(&resource.printer_columns))
}

/// JSON without newlines.
pub fn to_bytes(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("it is JSON").into()
}
