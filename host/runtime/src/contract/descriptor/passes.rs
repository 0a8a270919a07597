//! Bounds the passes of an informer's task over an object's bytes for one plugin.

use super::{Descriptor, DescriptorError, SubscriptionSpec, error};
use std::collections::BTreeMap;

/// The most subscriptions of one plugin to one resource that read objects' bytes. Each makes one pass over the state
/// before and one over the state after. With the passes of 16 indexes, this is the highest cost of an event for its
/// informer and one plugin.
pub(crate) const PASSES_MAX: usize = 8;

impl SubscriptionSpec {
    /// Whether the subscription reads an object's bytes. Names, namespaces and labels are at hand.
    fn looks_at_bytes(&self) -> bool {
        let at_hand = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
        let mut fields = self.field_selector.requirements().iter();
        !self.only_if_changed.is_empty() || fields.any(|it| !at_hand(&it.field))
    }
}

impl Descriptor {
    pub(super) fn check_passes(&self) -> Result<(), DescriptorError> {
        let mut passes: BTreeMap<_, usize> = BTreeMap::new();
        for subscription in self.subscriptions.iter().filter(|it| it.looks_at_bytes()) {
            *passes.entry(&subscription.resource).or_default() += 1;
        }
        let Some((resource, found)) = passes.into_iter().find(|(_, found)| *found > PASSES_MAX)
        else {
            return Ok(());
        };
        let problem = format!(
            "has {found} to {resource} with a fieldSelector or onlyIfChanged, at most {PASSES_MAX} are allowed; leave it out in some and use filter"
        );
        Err(error("subscriptions", problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problem with so many subscriptions of this kind to each of two resources.
    fn problem(count: usize, asks: &str) -> String {
        let one = |number: usize, resource: &str| {
            format!(
                r#"{{"name":"{resource}{number}","resource":"example.com/v1/{resource}",{asks}}}"#
            )
        };
        let of = |resource| (0..count).map(move |number| one(number, resource));
        let all: Vec<String> = of("pods").chain(of("nodes")).collect();
        let json = format!(r#"{{"version":"1","subscriptions":[{}]}}"#, all.join(","));
        Descriptor::parse(json.as_bytes()).err().map(|it| it.to_string()).unwrap_or_default()
    }

    #[test]
    fn subscriptions_that_look_at_bytes_are_bounded_for_each_resource() {
        let asks = [r#""fieldSelector":"spec.nodeName=a""#, r#""onlyIfChanged":["/spec"]"#];
        let text = "descriptor subscriptions: has 9 to example.com/v1/nodes with a fieldSelector or onlyIfChanged, at most 8 are allowed; leave it out in some and use filter";
        for asks in asks {
            assert_eq!(problem(PASSES_MAX, asks), "");
            assert_eq!(problem(PASSES_MAX + 1, asks), text);
        }
        assert_eq!(problem(32, r#""fieldSelector":"metadata.name=a","labelSelector":"a=b""#), "");
    }
}
