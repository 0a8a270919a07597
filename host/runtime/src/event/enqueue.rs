//! The keys that an event adds to the plugin's workqueue. The host computes them from the bytes, without a call of the
//! guest.
//!
//! A key is prefix + [namespace/]name. An update gives the keys of the state before and of the state after it. So the
//! former owner of an object gets a key too.

mod found_keys;

use bytes::Bytes;
pub(crate) use found_keys::FoundKeys;
use informant_cache::{Object, Projection};

/// The rules of one subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnqueueRules {
    rules: Vec<EnqueueRule>,
    /// The pointers of all rules, in their order: the name's pointer before the namespace's.
    projection: Projection,
}

/// A rule for one key of an object, or for one key of each owner of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnqueueRule {
    /// The source of the name.
    pub source: KeySource,
    /// The source of the namespace.
    pub namespace: KeyNamespace,
    /// The text in front of both.
    pub prefix: String,
}

/// The source of a key's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The object's own name.
    Itself,
    /// Its owners of this kind, in any version: an owner is one object in all versions.
    Owner {
        /// Empty for the core group.
        group: String,
        /// For example `ReplicaSet`.
        kind: String,
    },
    /// The text at a JSON pointer.
    Pointer(String),
}

/// The source of a key's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyNamespace {
    /// The object's own namespace; none if it has none.
    Object,
    /// The key has no namespace.
    None,
    /// The text at a JSON pointer.
    Pointer(String),
}

impl EnqueueRule {
    fn pointers(&self) -> impl Iterator<Item = &str> {
        let name = match &self.source {
            KeySource::Pointer(pointer) => Some(pointer.as_str()),
            KeySource::Itself | KeySource::Owner { .. } => None,
        };
        let namespace = match &self.namespace {
            KeyNamespace::Pointer(pointer) => Some(pointer.as_str()),
            KeyNamespace::Object | KeyNamespace::None => None,
        };
        name.into_iter().chain(namespace)
    }

    pub(crate) fn key(&self, namespace: &str, name: &str) -> String {
        let slash = if namespace.is_empty() { "" } else { "/" };
        [&self.prefix, namespace, slash, name].concat()
    }
}

impl EnqueueRules {
    /// These rules. Without rules events are delivered.
    pub fn new(rules: Vec<EnqueueRule>) -> Self {
        let projection = Projection::new(rules.iter().flat_map(EnqueueRule::pointers));
        Self { rules, projection }
    }

    /// The JSON pointers of all rules.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(EnqueueRule::pointers)
    }

    /// Whether events are delivered.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds the keys of one state.
    pub(crate) fn find(&self, object: &Object, found: &mut FoundKeys) {
        // An object's text is not unpacked for values in its metadata.
        let json = if self.projection.is_empty() { Bytes::new() } else { object.json() };
        let mut values = self.projection.values(&json).into_iter();
        let mut next = || values.next().flatten();
        for rule in &self.rules {
            let name = match &rule.source {
                KeySource::Pointer(_) => next().and_then(|json| found.name(json)),
                KeySource::Itself => Some(object.key().name().into()),
                KeySource::Owner { .. } => None,
            };
            let namespace = match &rule.namespace {
                KeyNamespace::Object => Some(object.key().namespace().into()),
                KeyNamespace::None => Some("".into()),
                KeyNamespace::Pointer(_) => next().and_then(|json| found.namespace(json)),
            };
            let Some(namespace) = namespace else { continue };
            if let KeySource::Owner { group, kind } = &rule.source {
                let owners = object.owner_references();
                let of_kind = owners
                    .filter(|owner| owner.kind == *kind && group_of(&owner.api_version) == group);
                for owner in of_kind {
                    found.add_owner(rule, &namespace, &owner.name);
                    if found.is_full() {
                        return;
                    }
                }
            } else if let Some(name) = name {
                found.add(rule, &namespace, &name);
            }
            if found.is_full() {
                return;
            }
        }
    }
}

