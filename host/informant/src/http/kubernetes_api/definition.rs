//! The part of a resource that only its CustomResourceDefinition has: columns, fields, the kind of lists.

use super::discovery::NAME_BYTES_MAX;
use crate::bounded_answers::has_few_entries;
use informant_apiserver::ResourceInfo;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of a definition's columns. A resource with more has the columns of every resource. Columns are kept as long as
/// the resource.
const COLUMNS_BYTES_MAX: usize = 64 << 10;
/// The same for its fields. The API server takes eight fields.
const FIELDS_BYTES_MAX: usize = 16 << 10;

/// A definition without its schemas, of which few parts are read as trees.
#[derive(Deserialize)]
struct Definition<'a> {
    #[serde(borrow)]
    spec: DefinitionSpec<'a>,
}

#[derive(Deserialize)]
struct DefinitionSpec<'a> {
    #[serde(default)]
    names: DefinitionNames,
    #[serde(borrow, default)]
    versions: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionNames {
    list_kind: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionVersion<'a> {
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    selectable_fields: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_printer_columns: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectableField {
    json_path: String,
}

/// The path of the definition.
pub(super) fn path(resource: &ResourceInfo) -> String {
    let gvr = &resource.gvr;
    format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}",
        gvr.resource, gvr.group
    )
}

/// The resource with the columns, fields and list kind of its definition. None: the document is no definition.
pub(super) fn apply(resource: &ResourceInfo, document: &str) -> Option<ResourceInfo> {
    if !has_few_entries(document) {
        return None;
    }
    let spec = serde_json::from_str::<Definition<'_>>(document).ok()?.spec;
    let mut versions = spec
        .versions
        .iter()
        .filter_map(|version| serde_json::from_str::<DefinitionVersion<'_>>(version.get()).ok());
    let version = versions.find(|version| version.name == resource.gvr.version).unwrap_or_default();
    let fields = part::<Vec<SelectableField>>(version.selectable_fields, FIELDS_BYTES_MAX);
    let fields = fields.unwrap_or_default().into_iter().map(|field| field.json_path);
    let columns = part::<Vec<Value>>(version.additional_printer_columns, COLUMNS_BYTES_MAX);
    let list_kind = spec.names.list_kind.filter(|kind| kind.len() <= NAME_BYTES_MAX);
    Some(ResourceInfo {
        list_kind: list_kind.unwrap_or_else(|| resource.list_kind.clone()),
        selectable_fields: fields.map(|path| path.trim_start_matches('.').to_owned()).collect(),
        printer_columns: columns.map_or(Value::Null, Value::from),
        ..resource.clone()
    })
}

/// A part of a definition, if it is there and not too large.
fn part<'a, T: Deserialize<'a>>(part: Option<&'a RawValue>, bytes_max: usize) -> Option<T> {
    let text = part?.get();
    (text.len() <= bytes_max).then(|| serde_json::from_str(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apimachinery::GroupVersionResource;
    use serde_json::json;

    fn resource() -> ResourceInfo {
        let gvr = GroupVersionResource::new("example.com", "v1", "things");
        ResourceInfo::of_kind(gvr, "Thing")
    }

    /// The list kind, the fields, and the bytes of the columns.
    #[track_caller]
    fn check(spec: &Value, expect: (&str, &[&str], usize)) {
        let found = apply(&resource(), &json!({ "spec": spec }).to_string()).expect("it is one");
        let columns = match &found.printer_columns {
            Value::Null => 0,
            columns => columns.to_string().len(),
        };
        let fields: Vec<_> = found.selectable_fields.iter().map(String::as_str).collect();
        assert_eq!((&*found.list_kind, &*fields, columns), expect);
    }

    #[test]
    fn the_version_of_the_resource_has_columns_and_fields() {
        let version = |name: &str, path: &str| {
            json!({"name": name, "schema": {"openAPIV3Schema": {}},
                "selectableFields": [{"jsonPath": path}], "additionalPrinterColumns": [1]})
        };
        let versions = json!([version("v2", ".spec.a"), version("v1", ".spec.b")]);
        check(
            &json!({"names": {"listKind": "Things"}, "versions": versions}),
            ("Things", &["spec.b"], 3),
        );
        check(&json!({"versions": [version("v2", ".spec.a")]}), ("ThingList", &[], 0));
        assert!(apply(&resource(), "{}").is_none());
    }

    #[test]
    fn columns_fields_and_names_of_a_definition_are_bounded() {
        let of = |columns: usize, fields: usize, name: usize| {
            // Quotes and brackets are four bytes.
            let columns = json!(["x".repeat(columns - 4)]);
            // Around the path stand 17 bytes.
            let fields = json!([{"jsonPath": "y".repeat(fields - 17)}]);
            json!({"names": {"listKind": "z".repeat(name)}, "versions": [{
                "name": "v1", "additionalPrinterColumns": columns, "selectableFields": fields}]})
        };
        let (field, kind) = ("y".repeat(FIELDS_BYTES_MAX - 17), "z".repeat(NAME_BYTES_MAX));
        check(
            &of(COLUMNS_BYTES_MAX, FIELDS_BYTES_MAX, NAME_BYTES_MAX),
            (&kind, &[&field], COLUMNS_BYTES_MAX),
        );
        check(
            &of(COLUMNS_BYTES_MAX + 1, FIELDS_BYTES_MAX + 1, NAME_BYTES_MAX + 1),
            ("ThingList", &[], 0),
        );
    }
}
