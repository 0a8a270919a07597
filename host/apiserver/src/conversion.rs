//! An object in another version of its API. The versions of most resources differ in nothing but the `apiVersion`, as
//! with a CustomResourceDefinition whose conversion strategy is `None`.
//!
//! Kubernetes Events have two resources, `v1/events` and `events.k8s.io/v1/events`, and one storage. Some members have
//! another name in each (kubernetes `pkg/apis/events/v1/conversion.go`).

use informant_apimachinery::GroupVersionResource;
use serde_json::Value;

const CORE: &str = "v1";
const EVENTS: &str = "events.k8s.io/v1";

/// The members with two names: that in [`CORE`] and that in [`EVENTS`].
const MEMBERS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an object into its form in this `apiVersion`. Members without another name stay.
pub fn convert(object: &mut Value, api_version: &str) {
    let from = object["apiVersion"].as_str().unwrap_or_default();
    if object["kind"] == "Event" {
        match (from, api_version) {
            (CORE, EVENTS) => rename(object, |(core, events)| (core, events)),
            (EVENTS, CORE) => rename(object, |(core, events)| (events, core)),
            _ => {}
        }
    }
    object["apiVersion"] = api_version.into();
}

/// The resource whose storage has the objects of a resource.
pub fn stored_in(gvr: &GroupVersionResource) -> GroupVersionResource {
    match gvr.api_version() == EVENTS && gvr.resource == "events" {
        true => GroupVersionResource::new("", CORE, "events"),
        false => gvr.clone(),
    }
}

/// Both forms of a Kubernetes Event, each with its resource. None of another object: it has one form for selectors.
pub(crate) fn selectable_forms(object: &Value) -> Option<[(GroupVersionResource, Value); 2]> {
    let is_stored = |form: &str| object["apiVersion"] == form;
    if object["kind"] != "Event" || ![CORE, EVENTS].into_iter().any(is_stored) {
        return None;
    }
    let form = |group: &str| {
        let gvr = GroupVersionResource::new(group, "v1", "events");
        let mut form = object.clone();
        convert(&mut form, &gvr.api_version());
        (gvr, form)
    };
    Some([form(""), form("events.k8s.io")])
}

/// Gives members their other names, in their places. A member that already has the other name is none of the type's,
/// and gives way.
fn rename(object: &mut Value, names: impl Fn((&'static str, &'static str)) -> (&str, &str)) {
    let Some(members) = object.as_object_mut() else { return };
    let names = MEMBERS.map(names);
    for (old, new) in names {
        if members.contains_key(old) {
            members.shift_remove(new);
        }
    }
    let other_name = |key: String| match names.iter().find(|(old, _)| *old == key) {
        Some((_, new)) => (*new).to_owned(),
        None => key,
    };
    let before = std::mem::take(members);
    members.extend(before.into_iter().map(|(key, value)| (other_name(key), value)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An Event with every member of its type, and one that no type has.
    fn core() -> Value {
        json!({
            "kind": "Event", "apiVersion": "v1", "metadata": {"name": "web.1", "namespace": "shop"},
            "involvedObject": {"kind": "Pod", "name": "web"},
            "reason": "LatestTag", "message": "text",
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:01Z",
            "count": 2, "type": "Warning", "eventTime": null,
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"},
            "action": "Look", "related": {"kind": "Node"},
            "reportingComponent": "c", "reportingInstance": "i", "other": [1],
        })
    }

    fn events() -> Value {
        json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1",
            "metadata": {"name": "web.1", "namespace": "shop"},
            "regarding": {"kind": "Pod", "name": "web"},
            "reason": "LatestTag", "note": "text",
            "deprecatedSource": {"component": "c", "host": "h"},
            "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "2026-01-01T00:00:01Z",
            "deprecatedCount": 2, "type": "Warning", "eventTime": null,
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"},
            "action": "Look", "related": {"kind": "Node"},
            "reportingController": "c", "reportingInstance": "i", "other": [1],
        })
    }

    #[track_caller]
    fn check(object: Value, api_version: &str, expect: &Value) {
        let mut converted = object;
        convert(&mut converted, api_version);
        assert_eq!(converted.to_string(), expect.to_string(), "members keep their order");
    }

    #[test]
    fn events_have_two_forms() {
        check(core(), EVENTS, &events());
        check(events(), CORE, &core());
        check(core(), CORE, &core());
        check(events(), EVENTS, &events());
    }

    #[test]
    fn a_member_of_the_other_form_gives_way() {
        let both = json!({"kind": "Event", "apiVersion": "v1", "message": "own", "note": "other"});
        let expect = json!({"kind": "Event", "apiVersion": EVENTS, "note": "own"});
        check(both, EVENTS, &expect);
    }

    #[test]
    fn other_objects_get_the_version_alone() {
        let object = |version: &str| json!({"kind": "Event", "apiVersion": version, "note": "n"});
        check(object("a.org/v1"), "a.org/v2", &object("a.org/v2"));
        let object = |version: &str| json!({"apiVersion": version, "kind": "Tune", "note": "n"});
        check(object(EVENTS), CORE, &object(CORE));
    }

    #[test]
    fn one_storage_has_both_resources_of_events() {
        let stored = |gvr: &str| stored_in(&gvr.parse().expect("a resource")).to_string();
        assert_eq!(stored("events.k8s.io/v1/events"), "v1/events");
        assert_eq!(stored("v1/events"), "v1/events");
        assert_eq!(stored("a.org/v1/events"), "a.org/v1/events");
    }
}
