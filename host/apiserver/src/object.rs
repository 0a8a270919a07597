//! One object as the read side handles it: its JSON as it goes out, and what selectors need of it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;

use crate::ResourceInfo;
use crate::excerpt::{WantedParts, excerpt};

/// An object at one resourceVersion. The bytes are shared by every answer that shows it.
#[derive(Clone, Debug)]
pub struct ApiObject {
    content: Content,
    resource_version: u64,
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
    /// `fields` are the paths, besides name and namespace, that field selectors may ask for.
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
            fields: read_fields(value, fields),
        });
        Self { content, resource_version: text("resourceVersion").parse().unwrap_or_default() }
    }

    /// Takes an object as its source keeps it. Its JSON is made when an answer shows it.
    pub fn from_stored(
        object: Arc<dyn StoredObject>,
        resource_version: u64,
        resource: &Arc<ResourceInfo>,
    ) -> Self {
        let (resource, fields) = (Arc::clone(resource), OnceLock::new());
        Self { content: Content::Stored { object, resource, fields }, resource_version }
    }

    /// The whole object, `apiVersion` and `kind` included.
    pub fn json(&self) -> Bytes {
        match &self.content {
            Content::Text(text) => text.json.clone(),
            Content::Stored { object, .. } => object.json(),
        }
    }

    /// How many bytes [`Self::json`] has.
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
                let read = || read_fields(&excerpt(&self.json(), &wanted_fields(paths)), paths);
                value_of(fields.get_or_init(read), path)
            }
        }
    }

    /// The object's JSON as the resource's own version shows it. Versions differ in nothing but the
    /// `apiVersion`, as with a CustomResourceDefinition whose conversion strategy is `None`.
    pub fn json_as(&self, resource: &ResourceInfo) -> Bytes {
        let json = self.json();
        if resource.strip_type_meta(&json).is_some() {
            return json;
        }
        let mut value = self.to_value();
        value["apiVersion"] = resource.gvr.api_version().into();
        serde_json::to_vec(&value).expect("a Value is always JSON").into()
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
        let mut value = self.to_value();
        value["metadata"]["resourceVersion"] = resource_version.to_string().into();
        let known;
        let fields = match &self.content {
            Content::Text(text) => {
                known = text.fields.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
                &known
            }
            Content::Stored { resource, .. } => &resource.selectable_fields,
        };
        Self::from_value(&value, fields)
    }
}

fn value_of<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

fn read_fields(value: &Value, paths: &[String]) -> Vec<(String, String)> {
    paths.iter().map(|path| (path.clone(), field_text(value, path))).collect()
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
    use serde_json::json;

    use super::*;

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
