//! The objects of a run, by resource, as a cluster would have them. Synchronous.

use super::field_error::{self, without_place};
use super::script::ScriptedChange;
use crate::event::Change;
use bytes::Bytes;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{DecodeError, Object, ObjectKey, Store};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All objects. Clones share them.
#[derive(Clone, Default)]
pub(super) struct OfflineWorld(Arc<Mutex<Objects>>);

#[derive(Default)]
struct Objects {
    stores: BTreeMap<GroupVersionResource, Store>,
    /// The last generated resourceVersion.
    version: u64,
}

/// A change, relative to the state before.
pub(super) enum Changed {
    Added(Object),
    Updated(Object, Object),
    /// The known state, and the last state.
    Deleted(Object, Object),
}

impl OfflineWorld {
    /// The store of a resource, made on first use.
    pub(super) fn store(&self, resource: &GroupVersionResource) -> Store {
        self.0.lock().stores.entry(resource.clone()).or_default().clone()
    }

    /// The present object.
    pub(super) fn find(&self, resource: &GroupVersionResource, key: &ObjectKey) -> Option<Object> {
        self.0.lock().stores.get(resource)?.indexer().get(key)
    }

    /// Adds or replaces an object; an error has the problem.
    pub(super) fn put(&self, resource: &GroupVersionResource, json: &[u8]) -> Result<(), String> {
        let object = self.object(resource, json)?;
        match self.store(resource).put(object.clone()) {
            None => Ok(()),
            Some(_) => Err(format!("{resource} {} is there twice", object.key())),
        }
    }

    /// Applies a change. Fails if it contradicts the present objects.
    pub(super) fn change(&self, change: &ScriptedChange) -> Result<Changed, String> {
        let ScriptedChange { resource, change, object, old } = change;
        let store = self.store(resource);
        if let (Change::Deleted, Some(known)) = (change, self.named(resource, object)) {
            store.remove(known.key());
            let last = self.again(resource, &known)?;
            return Ok(Changed::Deleted(known, last));
        }
        let object = self.object(resource, object)?;
        if let Some(old) = old {
            store.put(self.object(resource, old)?);
        }
        let known = store.indexer().get(object.key());
        let key = object.key();
        match (change, known) {
            (Change::Added, None) => {
                store.put(object.clone());
                Ok(Changed::Added(object))
            }
            (Change::Added, Some(_)) => {
                Err(format!("{resource} {key} is there already: say that it is updated"))
            }
            (Change::Updated, Some(old)) => {
                store.put(object.clone());
                Ok(Changed::Updated(old, object))
            }
            (Change::Deleted, Some(known)) => {
                store.remove(key);
                Ok(Changed::Deleted(known, object))
            }
            (Change::Updated | Change::Deleted, None) => Err(format!(
                "{resource} {key} is not there: say what it was before in `old`, or among the objects"
            )),
        }
    }

    /// The present object, if the JSON has only its name.
    fn named(&self, resource: &GroupVersionResource, json: &[u8]) -> Option<Object> {
        let object: Map<String, Value> = serde_json::from_slice(json).ok()?;
        let of_any = ["apiVersion", "kind", "metadata"];
        if object.keys().any(|key| !of_any.contains(&key.as_str())) {
            return None;
        }
        let metadata = object.get("metadata")?.as_object()?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        self.find(resource, &ObjectKey::new(text("namespace"), text("name")))
    }

    /// The object in a newer version: an API server reports a deletion so.
    fn again(&self, resource: &GroupVersionResource, object: &Object) -> Result<Object, String> {
        let mut value: Value = serde_json::from_slice(&object.json()).unwrap_or_default();
        value["metadata"]["resourceVersion"] = "".into();
        self.object(resource, value.to_string().as_bytes())
    }

    /// The object with the missing fields that an API server would set.
    fn object(&self, resource: &GroupVersionResource, json: &[u8]) -> Result<Object, String> {
        let completed = self.completed(resource, json)?;
        Object::decode_without_last_applied(&completed, None).map_err(|error| match error {
            DecodeError::NoType { field, .. } => format!("it has no {field}"),
            error => without_place(&error),
        })
    }

    fn completed(&self, resource: &GroupVersionResource, json: &[u8]) -> Result<Bytes, String> {
        let unreadable = |error| format!("it is no object: {}", without_place(&error));
        let mut value: Map<String, Value> = serde_json::from_slice(json).map_err(unreadable)?;
        let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
        let metadata = metadata.ok_or("it has no metadata")?;
        let _: Metadata =
            field_error::read("metadata", &Value::Object(metadata.clone())).map_err(with_remedy)?;
        let is_missing = |it: &Map<String, Value>, key: &str| it.get(key).is_none_or(|it| it == "");
        if !is_missing(metadata, "uid") && !is_missing(metadata, "resourceVersion") {
            return Ok(Bytes::copy_from_slice(json));
        }
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        let uid = uid(resource, text("namespace"), text("name"));
        if is_missing(metadata, "uid") {
            metadata.insert("uid".to_owned(), uid.into());
        }
        if is_missing(metadata, "resourceVersion") {
            metadata.insert("resourceVersion".to_owned(), self.next_version().into());
        }
        serde_json::to_vec(&value).map(Bytes::from).map_err(unreadable)
    }

