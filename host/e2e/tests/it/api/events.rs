//! Kubernetes Events: `v1/events` and `events.k8s.io/v1/events` show the same objects, each in its form.

use serde_json::{Value, json};

use crate::bench::{Bench, event, fact, names};
use informant_e2e::api::{Patch, Watch};

/// An Event about the pod `web`, as newer clients write it.
fn newer_event(bench: &Bench, name: &str) -> Value {
    event(name, &bench.namespace, &pod(bench))
}

/// An Event about the pod `web`, as older clients write it.
fn core_event(bench: &Bench, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": bench.namespace},
        "type": "Normal",
        "reason": "Pulled",
        "message": "it is there",
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:04:06Z",
        "count": 2,
        "involvedObject": pod(bench),
    })
}

fn pod(bench: &Bench) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": bench.namespace})
}

/// The collections of `v1` and of `events.k8s.io/v1`.
fn collections(bench: &Bench) -> (String, String) {
    (bench.core("events"), format!("/apis/events.k8s.io/v1/namespaces/{}/events", bench.namespace))
}

async fn watch(bench: &Bench, collection: &str, query: &str) -> Watch {
    let watch = bench.api.watch(&format!("{collection}?watch=true{query}")).await;
    watch.unwrap_or_else(|reply| panic!("{collection}: {reply:?}"))
}

#[track_caller]
fn check_members(object: &Value, expect: &[(&str, Value)]) {
    for (pointer, value) in expect {
        assert_eq!(object.pointer(pointer), Some(value), "{pointer}: {object:#}");
    }
}

#[test]
fn each_resource_shows_the_others_events_in_its_form() {
    fact(async |bench| {
        let (core, events) = collections(bench);
        let newer = bench.create(&events, &newer_event(bench, "newer")).await;
        let older = bench.create(&core, &core_event(bench, "older")).await;

        let shown = bench.api.get(&format!("{core}/newer")).await.expect(200);
        assert_eq!(shown["metadata"]["uid"], newer["metadata"]["uid"]);
        assert_eq!(shown["metadata"]["resourceVersion"], newer["metadata"]["resourceVersion"]);
        check_members(
            &shown,
            &[
                ("/apiVersion", "v1".into()),
                ("/message", "name a version".into()),
                ("/involvedObject", pod(bench)),
                ("/reportingComponent", "informant.dev/latest".into()),
                ("/eventTime", newer["eventTime"].clone()),
                ("/action", "Look".into()),
            ],
        );
        assert!(shown.get("note").is_none() && shown.get("regarding").is_none(), "{shown:#}");

        let shown = bench.api.get(&format!("{events}/older")).await.expect(200);
        assert_eq!(shown["metadata"]["uid"], older["metadata"]["uid"]);
        check_members(
            &shown,
            &[
                ("/apiVersion", "events.k8s.io/v1".into()),
                ("/note", "it is there".into()),
                ("/regarding", pod(bench)),
                ("/deprecatedSource", json!({"component": "kubelet", "host": "n1"})),
                ("/deprecatedFirstTimestamp", "2026-01-02T03:04:05Z".into()),
                ("/deprecatedLastTimestamp", "2026-01-02T03:04:06Z".into()),
                ("/deprecatedCount", 2.into()),
            ],
        );
        for collection in [&core, &events] {
            let list = bench.api.get(collection).await.expect(200);
            assert_eq!(names(&list), ["newer", "older"], "{collection}");
        }
        bench.api.create(&core, &core_event(bench, "newer")).await.expect(409);
    });
}

#[test]
fn each_resource_selects_by_its_own_fields() {
    fact(async |bench| {
        let (core, events) = collections(bench);
        bench.create(&events, &newer_event(bench, "newer")).await;
        bench.create(&core, &core_event(bench, "older")).await;
        let count = json!({"count": 3});
        bench.api.patch(&format!("{core}/newer"), Patch::Merge, &count).await.expect(200);
        let check = async |collection: &str, selector: &str, expect: &[&str]| {
            let path = format!("{collection}?fieldSelector={selector}");
            assert_eq!(names(&bench.api.get(&path).await.expect(200)), expect, "{path}");
        };
        check(&core, "involvedObject.name%3Dweb", &["newer", "older"]).await;
        check(&core, "involvedObject.name%3Ddb", &[]).await;
        check(&core, "source%3Dkubelet", &["older"]).await;
        check(&core, "source%3Dinformant.dev/latest", &["newer"]).await;
        check(&core, "reportingComponent%3Dinformant.dev/latest", &["newer"]).await;
        check(&events, "regarding.name%3Dweb,regarding.kind%3DPod", &["newer", "older"]).await;
        check(&events, "reportingController%3Dinformant.dev/latest", &["newer"]).await;
        check(&events, "reason%3DPulled,type%3DNormal", &["older"]).await;
    });
}

#[test]
fn a_watch_of_one_resource_sees_changes_through_the_other() {
    fact(async |bench| {
        let (core, events) = collections(bench);
        let mut by_core = watch(bench, &core, "&fieldSelector=involvedObject.name%3Dweb").await;
        let mut by_events = watch(bench, &events, "").await;
        let created = bench.create(&events, &newer_event(bench, "a")).await;
        let series = json!({"count": 5, "lastObservedTime": "2026-01-02T03:05:00.000000Z"});
        let patch = json!({"series": series});
        bench.api.patch(&format!("{events}/a"), Patch::Merge, &patch).await.expect(200);
        let patch = json!({"count": 7});
        let path = format!("{core}/a");
        let patched = bench.api.patch(&path, Patch::Strategic, &patch).await.expect(200);
        check_members(&patched, &[("/count", 7.into()), ("/message", "name a version".into())]);
        bench.api.delete(&path).await.expect(200);

        let added = by_core.event().await;
        assert_eq!(
            (added.kind.as_str(), added.object["message"].as_str()),
            ("ADDED", created["note"].as_str())
        );
        assert_eq!(by_core.event().await.object["series"], series);
        let modified = by_core.event().await;
        assert_eq!((modified.kind.as_str(), &modified.object), ("MODIFIED", &patched));
        assert_eq!(by_core.event().await.kind, "DELETED");

        let seen = by_events.event().await;
        assert_eq!((seen.kind.as_str(), &seen.object), ("ADDED", &created));
        by_events.event().await;
        let modified = by_events.event().await;
        assert_eq!(modified.object["deprecatedCount"], 7);
        assert_eq!(
            modified.object["metadata"]["resourceVersion"],
            patched["metadata"]["resourceVersion"]
        );
        let deleted = by_events.event().await;
        assert_eq!((deleted.kind.as_str(), &deleted.object["note"]), ("DELETED", &created["note"]));
    });
}