/// The group of an API version: `apps/v1` has the group `apps`, and `v1` the empty group.
fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::found_keys::EVENT_KEYS_MAX;
    use super::*;
    use crate::contract::descriptor::Descriptor;
    use crate::event::{Change, Event, SubscriptionId};
    use std::time::Instant;

    fn pod(uid: &str, owners: &str, spec: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"a","uid":"{uid}",
            "ownerReferences":[{owners}]}},"spec":{{{spec}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
    }

    fn owner(api_version: &str, kind: &str, name: &str) -> String {
        format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"1"}}"#)
    }

    /// The keys of an event with these states, the newest state last.
    #[track_caller]
    fn check(rules: &str, states: &[Object], expect: &str) {
        let descriptor = format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","enqueue":[{rules}]}}]}}"#
        );
        let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("the rules are valid");
        let (object, old) = states.split_last().expect("a state");
        let event = Event {
            old: old.first().cloned(),
            ..Event::new(
                SubscriptionId(1),
                if old.is_empty() { Change::Added } else { Change::Updated },
                object.clone(),
                Instant::now(),
            )
        };
        let keys = event.enqueued(&descriptor.subscriptions[0].enqueue);
        assert_eq!(keys.iter().collect::<Vec<_>>().join(" "), expect, "{rules}");
    }

    #[test]
    fn an_object_is_its_own_key() {
        check(r#""self""#, &[pod("1", "", "")], "a/web");
        check(
            r#"{"self":true,"namespace":"none","prefix":"pod:"}"#,
            &[pod("1", "", "")],
            "pod:web",
        );
    }

    #[test]
    fn owners_of_a_kind_are_keys_in_whatever_version() {
        let both = [owner("apps/v1beta1", "ReplicaSet", "r"), owner("v1", "Node", "n")].join(",");
        let of = |kind: &str| format!(r#"{{"owner":"{kind}"}}"#);
        check(&of("apps/v1/ReplicaSet"), &[pod("1", &both, "")], "a/r");
        check(&of("v1/ReplicaSet"), &[pod("1", &both, "")], "");
        check(r#"{"owner":"v1/Node","namespace":"none"}"#, &[pod("1", &both, "")], "n");
        check(&of("apps/v1/ReplicaSet"), &[pod("1", "", "")], "");
    }

    #[test]
    fn a_text_at_a_pointer_is_a_name_and_nothing_else_is() {
        let spec = r#""x":"t\u0061rget","n":7,"ns":"b","none":"""#;
        let pod = || [pod("1", "", spec)];
        check(r#"{"pointer":"/spec/x"}"#, &pod(), "a/target");
        check(r#"{"pointer":"/spec/x","namespace":"/spec/ns"}"#, &pod(), "b/target");
        for missing in ["/spec/n", "/spec/none", "/spec/y", "/spec"] {
            check(&format!(r#"{{"pointer":"{missing}"}}"#), &pod(), "");
            let rule = format!(r#"{{"pointer":"/spec/x","namespace":"{missing}"}}"#);
            check(&rule, &pod(), "");
        }
        let several =
            r#"{"pointer":"/spec/n"},{"pointer":"/spec/x","namespace":"/spec/ns"},"self""#;
        check(several, &pod(), "a/web b/target");
    }

    #[test]
    fn both_states_of_an_update_give_their_keys() {
        let rule = r#"{"pointer":"/spec/x"}"#;
        let states =
            |old: &str, new: &str| [old, new].map(|name| pod("1", "", &format!(r#""x":"{name}""#)));
        check(rule, &states("one", "two"), "a/one a/two");
        check(rule, &states("one", "one"), "a/one");
    }

    #[test]
    fn keys_of_one_state_are_bounded() {
        let owners = |count: usize| {
            let owners: Vec<String> =
                (0..count).map(|number| owner("v1", "Node", &format!("n{number}"))).collect();
            pod("1", &owners.join(","), "")
        };
        let descriptor = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","enqueue":[{"owner":"v1/Node"}]}]}"#;
        let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("the rules are valid");
        for (count, dropped) in [(EVENT_KEYS_MAX, None), (EVENT_KEYS_MAX + 1, Some(1))] {
            let mut found = FoundKeys::default();
            // The second search finds the same keys.
            for _ in 0..2 {
                descriptor.subscriptions[0].enqueue.find(&owners(count), &mut found);
            }
            assert_eq!(found.iter().count(), EVENT_KEYS_MAX);
            assert_eq!(found.problem().map(|(dropped, _)| dropped), dropped, "{count}");
        }
    }
}
