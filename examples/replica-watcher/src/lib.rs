//! Tells how many of each ReplicaSet's pods are ready. Shows a controller: rules that make keys of events, and
//! [`Reconciler::reconcile`], which works on them; and a [`Schedule`].

use informant_plugin::prelude::*;
use informant_plugin::{EnqueueRule, Every, Index, Reconciler, Schedule, Timer, metrics};
use serde::Deserialize;
use std::time::Duration;

const REPLICA_SETS: &str = "apps/v1/replicasets";
const PODS: &str = "v1/pods";
/// The index of pods by the UID of what owns them.
const BY_OWNER: &str = "owner";
/// While pods are missing somebody might want to hear of it again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The plugin. It remembers nothing.
pub struct ReplicaWatcher;

#[derive(Deserialize)]
struct ReplicaSet {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: String,
    name: String,
    uid: String,
}

#[derive(Deserialize)]
struct Spec {
    /// One, where it is left out.
    replicas: Option<u32>,
}

#[derive(Deserialize)]
struct Pod {
    status: Option<PodStatus>,
}

#[derive(Deserialize)]
struct PodStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

impl Plugin for ReplicaWatcher {
    fn describe(_: &Config) -> Result<Descriptor> {
        let sets = Subscription::to(REPLICA_SETS)
            .only_if_changed("/spec/replicas")
            .enqueue(EnqueueRule::itself());
        let pods = Subscription::to(PODS)
            .only_if_changed("/status/conditions")
            .only_if_changed("/metadata/ownerReferences")
            .enqueue(EnqueueRule::owner("apps/v1/ReplicaSet"));
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION"))
            .subscribe(sets)
            .subscribe(pods)
            .schedule(Schedule::new("summary", Every::Cron("*/10 * * * *".to_owned())))
            .index(Index::new(PODS, BY_OWNER, "/metadata/ownerReferences/*/uid")))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}

impl Reconciler for ReplicaWatcher {
    fn reconcile(&mut self, key: &str, _: u32) -> Result<Option<Duration>> {
        let (namespace, name) = key.split_once('/').ok_or("a ReplicaSet has a namespace")?;
        let Some(set) = indexer::get::<ReplicaSet>(REPLICA_SETS, &ObjectKey::new(namespace, name))?
        else {
            info!("{key} is gone");
            return Ok(None);
        };
        let ready = measure(key, &set)?;
        let wanted = set.spec.replicas.unwrap_or(1);
        info!("{key}: {ready} of {wanted} pods are ready");
        Ok((ready < wanted).then_some(LOOK_AGAIN))
    }
}

impl Timer for ReplicaWatcher {
    fn fire(&mut self, _: &str, _: u64) -> Result {
        info!("there are {} ReplicaSets", indexer::count(REPLICA_SETS, None)?);
        // The host drops a series that nobody sets for an hour.
        for set in indexer::list::<ReplicaSet>(REPLICA_SETS) {
            let set = set?;
            measure(&format!("{}/{}", set.metadata.namespace, set.metadata.name), &set)?;
        }
        Ok(())
    }
}

export_plugin!(ReplicaWatcher, reconciler, timer);

/// Counts the ReplicaSet's ready pods, and sets its gauge.
fn measure(key: &str, set: &ReplicaSet) -> Result<u32> {
    let mut ready = 0;
    for pod in indexer::by_index::<Pod>(PODS, BY_OWNER, &set.metadata.uid) {
        ready += u32::from(is_ready(&pod?));
    }
    metrics::gauge_set("replicaset_ready_pods", &[("replicaset", key)], ready.into())?;
    Ok(ready)
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.r#type == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::Host;
    use serde_json::json;

    /// What it tells of the ReplicaSet `default/web` with two replicas and these pods, and when it wants to look again.
    #[track_caller]
    fn check(key: &str, pods: &[(&str, &str)], expect: &str, again: Option<Duration>) {
        let host = Host::new();
        let metadata = json!({"namespace": "default", "name": "web", "uid": "1"});
        host.put(REPLICA_SETS, json!({"metadata": metadata, "spec": {"replicas": 2}}));
        for (number, (owner, ready)) in pods.iter().enumerate() {
            let owners = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": owner}]);
            let name = format!("web-{number}");
            let metadata = json!({"namespace": "default", "name": name, "ownerReferences": owners});
            let conditions = json!([{"type": "Ready", "status": ready}]);
            host.put(PODS, json!({"metadata": metadata, "status": {"conditions": conditions}}));
        }
        let mut watcher = host.start::<ReplicaWatcher>(json!({})).expect("it starts");
        assert_eq!(watcher.reconcile(key, 1), Ok(again));
        assert_eq!(host.messages(), [expect]);
    }

    #[test]
    fn pods_that_are_ready_are_counted() {
        let pods = [("1", "True"), ("2", "True"), ("1", "False")];
        check("default/web", &pods, "default/web: 1 of 2 pods are ready", Some(LOOK_AGAIN));
        let pods = [("1", "True"), ("1", "True")];
        check("default/web", &pods, "default/web: 2 of 2 pods are ready", None);
    }

    /// The gauge of the ReplicaSet `default/web`.
    fn gauge(host: &Host) -> Option<f64> {
        host.metric("replicaset_ready_pods", &[("replicaset", "default/web")])
    }

    #[test]
    fn gauges_are_set_again_without_events() {
        let host = Host::new();
        let metadata = json!({"namespace": "default", "name": "web", "uid": "1"});
        host.put(REPLICA_SETS, json!({"metadata": metadata, "spec": {"replicas": 0}}));
        let mut watcher = host.start::<ReplicaWatcher>(json!({})).expect("it starts");
        assert_eq!(gauge(&host), None);
        assert_eq!(watcher.fire("summary", 600_000), Ok(()));
        assert_eq!(gauge(&host), Some(0.0));
    }

    #[test]
    fn now_and_then_it_says_how_many_there_are() {
        let host = Host::new();
        let mut watcher = host.start::<ReplicaWatcher>(json!({})).expect("it starts");
        let metadata = json!({"namespace": "default", "name": "web", "uid": "1"});
        host.put(REPLICA_SETS, json!({"metadata": metadata, "spec": {}}));
        assert_eq!(watcher.fire("summary", 600_000), Ok(()));
        assert_eq!(host.messages(), ["there are 1 ReplicaSets"]);
    }

    #[test]
    fn what_is_not_there_is_gone() {
        check("default/other", &[], "default/other is gone", None);
    }
}
