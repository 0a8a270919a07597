//! One object as the read side handles it: its JSON as it goes out, and what selectors need of it.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use informant_apimachinery::selectable_fields;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ResourceInfo;
use crate::conversion::{convert, selectable_forms};
use crate::excerpt::{WantedParts, excerpt};

/// An object at one resourceVersion. The bytes are shared by every answer that shows it.
#[derive(Clone, Debug)]
pub struct ApiObject {
    content: Content,
    resource_version: u64,
    /// Whether the content has an older resourceVersion.
    is_last_state: bool,
}

/// An object that its source keeps in another form than JSON.
pub trait StoredObject: Send + Sync {
    /// The whole object, `apiVersion` and `kind` included.
    fn json(&self) -> Bytes;

    /// How many bytes that is, without making them.
    fn json_len(&self) -> usize;

    /// Empty for an object of the cluster's own.
    fn namespace(&self) -> &str;

    /// The object's name.
    fn name(&self) -> &str;

    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str>;
}

/// Where the object is.
#[derive(Clone)]
enum Content {
    Text(Text),
    Stored {
        object: Arc<dyn StoredObject>,
        resource: Arc<ResourceInfo>,
        /// Read from the JSON for the first field selector: most lists and watches have none.
        fields: OnceLock<Vec<(String, String)>>,
    },
}

/// An object as JSON, and the values that selectors need.
#[derive(Clone)]
struct Text {
    json: Bytes,
    namespace: String,
    name: String,
    labels: Vec<(String, String)>,
    fields: Vec<(String, String)>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.json.fmt(f),
            Self::Stored { object, .. } => object.json().fmt(f),
        }
    }
}

impl PartialEq for ApiObject {
    fn eq(&self, other: &Self) -> bool {
        self.resource_version == other.resource_version && self.json() == other.json()
    }
}

impl Eq for ApiObject {}

impl ApiObject {
    /// Takes an object that is complete: `apiVersion`, `kind`, `metadata` with name and resourceVersion.
    /// `fields` are the paths, besides name and namespace, that field selectors may ask for. A Kubernetes Event has
    /// those of both of its forms instead.
    pub fn from_value(value: &Value, fields: &[String]) -> Self {
        let metadata = &value["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()));
        let content = Content::Text(Text {
            json: serde_json::to_vec(value).expect("a Value is always JSON").into(),
            namespace: text("namespace"),
            name: text("name"),
            labels: labels.collect(),
            fields: fields_of_forms(value).unwrap_or_else(|| read_fields(value, fields)),
        });
        let resource_version = text("resourceVersion").parse().unwrap_or_default();
        Self { content, resource_version, is_last_state: false }
    }

    /// Takes an object as its source keeps it. Its JSON is made when an answer shows it.
    pub fn from_stored(
        object: Arc<dyn StoredObject>,
        resource_version: u64,
        resource: &Arc<ResourceInfo>,
    ) -> Self {
        let (resource, fields) = (Arc::clone(resource), OnceLock::new());
        let content = Content::Stored { object, resource, fields };
        Self { content, resource_version, is_last_state: false }
    }

    /// The whole object, `apiVersion` and `kind` included.
    pub fn json(&self) -> Bytes {
        let json = self.content_json();
        if self.is_last_state { with_version(json, self.resource_version) } else { json }
    }

    fn content_json(&self) -> Bytes {
        match &self.content {
            Content::Text(text) => text.json.clone(),
            Content::Stored { object, .. } => object.json(),
        }
    }

    /// How many bytes [`Self::json`] has, up to some digits of a resourceVersion.
    pub fn json_len(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.json.len(),
            Content::Stored { object, .. } => object.json_len(),
        }
    }

    /// The object as a tree; costs a parse.
    pub fn to_value(&self) -> Value {
        serde_json::from_slice(&self.json()).unwrap_or_default()
    }

    /// Empty for an object of the cluster's own.
    pub fn namespace(&self) -> &str {
        match &self.content {
            Content::Text(text) => &text.namespace,
            Content::Stored { object, .. } => object.namespace(),
        }
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        match &self.content {
            Content::Text(text) => &text.name,
            Content::Stored { object, .. } => object.name(),
        }
    }

