//! Tells which nodes come, go, and stop being ready. Shows typed objects: with the SDK's feature
//! `k8s-openapi`, [`Event::object`] and [`indexer::list`] decode into the whole Kubernetes API.

use informant_plugin::k8s_openapi::api::core::v1::{Node, Pod};
use informant_plugin::prelude::*;
use informant_plugin::{Index, Read, resource_of};

/// The index of pods by the node that they run on.
const BY_NODE: &str = "node";

/// The plugin; it remembers nothing.
pub struct Nodes;

impl Plugin for Nodes {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = resource_of::<Pod>();
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION"))
            .subscribe(Subscription::of::<Node>().with_old().only_if_changed("/status/conditions"))
            .read(Read::of(&pods))
            .index(Index::new(&pods, BY_NODE, "/spec/nodeName")))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let name = &event.key().name;
        let node: Node = event.object()?;
        match event.change() {
            Change::Added => info!("added node {name} ({})", readiness(&node)),
            Change::Deleted => info!("deleted node {name}"),
            Change::Updated => {
                let before = event.old::<Node>()?.map(|old| readiness(&old));
                let now = readiness(&node);
                if before != Some(now) {
                    info!("node {name} is now {now}, with pods: {}", pods_on(name)?.join(", "));
                }
            }
        }
        Ok(())
    }
}

export_plugin!(Nodes);

/// What the node's condition `Ready` says.
fn readiness(node: &Node) -> &'static str {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
    match ready.map(|condition| condition.status.as_str()) {
        Some("True") => "ready",
        Some("False") => "not ready",
        _ => "unknown",
    }
}

fn pods_on(node: &str) -> Result<Vec<String>, indexer::Error> {
    let pods = indexer::by_index::<Pod>(&resource_of::<Pod>(), BY_NODE, node);
    pods.map(|pod| Ok(pod?.metadata.name.unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::{Host, TestEvent, added, deleted, updated};
    use serde_json::{Value, json};

    fn node(ready: &str) -> Value {
        let conditions = json!([{"type": "Ready", "status": ready}]);
        json!({"metadata": {"name": "worker-1"}, "status": {"conditions": conditions}})
    }

    #[track_caller]
    fn check(event: TestEvent, expected: &[&str]) {
        let host = Host::new();
        for (name, node) in [("web-1", "worker-1"), ("web-2", "worker-2"), ("web-3", "worker-1")] {
            let metadata = json!({"namespace": "default", "name": name});
            host.put(
                "v1/pods",
                json!({"metadata": metadata, "spec": {"nodeName": node, "containers": []}}),
            );
        }
        let mut watcher = host.start::<Nodes>(json!({})).expect("the plugin starts");
        watcher.handle(event).expect("the event is handled");
        assert_eq!(host.messages(), expected);
    }

    #[test]
    fn coming_and_going_is_told() {
        check(added(node("True")), &["added node worker-1 (ready)"]);
        check(deleted(node("True")), &["deleted node worker-1"]);
    }

    #[test]
    fn a_node_that_fails_is_told_with_its_pods() {
        check(
            updated(node("True"), node("False")),
            &["node worker-1 is now not ready, with pods: web-1, web-3"],
        );
        check(updated(node("True"), node("True")), &[]);
    }
}
