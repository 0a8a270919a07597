//! Whether metadata are enough for a subscription: then the API server need not send more.
//!
//! The plugin sees no more with the delivery `metadata`. But the host may look at more for it: for a selector, a filter, a
//! pointer or an index.

use super::{Delivery, Descriptor, IndexSpec, SubscriptionSpec};
use std::sync::Arc;

impl Descriptor {
    /// Notes for each subscription whether metadata are enough.
    pub(super) fn note_metadata_only(&mut self) {
        let Self { subscriptions, indexes, .. } = self;
        for spec in subscriptions {
            let of_resource = |index: &&IndexSpec| index.resource == spec.resource;
            let mut pointers = indexes.iter().filter(of_resource).map(|it| &*it.pointer_text);
            let metadata_only = pointers.all(is_of_metadata) && spec.looks_at_metadata_only();
            Arc::make_mut(spec).metadata_only = metadata_only;
        }
    }
}

impl SubscriptionSpec {
    fn looks_at_metadata_only(&self) -> bool {
        let at_hand = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
        self.delivery == Delivery::Metadata
            && self.field_selector.requirements().iter().all(|it| at_hand(&it.field))
            && self.only_if_changed.iter().all(|pointer| is_of_metadata(pointer))
            && self.enqueue.pointers().all(is_of_metadata)
            && self.filter.as_ref().is_none_or(|filter| filter.reads_only(is_of_metadata))
    }
}

/// Whether the value at the JSON pointer is a part of the metadata.
fn is_of_metadata(pointer: &str) -> bool {
    ["/metadata", "/apiVersion", "/kind"].iter().any(|part| {
        pointer.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether metadata are enough for a subscription with these keys, beside these indexes of Pods.
    #[track_caller]
    fn check(keys: &str, indexes: &str, expect: bool) {
        let json = format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods",{keys}}}],"indexes":[{indexes}]}}"#
        );
        let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
        assert_eq!(descriptor.subscriptions[0].metadata_only, expect, "{json}");
    }

    #[test]
    fn metadata_are_enough_for_a_subscription_that_looks_at_no_more() {
        let with = |more: &str| format!(r#""delivery":"metadata"{more}"#);
        check(&with(""), "", true);
        check(r#""delivery":"lazy""#, "", false);
        check(r#""delivery":"full""#, "", false);
        check(&with(r#","labelSelector":"app=web","withOld":true,"resyncPeriod":"1m""#), "", true);
        check(&with(r#","fieldSelector":"metadata.name!=a""#), "", true);
        check(&with(r#","fieldSelector":"spec.nodeName=a""#), "", false);
        check(&with(r#","onlyIfChanged":["/metadata/labels","/metadata"]"#), "", true);
        check(&with(r#","onlyIfChanged":["/metadata/labels","/metadatas"]"#), "", false);
        check(&with(r#","onlyIfChanged":[""]"#), "", false);
        check(&with(r#","enqueue":[{"owner":"apps/v1/ReplicaSet"},{"self":true}]"#), "", true);
        check(&with(r#","enqueue":[{"pointer":"/metadata/labels/app"}]"#), "", true);
        check(&with(r#","enqueue":[{"pointer":"/spec/nodeName"}]"#), "", false);
        check(&with(r#","filter":"change == 'added'""#), "", true);
        check(&with(r#","filter":"object.metadata.labels['app'] == 'web'""#), "", true);
        check(&with(r#","filter":"has(object.metadata.labels)""#), "", true);
        check(&with(r#","filter":"object.spec.nodeName == 'a'""#), "", false);
        check(&with(r#","filter":"old == null || size(old) > 0""#), "", false);
    }

    #[test]
    fn an_index_of_the_resource_may_need_more() {
        let index = |resource: &str, pointer: &str| {
            format!(r#"{{"resource":"{resource}","name":"i","pointer":"{pointer}"}}"#)
        };
        let keys = r#""delivery":"metadata""#;
        check(keys, &index("v1/pods", "/metadata/labels/app"), true);
        check(keys, &index("v1/pods", "/spec/nodeName"), false);
    }
}