    /// The version of this state of the object.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        match &self.content {
            Content::Text(text) => value_of(&text.labels, key),
            Content::Stored { object, .. } => object.label(key),
        }
    }

    /// The value of a selectable field.
    pub fn field(&self, path: &str) -> Option<&str> {
        match (path, &self.content) {
            ("metadata.name", _) => Some(self.name()),
            ("metadata.namespace", _) => Some(self.namespace()),
            (path, Content::Text(text)) => value_of(&text.fields, path),
            (path, Content::Stored { resource, fields, .. }) => {
                let paths = &resource.selectable_fields;
                let read = || {
                    let parts = excerpt(&self.content_json(), &wanted_fields(paths));
                    read_fields(&parts, paths)
                };
                value_of(fields.get_or_init(read), path)
            }
        }
    }

    /// The object's JSON as the resource's own version shows it: see [`convert`].
    pub fn json_as(&self, resource: &ResourceInfo) -> Bytes {
        let json = self.json();
        if resource.strip_type_meta(&json).is_some() {
            return json;
        }
        serde_json::to_vec(&self.value_as(resource)).expect("a Value is always JSON").into()
    }

    /// The tree of [`Self::json_as`]; costs a parse.
    pub fn value_as(&self, resource: &ResourceInfo) -> Value {
        let mut value = self.to_value();
        convert(&mut value, &resource.gvr.api_version());
        value
    }

    /// Appends the object as an item of a list: without `apiVersion` and `kind` for built-in types, whose
    /// lists leave them out on a real server, with them for custom resources.
    pub fn append_item(&self, items: &mut BytesMut, resource: &ResourceInfo) {
        let json = self.json_as(resource);
        match resource.strip_type_meta(&json) {
            Some(rest) if !resource.custom => {
                items.put_u8(b'{');
                items.put_slice(rest);
            }
            _ => items.put_slice(&json),
        }
    }

    /// The same state under another resourceVersion: how a watch shows an object that left its selectors.
    pub fn with_resource_version(&self, resource_version: u64) -> Self {
        Self { content: self.content.clone(), resource_version, is_last_state: true }
    }
}

/// The same JSON with another resourceVersion, in the same memory where these bytes have no other owner: hundreds of
/// watches may show the last state of an object of a megabyte.
fn with_version(json: Bytes, resource_version: u64) -> Bytes {
    let text = format!("\"{resource_version}\"");
    if let Some(place) = version_place(&json) {
        let mut json = Vec::from(json);
        json.reserve_exact(text.len().saturating_sub(place.len()));
        json.splice(place, text.into_bytes());
        return json.into();
    }
    let mut value: Value = serde_json::from_slice(&json).unwrap_or_default();
    value["metadata"]["resourceVersion"] = resource_version.to_string().into();
    serde_json::to_vec(&value).expect("a Value is always JSON").into()
}

/// The place of the resourceVersion in an object's JSON.
fn version_place(json: &[u8]) -> Option<Range<usize>> {
    #[derive(Deserialize)]
    struct Members<'j> {
        #[serde(borrow)]
        metadata: &'j RawValue,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MetadataMembers<'j> {
        #[serde(borrow)]
        resource_version: &'j RawValue,
    }
    let members: Members<'_> = serde_json::from_slice(json).ok()?;
    let metadata: MetadataMembers<'_> = serde_json::from_str(members.metadata.get()).ok()?;
    let text = metadata.resource_version.get();
    let start = text.as_ptr().addr().checked_sub(json.as_ptr().addr())?;
    Some(start..start + text.len())
}

fn value_of<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

fn read_fields(value: &Value, paths: &[String]) -> Vec<(String, String)> {
    paths.iter().map(|path| (path.clone(), field_text(value, path))).collect()
}

/// The fields of all forms of an object, if it has several.
fn fields_of_forms(value: &Value) -> Option<Vec<(String, String)>> {
    let forms = selectable_forms(value)?.into_iter();
    let fields = forms.flat_map(|(gvr, form)| {
        let paths = selectable_fields(&gvr).iter();
        paths.map(move |path| ((*path).to_owned(), field_text(&form, path)))
    });
    Some(fields.collect())
}