    /// A resourceVersion above all earlier ones.
    pub(super) fn next_version(&self) -> String {
        let mut objects = self.0.lock();
        objects.version += 1;
        objects.version.to_string()
    }
}

/// A YAML file has a boolean where its author wrote the word `off` or `no`, and a number for `1.0`.
fn with_remedy(problem: String) -> String {
    let is_bare = ["boolean", "integer", "floating point"]
        .iter()
        .any(|of| problem.contains(&format!("invalid type: {of} ")));
    match is_bare && problem.ends_with("expected a string") {
        true => format!("{problem}: quote it"),
        false => problem,
    }
}

/// Fields that plugins rely on; an API server refuses another type of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only whether it can be read is of interest")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, Option<String>>>,
    annotations: Option<BTreeMap<String, Option<String>>>,
    finalizers: Option<Vec<String>>,
}

/// A UID in an API server's form, the same for the same object.
pub(super) fn uid(resource: &GroupVersionResource, namespace: &str, name: &str) -> String {
    let hash = Sha256::digest(format!("{resource} {namespace}/{name}"));
    let text: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of each step, relative to the state before: `+a` adds, `~a` updates, `-a` deletes, and `~a/`
    /// includes the state before.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (world, resource) = (OfflineWorld::default(), "v1/pods".parse().expect("a resource"));
        let pod = |name: &str, content: &str| {
            let json = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}{content}}}"#
            );
            Bytes::from(json)
        };
        let of = |object: Object| object.resource_version().to_owned();
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let (sign, rest) = step.split_at(1);
            let (name, old) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
            let (change, content) = match sign {
                "+" => (Change::Added, r#","spec":{}"#),
                "~" => (Change::Updated, r#","spec":{"x":1}"#),
                _ => (Change::Deleted, ""),
            };
            let old = old.then(|| pod(name, ""));
            let change = ScriptedChange {
                resource: GroupVersionResource::clone(&resource),
                change,
                object: pod(name, content),
                old,
            };
            shown.push(match world.change(&change) {
                Ok(Changed::Added(object)) => format!("+{}", of(object)),
                Ok(Changed::Updated(old, new)) => format!("{}~{}", of(old), of(new)),
                Ok(Changed::Deleted(known, last)) => format!("{}-{}", of(known), of(last)),
                Err(problem) => problem.split(": ").next().unwrap_or_default().to_owned(),
            });
        }
        assert_eq!(shown.join("; "), expect, "{steps}");
    }

    #[test]
    fn changes_are_told_by_what_was_there() {
        check("+a ~a -a", "+1; 1~2; 2-3");
        check("+a -a +a", "+1; 1-2; +3");
        check("+a +a", "+1; v1/pods a is there already");
        check("~a -a ~a/", "v1/pods a is not there; v1/pods a is not there; 4~3");
    }

    #[test]
    fn what_an_object_lacks_it_gets_and_the_same_each_time() {
        let resource = "v1/pods".parse().expect("a resource");
        let of = |json: &str| {
            OfflineWorld::default()
                .object(&resource, json.as_bytes())
                .map(|it| (it.uid().to_string(), it.resource_version().to_owned()))
        };
        let bare = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b"}}"#;
        let (uid, version) = of(bare).expect("it is one");
        assert_eq!((uid.len(), version.as_str()), (36, "1"));
        assert_eq!(of(bare).expect("it is one").0, uid);
        let own = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"9"}}"#;
        assert_eq!(of(own).expect("it is one"), ("u".to_owned(), "9".to_owned()));
    }

    #[test]
    fn what_can_be_no_object_is_told_with_its_field() {
        let resource = "v1/pods".parse().expect("a resource");
        let check = |json: &str, expect: &str| {
            let problem = OfflineWorld::default().object(&resource, json.as_bytes()).err();
            assert_eq!(problem.as_deref(), Some(expect), "{json}");
        };
        check("[]", "it is no object: invalid type: sequence, expected a map");
        check("{", "it is no object: EOF while parsing an object");
        check("{}", "it has no metadata");
        check(r#"{"metadata":{}}"#, "object has no metadata.name");
        check(r#"{"metadata":{"name":"a"}}"#, "it has no apiVersion");
        let pod = |more: &str| {
            format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a",{more}}}}}"#)
        };
        let (text, bare) = ("expected a string", "expected a string: quote it");
        for (more, expect) in [
            (
                r#""labels":{"of/version":1}"#,
                "metadata.labels.of/version: invalid type: integer `1`",
            ),
            (r#""annotations":{"a":true}"#, "metadata.annotations.a: invalid type: boolean `true`"),
            (r#""namespace":1.5"#, "metadata.namespace: invalid type: floating point `1.5`"),
            (r#""finalizers":[{}]"#, "metadata.finalizers[0]: invalid type: map"),
        ] {
            let expected = if expect.ends_with("map") { text } else { bare };
            check(&pod(more), &format!("{expect}, {expected}"));
        }
    }
}
