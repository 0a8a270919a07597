//! Keeps a NetworkPolicy in every namespace with the label `default-deny=true`, and deletes the policy
//! where the label is gone. A controller: its keys are the names of namespaces.

use informant_plugin::kube::{self, Patch};
use informant_plugin::prelude::*;
use informant_plugin::{EnqueueRule, KeyNamespace, Reconciler, Verb, Write};
use serde_json::{Value, json};
use std::time::Duration;

const NAMESPACES: &str = "v1/namespaces";
const POLICIES: &str = "networking.k8s.io/v1/networkpolicies";
/// The name of the policy, and the label of a namespace that wants one.
const NAME: &str = "default-deny";

/// The plugin; the cluster has its whole state.
pub struct DefaultDeny;

impl Plugin for DefaultDeny {
    fn describe(_: &Config) -> Result<Descriptor> {
        // Both give the namespace's name as the key: a namespace its own, a policy that of its namespace.
        let namespaces = Subscription::to(NAMESPACES).enqueue(EnqueueRule::itself());
        let of_namespace = EnqueueRule::pointer("/metadata/namespace");
        let policies = Subscription::to(POLICIES)
            .fields(format!("metadata.name={NAME}"))
            .enqueue(of_namespace.namespace(KeyNamespace::None));
        let verbs = [Verb::Create, Verb::Patch, Verb::Delete];
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION"))
            .subscribe(namespaces)
            .subscribe(policies)
            .write(Write::of(POLICIES, verbs)))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}

impl Reconciler for DefaultDeny {
    fn reconcile(&mut self, namespace: &str, _attempt: u32) -> Result<Option<Duration>> {
        let key = ObjectKey::new(namespace, NAME);
        let wanted = match indexer::get::<Value>(NAMESPACES, &ObjectKey::new("", namespace))? {
            Some(object) => asks_for_policy(&object),
            None => return Ok(None),
        };
        let found = indexer::get::<Value>(POLICIES, &key)?;
        if wanted && found.as_ref().is_none_or(|policy| policy["spec"] != spec()) {
            let policy = json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                "metadata": {"name": NAME, "namespace": namespace}, "spec": spec(),
            });
            kube::patch(POLICIES, &key, &Patch::apply(policy, true))
                .map_err(kube::Error::into_failure)?;
            info!("{namespace}: traffic from outside is denied by default");
        } else if !wanted && found.is_some() {
            kube::delete(POLICIES, &key).map_err(kube::Error::into_failure)?;
            info!("{namespace}: traffic is allowed again");
        }
        Ok(None)
    }
}

export_plugin!(DefaultDeny, reconciler);

fn asks_for_policy(namespace: &Value) -> bool {
    let metadata = &namespace["metadata"];
    metadata["labels"][NAME] == "true" && metadata["deletionTimestamp"].is_null()
}

/// Every pod of the namespace; no ingress rule allows anything.
fn spec() -> Value {
    json!({"podSelector": {}, "policyTypes": ["Ingress"]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::Host;

    /// The verbs of the writes for a namespace with this metadata, where this policy is, if there is one.
    #[track_caller]
    fn check(metadata: Option<Value>, policy: Option<Value>, expect: &[&str]) {
        let host = Host::new();
        if let Some(metadata) = metadata {
            host.put(NAMESPACES, json!({"metadata": metadata}));
        }
        if let Some(spec) = policy {
            let metadata = json!({"namespace": "shop", "name": NAME});
            host.put(POLICIES, json!({"metadata": metadata, "spec": spec}));
        }
        let mut plugin = host.start::<DefaultDeny>(json!({})).expect("it starts");
        assert_eq!(plugin.reconcile("shop", 1), Ok(None));
        let verbs: Vec<_> = host.writes().iter().map(|write| write.verb).collect();
        assert_eq!(verbs, expect);
    }

    fn labelled() -> Option<Value> {
        Some(json!({"name": "shop", "labels": {NAME: "true"}}))
    }

    #[test]
    fn a_labelled_namespace_has_the_policy() {
        check(labelled(), None, &["apply"]);
        check(labelled(), Some(spec()), &[]);
        check(labelled(), Some(json!({"podSelector": {}})), &["apply"]);
    }

    #[test]
    fn without_the_label_the_policy_is_deleted() {
        check(Some(json!({"name": "shop"})), Some(spec()), &["delete"]);
        check(Some(json!({"name": "shop"})), None, &[]);
    }

    #[test]
    fn a_namespace_that_ends_is_left_alone() {
        let ending = json!({"name": "shop", "labels": {NAME: "true"}, "deletionTimestamp": "now"});
        check(Some(ending), None, &[]);
        check(None, Some(spec()), &[]);
    }
}
