//! One object as the read side handles it: its JSON as it goes out, and what selectors need of it.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;

use crate::ResourceInfo;

/// An object at one resourceVersion. The bytes are shared by every answer that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiObject {
    json: Bytes,
    namespace: String,
    name: String,
    resource_version: u64,
    labels: Vec<(String, String)>,
    fields: Vec<(String, String)>,
}

impl ApiObject {
    /// Takes an object that is complete: `apiVersion`, `kind`, `metadata` with name and resourceVersion.
    /// `fields` are the paths, besides name and namespace, that field selectors may ask for.
    pub fn from_value(value: &Value, fields: &[String]) -> Self {
        let metadata = &value["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned()));
        let fields = fields.iter().map(|path| (path.clone(), field_text(value, path)));
        Self {
            json: serde_json::to_vec(value).expect("a Value is always JSON").into(),
            namespace: text("namespace"),
            name: text("name"),
            resource_version: text("resourceVersion").parse().unwrap_or_default(),
            labels: labels.collect(),
            fields: fields.collect(),
        }
    }

    /// The whole object, `apiVersion` and `kind` included.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The object as a tree; costs a parse.
    pub fn to_value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// Empty for an object of the cluster's own.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version of this state of the object.
    pub fn resource_version(&self) -> u64 {
        self.resource_version
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// All labels, in the object's order.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a selectable field.
    pub fn field(&self, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(&self.name),
            "metadata.namespace" => Some(&self.namespace),
            path => self.fields.iter().find(|(p, _)| p == path).map(|(_, value)| value.as_str()),
        }
    }

    /// The object's JSON as the resource's own version shows it. Versions differ in nothing but the
    /// `apiVersion`, as with a CustomResourceDefinition whose conversion strategy is `None`.
    pub fn json_as(&self, resource: &ResourceInfo) -> Bytes {
        if resource.strip_type_meta(&self.json).is_some() {
            return self.json.clone();
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
        let json = serde_json::to_vec(&value).expect("a Value is always JSON").into();
        Self { json, resource_version, ..self.clone() }
    }
}

/// The text of a field for selectors: scalars as they are written, everything else empty.
fn field_text(value: &Value, path: &str) -> String {
    let mut at = value;
    for segment in path.split('.') {
        at = &at[segment];
    }
    match at {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}
