//! The part of a resource that only its CustomResourceDefinition has: columns, fields, the kind of lists.

use informant_apiserver::ResourceInfo;
use serde_json::Value;

/// Bytes of a definition's columns, as JSON. Columns beyond them are left out: they are kept as long as the resource.
const COLUMNS_BYTES_MAX: usize = 256 << 10;

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
        printer_columns: columns(&version["additionalPrinterColumns"]),
        ..resource.clone()
    }
}

/// The first columns of a definition, as far as they are kept.
fn columns(columns: &Value) -> Value {
    let Some(columns) = columns.as_array() else { return Value::Null };
    let mut bytes = 0;
    let kept = columns.iter().take_while(|column| {
        bytes += column.to_string().len();
        bytes <= COLUMNS_BYTES_MAX
    });
    kept.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_kept_up_to_their_bound() {
        let column = |bytes: usize| json!({"name": "x".repeat(bytes)});
        let of = |bytes: usize| columns(&Value::from(vec![column(bytes); 3]));
        assert_eq!(of(1), json!([column(1), column(1), column(1)]));
        assert_eq!(
            of(COLUMNS_BYTES_MAX / 2 - 20),
            Value::from(vec![column(COLUMNS_BYTES_MAX / 2 - 20); 2])
        );
        assert_eq!(of(COLUMNS_BYTES_MAX), json!([]));
        assert_eq!(columns(&Value::Null), Value::Null);
    }
}
