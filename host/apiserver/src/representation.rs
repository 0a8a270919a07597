//! Objects in the form a client asked for.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::partial_metadata::PartialMetadata;
use crate::table::{self, Layout, TableOptions};
use crate::{ApiObject, Representation, ResourceInfo};

/// So many columns count as one pass over the object: the parts that they name are found in one.
const COLUMNS_IN_PASS: usize = 4;

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
            table::render(
                &resource.gvr,
                declared(resource),
                metadata,
                &[object.json_as(resource)],
                &options,
            )
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
    Layout::of(&resource.gvr, declared(resource))
}

/// Their definitions.
pub fn columns(resource: &ResourceInfo) -> Vec<Value> {
    table::column_definitions(&resource.gvr, declared(resource))
}

fn declared(resource: &ResourceInfo) -> Option<&Value> {
    resource.custom.then_some(&resource.printer_columns)
}

/// The work of showing an object, in passes over its bytes. The path of a custom column may visit every entry of the
/// object.
pub fn passes(resource: &ResourceInfo, representation: Representation) -> usize {
    match representation {
        Representation::Object | Representation::PartialMetadata => 1,
        Representation::Table(_) => {
            let columns = table::column_count(&resource.gvr, declared(resource));
            columns.div_ceil(COLUMNS_IN_PASS).max(1)
        }
    }
}

/// JSON without newlines.
pub fn to_bytes(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("it is JSON").into()
}
