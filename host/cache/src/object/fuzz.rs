//! Fuzz targets: objects as servers send them, against serde_json's tree as the oracle.

use super::decode::tests::readers_agree;
use super::{LastApplied, Object, OwnerReference, TypeMeta, bookmark};
use informant_apimachinery::watch::INITIAL_EVENTS_END;
use informant_fuzz::Target;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Words of every object.
const WORDS: &[&str] = &[
    "\"metadata\":{\"name\":\"a\"}",
    "\"managedFields\":[{}],",
    ",\"managedFields\":[]",
    "\"annotations\":{}",
    "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"",
    "\"k8s.io/initial-events-end\":\"true\"",
    "\"labels\":{\"a\":\"b\"}",
    "\"ownerReferences\":[{\"kind\":\"Node\",\"controller\":true}]",
    "\"apiVersion\":\"v1\"",
    "\"kind\":\"Pod\"",
    "\"resourceVersion\":\"7\"",
    "\"generation\":1",
    "\"name\"",
    "\"namespace\"",
    "\"uid\":",
    "\\u006d",
];

/// What one reading of the tree finds, by the rules that [`Object::decode`] states.
struct Expected {
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
    generation: Option<i64>,
    labels: BTreeMap<String, String>,
    /// As JSON.
    owners: String,
    initial_events_end: bool,
    /// Without what is cut.
    tree: Value,
}

/// A string; null and nothing are the empty one.
fn text(of: &Map<String, Value>, key: &str) -> Option<String> {
    match of.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => None,
    }
}

/// An object; null and nothing are the empty one.
fn map(of: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    match of.get(key) {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(map)) => Some(map.clone()),
        Some(_) => None,
    }
}

/// None where a part of the metadata has another type than Kubernetes gives it.
fn expect(tree: &Value, last_applied: LastApplied) -> Option<Expected> {
    let mut tree = tree.as_object()?.clone();
    let mut metadata = match tree.get("metadata") {
        None => Map::new(),
        Some(metadata) => metadata.as_object()?.clone(),
    };
    let labels = map(&metadata, "labels")?;
    let labels =
        labels.keys().map(|key| Some((key.clone(), text(&labels, key)?))).collect::<Option<_>>()?;
    let mut annotations = map(&metadata, "annotations")?;
    let initial_events_end = text(&annotations, INITIAL_EVENTS_END)? == "true";
    if last_applied == LastApplied::Cut {
        annotations.shift_remove(LAST_APPLIED);
    }
    let owners = metadata.get("ownerReferences").unwrap_or(&Value::Null).to_string();
    serde_json::from_str::<Option<Vec<OwnerReference<'_>>>>(&owners).ok()?;
    let generation = metadata.get("generation").unwrap_or(&Value::Null);
    let expected = Expected {
        namespace: text(&metadata, "namespace")?,
        name: text(&metadata, "name")?,
        uid: text(&metadata, "uid")?,
        resource_version: text(&metadata, "resourceVersion")?,
        generation: serde_json::from_value(generation.clone()).ok()?,
        labels,
        owners,
        initial_events_end,
        tree: Value::Null,
    };
    metadata.shift_remove("managedFields");
    if metadata.get("annotations").is_some_and(Value::is_object) {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
    if tree.contains_key("metadata") {
        tree.insert("metadata".to_owned(), metadata.into());
    }
    Some(Expected { tree: tree.into(), ..expected })
}

/// Where the tree cannot be built although the JSON is well formed: what is skipped is neither descended
/// into nor turned into a value.
pub(crate) fn is_beyond_a_tree(error: &serde_json::Error) -> bool {
    let error = error.to_string();
    ["recursion limit", "number out of range", "surrogate", "hex escape"]
        .iter()
        .any(|reason| error.contains(reason))
}

/// Each entry has one colon, and a key that stands twice has one entry in the tree.
pub(crate) fn has_repeated_keys(json: &[u8], tree: &Value) -> bool {
    fn entries(tree: &Value) -> usize {
        match tree {
            Value::Object(map) => map.len() + map.values().map(entries).sum::<usize>(),
            Value::Array(items) => items.iter().map(entries).sum(),
            _ => 0,
        }
    }
    let (mut colons, mut quoted, mut at) = (0, false, 0);
    while at < json.len() {
        match json[at] {
            b'\\' => at += 1,
            b'"' => quoted = !quoted,
            b':' if !quoted => colons += 1,
            _ => {}
        }
        at += 1;
    }
    colons != entries(tree)
}

/// `apiVersion` or `kind`, the list's word where the object has none.
fn type_word(tree: &Value, key: &str, from_list: Option<&str>) -> Option<String> {
    match tree.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        None | Some(Value::Null | Value::String(_)) => from_list.map(str::to_owned),
        Some(_) => None,
    }
}

