//! Warns of Deployments with unavailable replicas, again every 30 s.

use informant_plugin::prelude::*;
use informant_plugin::{EnqueueRule, Reconciler};
use serde::Deserialize;
use std::time::Duration;

const DEPLOYMENTS: &str = "apps/v1/deployments";
const AGAIN: Duration = Duration::from_secs(30);

/// The fields of a Deployment that this plugin reads.
#[derive(Deserialize)]
struct Deployment {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Spec {
    replicas: u32,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    available_replicas: u32,
}

struct Watcher;

impl Plugin for Watcher {
    fn describe(_: &Config) -> Result<Descriptor> {
        // The host makes a key of every change: the namespace and name of the Deployment.
        let deployments = Subscription::to(DEPLOYMENTS).enqueue(EnqueueRule::itself());
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(deployments))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}

impl Reconciler for Watcher {
    fn reconcile(&mut self, key: &str, _attempt: u32) -> Result<Option<Duration>> {
        let (namespace, name) = key.split_once('/').ok_or("a Deployment has a namespace")?;
        let found = indexer::get::<Deployment>(DEPLOYMENTS, &ObjectKey::new(namespace, name))?;
        // A deleted Deployment is not in the cache.
        let Some(Deployment { spec, status }) = found else {
            return Ok(None);
        };
        let (available, wanted) = (status.available_replicas, spec.replicas);
        if available >= wanted {
            return Ok(None);
        }
        warn!("{key}: {available} of {wanted} replicas are available");
        Ok(Some(AGAIN))
    }
}

export_plugin!(Watcher, reconciler);

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::Host;
    use serde_json::json;

    #[track_caller]
    fn check(available: u32, again: Option<Duration>, messages: &[&str]) {
        let host = Host::new();
        let mut plugin = host.start::<Watcher>(json!({})).expect("it starts");
        let metadata = json!({"namespace": "shop", "name": "web"});
        let status = json!({"availableReplicas": available});
        host.put(
            DEPLOYMENTS,
            json!({"metadata": metadata, "spec": {"replicas": 3}, "status": status}),
        );
        assert_eq!(plugin.reconcile("shop/web", 1), Ok(again));
        assert_eq!(host.messages(), messages);
    }

    #[test]
    fn unavailable_replicas_are_warned_of_again() {
        check(1, Some(AGAIN), &["shop/web: 1 of 3 replicas are available"]);
        check(3, None, &[]);
    }

    #[test]
    fn a_deleted_deployment_is_forgotten() {
        let host = Host::new();
        let mut plugin = host.start::<Watcher>(json!({})).expect("it starts");
        assert_eq!(plugin.reconcile("shop/web", 1), Ok(None));
    }
}
