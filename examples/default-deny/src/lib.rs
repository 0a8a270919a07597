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
/// The label that tells this controller's policies from others of that name.
const OWNER: &str = "app.kubernetes.io/managed-by";

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
        let written = match found {
            Some(policy) if !is_own(&policy) => {
                warn!("{namespace}: a policy of this name has another owner, and is left alone");
                return Ok(None);
            }
            None if wanted => kube::create(POLICIES, &key, &policy(namespace)).map(drop),
            Some(policy) if wanted && policy["spec"] != spec() => {
                let patch = json!([
                    {"op": "test", "path": "/metadata/uid", "value": uid(&policy)},
                    {"op": "replace", "path": "/spec", "value": spec()},
                ]);
                kube::patch(POLICIES, &key, &Patch::json(patch)).map(drop)
            }
            Some(policy) if !wanted => kube::delete_only(POLICIES, &key, uid(&policy)),
            _ => return Ok(None),
        };
        written.map_err(kube::Error::into_failure)?;
        let now = if wanted { "denied" } else { "allowed again" };
        info!("{namespace}: ingress is {now}");
        Ok(None)
    }
}

export_plugin!(DefaultDeny, reconciler);

fn asks_for_policy(namespace: &Value) -> bool {
    let metadata = &namespace["metadata"];
    metadata["labels"][NAME] == "true" && metadata["deletionTimestamp"].is_null()
}

fn is_own(policy: &Value) -> bool {
    policy["metadata"]["labels"][OWNER] == NAME
}

/// A write that names the UID fails if a newer policy has the name.
fn uid(policy: &Value) -> &str {
    policy["metadata"]["uid"].as_str().unwrap_or_default()
}

fn policy(namespace: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {OWNER: NAME}},
        "spec": spec(),
    })
}

/// Every pod of the namespace, and no rule that allows ingress.
fn spec() -> Value {
    json!({"podSelector": {}, "policyTypes": ["Ingress"]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::{Host, TestWrite};

    /// The writes for a namespace with this metadata, beside this policy.
    fn writes(metadata: Option<Value>, policy: Option<Value>) -> Vec<TestWrite> {
        let host = Host::new();
        if let Some(metadata) = metadata {
            host.put(NAMESPACES, json!({"metadata": metadata}));
        }
        if let Some(policy) = policy {
            host.put(POLICIES, policy);
        }
        let mut plugin = host.start::<DefaultDeny>(json!({})).expect("it starts");
        assert_eq!(plugin.reconcile("shop", 1), Ok(None));
        host.writes()
    }

    /// The verbs of these writes.
    #[track_caller]
    fn check(metadata: Option<Value>, policy: Option<Value>, expect: &[&str]) {
        let verbs: Vec<_> = writes(metadata, policy).iter().map(|write| write.verb).collect();
        assert_eq!(verbs, expect);
    }

    fn labelled() -> Option<Value> {
        Some(json!({"name": "shop", "labels": {NAME: "true"}}))
    }

    fn found(owner: &str, spec: Value) -> Option<Value> {
        let labels = json!({OWNER: owner});
        let metadata = json!({"namespace": "shop", "name": NAME, "uid": "1", "labels": labels});
        Some(json!({"metadata": metadata, "spec": spec}))
    }

    #[test]
    fn a_labelled_namespace_has_the_policy() {
        check(labelled(), None, &["create"]);
        check(labelled(), found(NAME, spec()), &[]);
        let open = json!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]});
        check(labelled(), found(NAME, open), &["json-patch"]);
    }

    #[test]
    fn without_the_label_the_policy_is_deleted() {
        check(Some(json!({"name": "shop"})), found(NAME, spec()), &["delete"]);
        check(Some(json!({"name": "shop"})), None, &[]);
    }

    #[test]
    fn a_newer_policy_of_the_name_is_spared() {
        let only = |writes: Vec<TestWrite>| writes.into_iter().next().expect("a write").body;
        let unlabelled = Some(json!({"name": "shop"}));
        assert_eq!(only(writes(unlabelled, found(NAME, spec()))), json!("1"));
        let patch = only(writes(labelled(), found(NAME, json!({"podSelector": {}}))));
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/uid", "value": "1"}));
    }

    #[test]
    fn a_policy_of_another_owner_is_left_alone() {
        let open = json!({"podSelector": {}});
        check(Some(json!({"name": "shop"})), found("security-team", open.clone()), &[]);
        check(labelled(), found("security-team", open), &[]);
    }

    #[test]
    fn a_namespace_that_ends_is_left_alone() {
        let ending = json!({"name": "shop", "labels": {NAME: "true"}, "deletionTimestamp": "now"});
        check(Some(ending), None, &[]);
        check(None, found(NAME, spec()), &[]);
    }
}