fn check(json: &[u8], type_meta: Option<&TypeMeta>, last_applied: LastApplied) {
    readers_agree(json);
    let found = Object::read(json, type_meta, last_applied);
    let tree = match serde_json::from_slice::<Value>(json) {
        Ok(tree) => tree,
        Err(error) => {
            assert!(found.is_err() || is_beyond_a_tree(&error), "read, but {error}");
            return;
        }
    };
    let api_version = type_meta.map(|meta| meta.api_version.as_str());
    let api_version = type_word(&tree, "apiVersion", api_version);
    let kind = type_word(&tree, "kind", type_meta.map(|meta| meta.kind.as_str()));
    let expected = expect(&tree, last_applied).filter(|expected| !expected.name.is_empty());
    let (Some(mut expected), Some(api_version), Some(kind)) = (expected, api_version, kind) else {
        return assert!(found.is_err(), "it should not be read");
    };
    let object = match found {
        Ok(object) => object,
        // An entry that counts no more is looked at all the same.
        Err(_) if has_repeated_keys(json, &tree) => return,
        Err(error) => panic!("it should be read: {error}"),
    };
    expected.tree["apiVersion"] = api_version.into();
    expected.tree["kind"] = kind.into();
    agree(&object, &expected);
    // What is kept is read as the same object again.
    let again = Object::read(&object.json(), None, last_applied);
    let again = again.expect("what is kept is an object");
    assert_eq!(again.json(), object.json(), "what is kept stays");
    agree(&again, &expected);
}

fn agree(object: &Object, expected: &Expected) {
    let key = match expected.namespace.as_str() {
        "" => expected.name.clone(),
        namespace => format!("{namespace}/{}", expected.name),
    };
    assert_eq!(object.key().to_string(), key);
    assert_eq!(*object.uid(), *expected.uid);
    assert_eq!(object.resource_version(), expected.resource_version);
    assert_eq!(object.generation(), expected.generation.filter(|number| *number != 0));
    let labels: Vec<(String, String)> =
        object.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    assert_eq!(labels.len(), expected.labels.len(), "each label once");
    assert_eq!(BTreeMap::from_iter(labels), expected.labels);
    let owners: Option<Vec<OwnerReference<'_>>> =
        serde_json::from_str(&expected.owners).expect("they were read before");
    assert!(object.owner_references().eq(owners.unwrap_or_default()));
    let json = object.json();
    assert_eq!(json.len(), object.json_len());
    assert_eq!(serde_json::from_slice::<Value>(&json).expect("JSON"), expected.tree);
    assert!(json.starts_with(b"{\"apiVersion\":"), "the type comes first");
}

#[test]
fn object_decode() {
    let list = TypeMeta { api_version: "apps/v1".to_owned(), kind: "Deployment".to_owned() };
    Target::new(env!("CARGO_MANIFEST_DIR"), "object_decode").words(WORDS).run(|input| {
        for last_applied in [LastApplied::Kept, LastApplied::Cut] {
            check(input, None, last_applied);
            check(input, Some(&list), last_applied);
        }
    });
}

#[test]
fn bookmark_decode() {
    Target::new(env!("CARGO_MANIFEST_DIR"), "bookmark_decode").words(WORDS).run(|input| {
        let found = bookmark(input);
        let tree = serde_json::from_slice::<Value>(input);
        match (found, tree) {
            (Ok(found), Ok(tree)) => {
                let expected = expect(&tree, LastApplied::Cut).expect("it should not be read");
                let expected = (expected.resource_version.into(), expected.initial_events_end);
                assert_eq!(found, expected);
            }
            (Ok(_), Err(error)) => assert!(is_beyond_a_tree(&error), "read, but {error}"),
            (Err(error), Ok(tree)) => {
                let skipped =
                    expect(&tree, LastApplied::Cut).is_none() || has_repeated_keys(input, &tree);
                assert!(skipped, "it should be read: {error}");
            }
            (Err(_), Err(_)) => {}
        }
    });
}
