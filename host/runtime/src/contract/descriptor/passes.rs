//! Bounds the work of an informer's task with one object for one plugin: its subscriptions, with their passes over the
//! bytes, and the looks at its labels and those of its namespace.

use super::{Descriptor, DescriptorError, error};
use std::collections::BTreeMap;

/// The most subscriptions of one plugin to one resource, in all its versions. Each asks its questions about each change of
/// the resource and may queue an event, and each may make one pass over the state before and one over the state after.
/// With the passes of 16 indexes, this is the highest cost of an event for its informer and one plugin.
pub(crate) const SUBSCRIPTIONS_OF_RESOURCE_MAX: usize = 8;

/// The most requirements in all selectors of labels of one plugin for one resource, in all its versions. A search in the
/// cache asks all of them about each object.
pub(crate) const REQUIREMENTS_OF_RESOURCE_MAX: usize = 256;

/// The most subscriptions and reads of one plugin with a `namespaceSelector`. Each looks at all namespaces as it begins,
/// and keeps the names of those that it selects.
pub(crate) const NAMESPACE_SELECTORS_MAX: usize = 16;
/// Bytes of all filters of one plugin. Their parser takes milliseconds for each KiB, and their trees many times their
/// text.
pub(crate) const FILTERS_BYTES_MAX: usize = 16 << 10;

impl Descriptor {
    pub(super) fn check_subscriptions(&self) -> Result<(), DescriptorError> {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for subscription in &self.subscriptions {
            *counts.entry(subscription.resource.group_resource()).or_default() += 1;
        }
        let is_above = |(_, found): &(_, usize)| *found > SUBSCRIPTIONS_OF_RESOURCE_MAX;
        let Some((resource, found)) = counts.into_iter().find(is_above) else { return Ok(()) };
        let problem = format!(
            "has {found} to {resource}, at most {SUBSCRIPTIONS_OF_RESOURCE_MAX} are allowed; name several namespaces or label values in one, or make several plugins of it"
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
        let read = |number: usize| {
            format!(r#"{{"resource":"example.com/v1/r{number}","namespaceSelector":"a=b"}}"#)
        };
        let asks = |subscriptions: usize, reads: usize| {
            let [subscriptions, reads] = [0..subscriptions, subscriptions..subscriptions + reads]
                .map(|numbers| numbers.map(read).collect::<Vec<_>>().join(","));
            let json =
                format!(r#"{{"version":"1","subscriptions":[{subscriptions}],"reads":[{reads}]}}"#);
            Descriptor::parse(json.as_bytes()).err().map(|it| it.to_string()).unwrap_or_default()
        };
        assert_eq!(asks(NAMESPACE_SELECTORS_MAX - 1, 1), "");
        let text = "descriptor subscriptions and reads: has 17 with a namespaceSelector, at most 16 are allowed";
        assert_eq!(asks(NAMESPACE_SELECTORS_MAX, 1), text);
    }

    #[test]
    fn filters_are_bounded_in_all() {
        let asks = format!(r#""filter":"true{}""#, " ".repeat(2_044));
        assert_eq!(problem(4, &asks), "");
        let text = "descriptor subscriptions[8]: it and those before have filters of 18432 bytes, at most 16384 are read";
        assert_eq!(problem(5, &asks), text);
    }

    #[test]
    fn subscriptions_are_bounded_for_each_resource() {
        let text = "descriptor subscriptions: has 9 to nodes.example.com, at most 8 are allowed; name several namespaces or label values in one, or make several plugins of it";
        for asks in [r#""types":["added"]"#, r#""fieldSelector":"metadata.name=a""#] {
            assert_eq!(problem(SUBSCRIPTIONS_OF_RESOURCE_MAX, asks), "");
            assert_eq!(problem(SUBSCRIPTIONS_OF_RESOURCE_MAX + 1, asks), text);
        }
    }
}