/// The parts of an object that have these fields, and those that a field takes from elsewhere.
fn wanted_fields(paths: &[String]) -> WantedParts {
    let mut wanted = WantedParts::default();
    let elsewhere = ["status.succeeded", "reportingComponent"];
    for path in paths.iter().map(String::as_str).chain(elsewhere) {
        wanted.add(path.split('.'));
    }
    wanted
}

/// The text of a field for selectors: scalars as they are written, everything else empty. Some fields are not just
/// the value at their path (`ToSelectableFields` of each resource in kubernetes `pkg/registry`).
fn field_text(value: &Value, path: &str) -> String {
    let at = |path: &str| path.split('.').fold(value, |at, segment| &at[segment]);
    match path {
        "spec.unschedulable" | "spec.hostNetwork" => scalar(at(path), "false"),
        "status.replicas" => scalar(at(path), "0"),
        "status.successful" => scalar(at("status.succeeded"), "0"),
        "source" => match scalar(at("source.component"), "") {
            none if none.is_empty() => scalar(at("reportingComponent"), ""),
            component => component,
        },
        _ => scalar(at(path), ""),
    }
}

fn scalar(value: &Value, absent: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => absent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;
    use serde_json::json;

    use super::*;

    /// An object that its source packs: each read makes its JSON anew.
    struct Packed(Vec<u8>);

    impl StoredObject for Packed {
        fn json(&self) -> Bytes {
            self.0.clone().into()
        }

        fn json_len(&self) -> usize {
            self.0.len()
        }

        fn namespace(&self) -> &str {
            ""
        }

        fn name(&self) -> &str {
            "a"
        }

        fn label(&self, _: &str) -> Option<&str> {
            None
        }
    }

    /// The object of this JSON under the resourceVersion 1000.
    #[track_caller]
    fn check_last_state(json: &str, expect: &str) {
        let value = serde_json::from_str(json).expect("an object");
        let last = ApiObject::from_value(&value, &[]).with_resource_version(1000);
        assert_eq!(last.json(), expect);
        assert_eq!(last.resource_version(), 1000);
    }

    #[test]
    fn the_last_state_of_an_object_has_another_version_and_is_otherwise_the_same() {
        check_last_state(
            r#"{"spec":{"resourceVersion":"1"},"metadata":{"resourceVersion":"7","name":"a"}}"#,
            r#"{"spec":{"resourceVersion":"1"},"metadata":{"resourceVersion":"1000","name":"a"}}"#,
        );
        check_last_state(
            r#"{"metadata":{"name":"\"metadata\""}}"#,
            r#"{"metadata":{"name":"\"metadata\"","resourceVersion":"1000"}}"#,
        );
    }

    #[test]
    fn the_last_state_of_a_large_object_takes_no_more_memory_than_its_text() {
        let data = (0..50_000).map(|n| (format!("k{n:06}"), "vvvvvvvv".into()));
        let data: serde_json::Map<String, Value> = data.collect();
        let value = json!({"metadata": {"name": "a", "resourceVersion": "7"}, "data": data});
        let packed = Packed(serde_json::to_vec(&value).expect("a Value is always JSON"));
        let length = packed.json_len() as u64;
        let resource = Arc::new(ResourceInfo::of_test("v1/configmaps"));
        let object = ApiObject::from_stored(Arc::new(packed), 7, &resource);
        let peak = measure(|| _ = object.with_resource_version(8).json()).bytes_max;
        assert!(peak < length + 4096, "{peak} bytes for a text of {length}");
    }

    #[track_caller]
    fn check(path: &str, object: Value, expect: &str) {
        let object = ApiObject::from_value(&object, &[path.to_owned()]);
        assert_eq!(object.field(path), Some(expect), "{path}");
    }

    #[test]
    fn fields_have_the_defaults_of_the_api_server() {
        check("spec.unschedulable", json!({}), "false");
        check("spec.hostNetwork", json!({"spec": {"hostNetwork": true}}), "true");
        check("status.successful", json!({"status": {"succeeded": 3}}), "3");
        check("source", json!({"source": {"component": "kubelet"}}), "kubelet");
        check("source", json!({"source": {}, "reportingComponent": "x"}), "x");
        check("status.phase", json!({"status": {}}), "");
    }
}
