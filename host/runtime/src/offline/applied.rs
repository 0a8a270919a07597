//! Writes of a run that change its objects, as an API server's would. Owners and admission have no effect here: a
//! deleted owner keeps its dependents.

use super::outside::{key, status};
use super::script::ScriptedChange;
use super::world::{Changed, OfflineWorld};
use crate::event::Change;
use crate::outside::cluster_writer::{WriteError, WriteRequest};
use informant_apimachinery::GroupVersionResource;
use informant_cache::ObjectKey;
use serde_json::{Value, json};

/// Changes the objects by a write with this answer. `None` if nothing differs.
pub(super) fn apply(
    world: &OfflineWorld,
    request: &WriteRequest,
    answer: &Value,
    now: &str,
) -> Result<Option<(GroupVersionResource, Changed)>, WriteError> {
    let target = &request.target;
    let is_other_request = request.method == "POST" && !target.subresource.is_empty();
    if is_other_request || request.uri.contains("dryRun=All") {
        return Ok(None);
    }
    let mut object = answer.clone();
    let metadata = |of: &Value, field: &str| of["metadata"][field].clone();
    let has_finalizers =
        metadata(&object, "finalizers").as_array().is_some_and(|all| !all.is_empty());
    let name = metadata(&object, "name").as_str().unwrap_or(&target.name).to_owned();
    let there = world.find(&target.resource, &ObjectKey::new(&*target.namespace, &*name));
    let is_deletion = request.method == "DELETE";
    if is_deletion && has_finalizers && metadata(&object, "deletionTimestamp").is_null() {
        object["metadata"]["deletionTimestamp"] = now.into();
        object["metadata"]["resourceVersion"] = "".into();
    }
    let is_ending = is_deletion || !metadata(&object, "deletionTimestamp").is_null();
    let change = match there {
        Some(_) if is_ending && !has_finalizers => Change::Deleted,
        Some(there) if is_same(&there.json(), &object) => return Ok(None),
        Some(_) => Change::Updated,
        None => Change::Added,
    };
    if change == Change::Deleted {
        object = json!({ "metadata": { "namespace": target.namespace, "name": name } });
    }
    let resource = target.resource.clone();
    let object = object.to_string().into_bytes().into();
    let changed = world.change(&ScriptedChange { resource, change, object, old: None });
    let refused = |problem: String| {
        status(422, "Invalid", &format!("{} {}: {problem}", target.resource, key(target)))
    };
    Ok(Some((target.resource.clone(), changed.map_err(refused)?)))
}

/// Whether a write changes no more than the resourceVersion: an API server then makes no new version.
fn is_same(there: &[u8], object: &Value) -> bool {
    let without_version = |mut of: Value| {
        of["metadata"]["resourceVersion"] = Value::Null;
        of
    };
    let there = serde_json::from_slice::<Value>(there).map(without_version);
    there.is_ok_and(|there| there == without_version(object.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::cluster_writer::WriteTarget;

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"FINALIZERS},"spec":{"x":X}}"#;

    fn pod(finalizers: &str, x: u8) -> String {
        POD.replace("FINALIZERS", finalizers).replace('X', &x.to_string())
    }

    /// The change by a write beside a Pod with these finalizers; its answer is the object.
    #[track_caller]
    fn check(method: &'static str, uri: &str, finalizers: &str, answer: &str, expect: &str) {
        let (world, resource) = (OfflineWorld::default(), "v1/pods".parse().expect("a resource"));
        world.put(&resource, pod(finalizers, 1).as_bytes()).expect("it is one");
        let names = ["n", "a", ""].map(str::to_owned);
        let [namespace, name, subresource] = names;
        let request = WriteRequest {
            method,
            uri: uri.to_owned(),
            target: WriteTarget { resource: resource.clone(), namespace, name, subresource },
            content_type: "application/json",
            body: Vec::new(),
            answer_bytes_max: 1 << 20,
            service_account: None,
        };
        let there = world.find(&resource, &key(&request.target)).expect("it is there");
        let mut answer: Value = serde_json::from_str(answer).expect("JSON");
        answer["metadata"]["uid"] = (*there.uid()).into();
        let changed = apply(&world, &request, &answer, "2026-01-01T00:00:00Z");
        let shown = match changed.expect("it is applied").map(|(_, changed)| changed) {
            None => "nothing".to_owned(),
            Some(Changed::Added(new)) => format!("added {}", new.key()),
            Some(Changed::Updated(_, new)) => {
                let new: Value = serde_json::from_slice(&new.json()).expect("JSON");
                format!("updated {} {}", new["spec"]["x"], new["metadata"]["deletionTimestamp"])
            }
            Some(Changed::Deleted(known, _)) => format!("deleted {}", known.key()),
        };
        assert_eq!(shown, expect, "{method} {answer}");
    }

    #[test]
    fn a_write_changes_what_differs_and_ends_what_has_no_finalizers() {
        let held = r#","finalizers":["a/b"]"#;
        let ending = r#","deletionTimestamp":"2026-01-01T00:00:00Z""#;
        check("PUT", "", "", &pod("", 2), "updated 2 null");
        check("PUT", "", "", &pod("", 1), "nothing");
        check("PATCH", "?dryRun=All", "", &pod("", 2), "nothing");
        check("POST", "", "", &pod("", 2).replace(r#""a""#, r#""b""#), "added n/b");
        check("DELETE", "", "", &pod("", 1), "deleted n/a");
        check("DELETE", "", held, &pod(held, 1), r#"updated 1 "2026-01-01T00:00:00Z""#);
        check("PATCH", "", held, &pod(ending, 1), "deleted n/a");
    }
}
