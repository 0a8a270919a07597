//! The scope that the host lists and watches for plugins: the namespaces that their views name, and
//! the requirements of their selectors. So a permission in these namespaces is enough, and objects that no view wants
//! are neither sent nor cached. What the API server would refuse, the host alone evaluates.
//!
//! The informer sends the requirements that all views have. An object that leaves them arrives as deleted with an
//! unknown end, because the API server reports both in the same way.

use crate::contract::descriptor::SubscriptionSpec;
use informant_apimachinery::{
    FieldRequirement, FieldSelector, GroupVersionResource, selectable_fields,
};
use informant_cache::{InformerLease, Scope, SharedInformerFactory};
use std::collections::BTreeSet;

/// The most bytes of a selector that is sent. Percent-encoded it has up to three times as many, and two of them are
/// within a request line of 8 KiB, which passes every proxy.
const SELECTOR_BYTES_SENT_MAX: usize = 1 << 10;

/// The most namespaces of one view that are listed and watched individually. A view with more lists and watches all
/// namespaces at once.
pub const NAMESPACES_WATCHED_MAX: usize = 64;

/// The namespaces that are listed and watched for a view of the `named` ones; `None`: all at once.
pub fn watched_namespaces(named: &BTreeSet<String>) -> Option<&BTreeSet<String>> {
    Some(named).filter(|named| (1..=NAMESPACES_WATCHED_MAX).contains(&named.len()))
}

/// The scope of an informer for all objects of these namespaces. Invariant 10.
pub(crate) fn watched_scope(named: &BTreeSet<String>) -> Scope {
    let watched = watched_namespaces(named);
    watched.map_or_else(Scope::all, |names| Scope::namespaces(names.iter().map(String::as_str)))
}

/// The scope of an informer for a subscription. It has every object of the subscription's view.
pub(crate) fn subscribed_scope(spec: &SubscriptionSpec) -> Scope {
    let is_short = |text: String| text.len() <= SELECTOR_BYTES_SENT_MAX;
    let mut scope = watched_scope(&spec.namespaces);
    if spec.metadata_only {
        scope = scope.metadata_only();
    }
    if is_short(spec.label_selector.to_string()) {
        scope = scope.with_labels(spec.label_selector.clone());
    }
    let is_sent = |it: &&FieldRequirement| is_served(&spec.resource, &it.field);
    let requirements = spec.field_selector.requirements().iter().filter(is_sent);
    let fields = FieldSelector::new(requirements.cloned());
    match is_short(fields.to_string()) {
        true => scope.clone().with_fields(fields).unwrap_or(scope),
        false => scope,
    }
}

/// Whether the API server selects by this field. A custom resource may declare more; those are evaluated on the host.
fn is_served(resource: &GroupVersionResource, field: &str) -> bool {
    field == "metadata.name" || selectable_fields(resource).contains(&field)
}

/// The informer of a resource, which covers this scope while the lease is kept. A factory with a narrower scope
/// gives its whole scope.
pub(crate) fn lease(
    informers: &SharedInformerFactory,
    resource: &GroupVersionResource,
    scope: Scope,
) -> InformerLease {
    informers.lease_of(resource, scope).unwrap_or_else(|_| informers.lease(resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::Descriptor;

    #[test]
    fn few_namespaces_are_watched_each_by_itself() {
        let check = |count: usize, expect: usize| {
            let named: BTreeSet<String> = (0..count).map(|number| format!("n{number}")).collect();
            assert_eq!(watched_namespaces(&named).map_or(0, BTreeSet::len), expect, "{count}");
        };
        check(0, 0);
        check(1, 1);
        check(NAMESPACES_WATCHED_MAX, NAMESPACES_WATCHED_MAX);
        check(NAMESPACES_WATCHED_MAX + 1, 0);
    }

    /// The scope for a subscription with this JSON.
    #[track_caller]
    fn check(subscription: &str, expect: &str) {
        let json = format!(r#"{{"version":"1","subscriptions":[{{{subscription}}}]}}"#);
        let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
        assert_eq!(subscribed_scope(&descriptor.subscriptions[0]).to_string(), expect);
    }

    #[test]
    fn selectors_are_sent_as_far_as_the_api_server_knows_their_fields() {
        check(r#""resource":"v1/pods""#, "all namespaces");
        check(
            r#""resource":"v1/pods","namespaces":["a"],"labelSelector":"app=web,tier""#,
            "namespaces a, labels app=web,tier",
        );
        check(
            r#""resource":"v1/pods","fieldSelector":"spec.nodeName=n,metadata.name!=a""#,
            "all namespaces, fields spec.nodeName=n,metadata.name!=a",
        );
        // A resource without namespaces cannot be selected by them.
        check(r#""resource":"v1/pods","fieldSelector":"metadata.namespace!=a""#, "all namespaces");
        check(
            r#""resource":"example.com/v1/widgets","fieldSelector":"spec.size=1,metadata.name=a""#,
            "all namespaces, fields metadata.name=a",
        );
    }

    #[test]
    fn metadata_are_requested_where_they_are_enough() {
        let check = |more: &str, expect| {
            check(&format!(r#""resource":"v1/pods","delivery":"metadata"{more}"#), expect);
        };
        check("", "all namespaces, metadata only");
        check(
            r#","namespaces":["a"],"labelSelector":"app=web""#,
            "namespaces a, labels app=web, metadata only",
        );
        check(r#","fieldSelector":"spec.nodeName=n""#, "all namespaces, fields spec.nodeName=n");
    }

    #[test]
    fn a_selector_that_fills_a_request_line_is_not_sent() {
        let long = format!(
            r#""resource":"v1/pods","labelSelector":"{}""#,
            keys(SELECTOR_BYTES_SENT_MAX + 1)
        );
        check(&long, "all namespaces");
        let short = keys(SELECTOR_BYTES_SENT_MAX);
        let json = format!(r#""resource":"v1/pods","labelSelector":"{short}""#);
        check(&json, &format!("all namespaces, labels {short}"));
    }

    /// A label selector of so many bytes.
    fn keys(bytes: usize) -> String {
        let mut text: String = (0..bytes / 50).map(|n| format!("k{n:048},")).collect();
        text.extend(std::iter::repeat_n('z', bytes - text.len()));
        text
    }
}
