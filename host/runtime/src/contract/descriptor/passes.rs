//! Bounds the work of an informer's task with one object for one plugin: the passes over its bytes, and the looks at its
//! labels and those of its namespace.

use super::{Descriptor, DescriptorError, SubscriptionSpec, error};
use std::collections::BTreeMap;

/// The most subscriptions of one plugin to one resource, in all its versions, that read objects' bytes. Each makes one
/// pass over the state before and one over the state after. With the passes of 16 indexes, this is the highest cost of an
/// event for its informer and one plugin.
pub(crate) const PASSES_MAX: usize = 8;

/// The most requirements in all selectors of labels of one plugin for one resource, in all its versions. A search in the
/// cache asks all of them about each object.
pub(crate) const REQUIREMENTS_OF_RESOURCE_MAX: usize = 256;

/// The most subscriptions and reads of one plugin with a `namespaceSelector`. Each looks at all namespaces as it begins,
/// and keeps the names of those that it selects.
pub(crate) const NAMESPACE_SELECTORS_MAX: usize = 16;
/// Bytes of all filters of one plugin. Their parser takes milliseconds for each KiB, and their trees many times their
/// text.
pub(crate) const FILTERS_BYTES_MAX: usize = 16 << 10;

impl SubscriptionSpec {
    /// Whether the subscription reads an object's bytes. Names, namespaces and labels are at hand.
    fn looks_at_bytes(&self) -> bool {
        let at_hand = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
        let mut fields = self.field_selector.requirements().iter();
        self.enqueue.looks_into_objects()
            || !self.only_if_changed.is_empty()
            || fields.any(|it| !at_hand(&it.field))
    }
}

impl Descriptor {
    pub(super) fn check_passes(&self) -> Result<(), DescriptorError> {
        let mut passes: BTreeMap<_, usize> = BTreeMap::new();
        for subscription in self.subscriptions.iter().filter(|it| it.looks_at_bytes()) {
            *passes.entry(subscription.resource.group_resource()).or_default() += 1;
        }
        let Some((resource, found)) = passes.into_iter().find(|(_, found)| *found > PASSES_MAX)
        else {
            return Ok(());
        };
        let problem = format!(
            "has {found} to {resource} with a fieldSelector, onlyIfChanged or a pointer or owner in enqueue, at most {PASSES_MAX} are allowed; leave it out in some and use filter"
        );
        Err(error("subscriptions", problem))
    }

    pub(super) fn check_namespace_selectors(&self) -> Result<(), DescriptorError> {
        let of_subscriptions = self.subscriptions.iter().map(|it| &it.namespace_selector);
        let selectors = of_subscriptions.chain(self.reads.iter().map(|it| &it.namespace_selector));
        match selectors.flatten().count() {
            ..=NAMESPACE_SELECTORS_MAX => Ok(()),
            found => Err(error(
                "subscriptions and reads",
                format!(
                    "has {found} with a namespaceSelector, at most {NAMESPACE_SELECTORS_MAX} are allowed"
                ),
            )),
        }
    }

    pub(super) fn check_requirements(&self) -> Result<(), DescriptorError> {
        let of_objects = self.subscriptions.iter().map(|it| (&it.resource, &it.label_selector));
        let of_subscriptions =
            self.subscriptions.iter().map(|it| (&it.resource, &it.namespace_selector));
        let of_reads = self.reads.iter().map(|it| (&it.resource, &it.namespace_selector));
        let of_namespaces = of_subscriptions.chain(of_reads);
        let of_namespaces =
            of_namespaces.filter_map(|(resource, selector)| Some((resource, selector.as_ref()?)));
        let mut requirements: BTreeMap<_, usize> = BTreeMap::new();
        for (resource, selector) in of_objects.chain(of_namespaces) {
            *requirements.entry(resource.group_resource()).or_default() +=
                selector.requirements().len();
        }
        let mut requirements = requirements.into_iter();
        let too_many = |(_, found): &(_, usize)| *found > REQUIREMENTS_OF_RESOURCE_MAX;
        let Some((resource, found)) = requirements.find(too_many) else { return Ok(()) };
        let problem = format!(
            "has {found} requirements for labels to {resource} in all selectors together, at most {REQUIREMENTS_OF_RESOURCE_MAX} are allowed"
        );
        Err(error("subscriptions and reads", problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problem with so many subscriptions of this kind to each of two resources, in versions in turn.
    fn problem(count: usize, asks: &str) -> String {
        let one = |number: usize, resource: &str| {
            let version = 1 + number % 2;
            format!(
                r#"{{"name":"{resource}{number}","resource":"example.com/v{version}/{resource}",{asks}}}"#
            )
        };
        let of = |resource| (0..count).map(move |number| one(number, resource));
        let all: Vec<String> = of("pods").chain(of("nodes")).collect();
        let json = format!(r#"{{"version":"1","subscriptions":[{}]}}"#, all.join(","));
        Descriptor::parse(json.as_bytes()).err().map(|it| it.to_string()).unwrap_or_default()
    }

    #[test]
    fn requirements_for_labels_are_bounded_for_each_resource() {
        let selector = |count: usize| -> String {
            let keys: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
            keys.join(",")
        };
        let asks = |objects: usize, namespaces: usize| {
            let (objects, namespaces) = (selector(objects), selector(namespaces));
            problem(
                4,
                &format!(r#""labelSelector":"{objects}","namespaceSelector":"{namespaces}""#),
            )
        };
        assert_eq!(asks(60, 4), "");
        let text = "descriptor subscriptions and reads: has 260 requirements for labels to nodes.example.com in all selectors together, at most 256 are allowed";
        assert_eq!(asks(60, 5), text);
    }

    #[test]
    fn selectors_of_namespaces_are_bounded_for_a_plugin() {
        let asks = r#""namespaceSelector":"a=b""#;
        assert_eq!(problem(NAMESPACE_SELECTORS_MAX / 2, asks), "");
        let text = "descriptor subscriptions and reads: has 18 with a namespaceSelector, at most 16 are allowed";
        assert_eq!(problem(NAMESPACE_SELECTORS_MAX / 2 + 1, asks), text);
    }

    #[test]
    fn filters_are_bounded_in_all() {
        let asks = format!(r#""filter":"true{}""#, " ".repeat(2_044));
        assert_eq!(problem(4, &asks), "");
        let text = "descriptor subscriptions[8]: it and those before have filters of 18432 bytes, at most 16384 are read";
        assert_eq!(problem(5, &asks), text);
    }

    #[test]
    fn subscriptions_that_look_at_bytes_are_bounded_for_each_resource() {
        let asks = [
            r#""fieldSelector":"spec.nodeName=a""#,
            r#""onlyIfChanged":["/spec"]"#,
            r#""enqueue":[{"pointer":"/spec/a"}]"#,
            r#""enqueue":[{"self":true,"namespace":"/spec/a"}]"#,
            r#""enqueue":["self",{"owner":"apps/v1/ReplicaSet"}]"#,
        ];
        let text = "descriptor subscriptions: has 9 to nodes.example.com with a fieldSelector, onlyIfChanged or a pointer or owner in enqueue, at most 8 are allowed; leave it out in some and use filter";
        for asks in asks {
            assert_eq!(problem(PASSES_MAX, asks), "");
            assert_eq!(problem(PASSES_MAX + 1, asks), text);
        }
        assert_eq!(problem(32, r#""fieldSelector":"metadata.name=a","labelSelector":"a=b""#), "");
        assert_eq!(problem(32, r#""enqueue":["self",{"self":true,"namespace":"none"}]"#), "");
    }
}
