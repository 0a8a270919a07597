//! The part of a resource that only its CustomResourceDefinition has: columns, fields, the kind of lists.

use informant_apiserver::ResourceInfo;
use serde_json::Value;

/// The path of the definition.
pub(super) fn path(resource: &ResourceInfo) -> String {
    let gvr = &resource.gvr;
    format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}",
        gvr.resource, gvr.group
    )
}

/// The resource with the columns, fields and list kind of its definition.
pub(super) fn apply(resource: &ResourceInfo, definition: &Value) -> ResourceInfo {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut versions = versions.filter(|version| version["name"] == *resource.gvr.version);
    let version = versions.next().unwrap_or(&Value::Null);
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    let fields = fields.filter_map(|field| field["jsonPath"].as_str());
    let list_kind = spec["names"]["listKind"].as_str().unwrap_or(&resource.list_kind);
    ResourceInfo {
        list_kind: list_kind.to_owned(),
        selectable_fields: fields.map(|path| path.trim_start_matches('.').to_owned()).collect(),
        printer_columns: version["additionalPrinterColumns"].clone(),
        ..resource.clone()
    }
}
