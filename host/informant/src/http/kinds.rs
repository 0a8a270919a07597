//! Words for resources, as kubectl takes them: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, and `apps/v1/deployments`.
//!
//! The words are those of the built-in resources, and of the resources that something here watches. No server is asked.

use crate::resource_words::{means, split};
use informant_apimachinery::{GroupVersionResource, nearest};
use informant_apiserver::ResourceInfo;
use informant_cache::{InformerState, SharedInformerFactory};
use informant_devcluster::built_in_resources;
use informant_runtime::Plugins;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A resource and its words.
#[derive(Clone, Debug)]
pub(super) struct ResourceKind {
    pub(super) resource: GroupVersionResource,
    /// None: unknown here.
    pub(super) is_namespaced: Option<bool>,
    words: BTreeSet<String>,
}

/// Why a word stands for no resource.
#[derive(Debug)]
pub(super) enum UnknownKind {
    Malformed(String),
    NotThere(String),
}

/// Of two resources with one word, the first counts.
pub(super) struct ResourceKinds(Vec<ResourceKind>);

impl ResourceKinds {
    /// Those of the resources that informers watch and plugins name, and the built-in ones.
    pub(super) fn of(plugins: &Plugins, informers: &SharedInformerFactory) -> Self {
        let named = plugins.resources().into_iter().map(|resource| (resource, None));
        let informers = informers.informers().into_iter();
        Self::new(named.chain(informers.map(|it| (it.resource().clone(), Some(it.state())))))
    }

    /// `watched`: resources, with the states of those that have an informer.
    ///
    /// Built-in resources come before custom ones, as for kubectl, so that no other group takes the word of a built-in
    /// resource. Resources in the cache come before those that are only asked for. Those that the API server does not
    /// serve come last.
    pub(super) fn new(
        watched: impl IntoIterator<Item = (GroupVersionResource, Option<InformerState>)>,
    ) -> Self {
        let watched: BTreeMap<GroupVersionResource, Option<InformerState>> =
            watched.into_iter().collect();
        let built_in = built_in();
        let of_watched = watched.iter().map(|(resource, state)| {
            let is_of = |kind: &&ResourceKind| kind.is_version_of(resource);
            let known = built_in.iter().find(is_of).cloned();
            let is_custom = known.is_none();
            let kind = known.unwrap_or_else(|| custom(resource));
            let is_absent = matches!(state, Some(InformerState::Waiting { .. }));
            let doubt = match state {
                Some(InformerState::Synced | InformerState::Stale { .. }) => 0,
                _ if kind.resource == *resource && !is_custom => 1,
                _ => 2,
            };
            let kind = ResourceKind { resource: resource.clone(), ..kind };
            ((is_absent, is_custom, doubt), kind)
        });
        let others = built_in.iter().filter(|kind| !watched.contains_key(&kind.resource));
        let others = others.map(|kind| ((false, false, 1), kind.clone()));
        let mut kinds: Vec<_> = of_watched.chain(others).collect();
        // Stable: else watched resources come before others, and groups are in their order.
        kinds.sort_by_key(|(place, _)| *place);
        Self(kinds.into_iter().map(|(_, kind)| kind).collect())
    }

    /// The resource of a word.
    pub(super) fn named(&self, word: &str) -> Result<ResourceKind, UnknownKind> {
        if word.contains('/') {
            let text = word.strip_prefix("core/").unwrap_or(word);
            let parsed = text.parse::<GroupVersionResource>();
            let resource = parsed.map_err(|error| UnknownKind::Malformed(error.to_string()))?;
            let known = self.0.iter().find(|kind| kind.resource == resource).cloned();
            let other = || ResourceKind { resource, is_namespaced: None, words: BTreeSet::new() };
            return Ok(known.unwrap_or_else(other));
        }
        let lower = word.to_lowercase();
        let is_meant =
            |kind: &&ResourceKind| means(&lower, &kind.resource, |name| kind.words.contains(name));
        let (name, _) = split(&lower);
        self.0.iter().find(is_meant).cloned().ok_or_else(|| Self::unknown(word, name))
    }

    /// The nearest built-in word comes with it: not every caller may know the custom resources.
    fn unknown(word: &str, name: &str) -> UnknownKind {
        let built_in = built_in();
        let words: BTreeSet<&str> =
            built_in.iter().flat_map(|kind| &kind.words).map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().collect();
        let meant = match nearest(name, &words) {
            Some(near) => format!("did you mean {near}?"),
            None => "write a custom resource as GROUP/VERSION/RESOURCE".to_owned(),
        };
        UnknownKind::NotThere(format!("there is no kind {word:?}; {meant}"))
    }
}

impl ResourceKind {
    fn is_version_of(&self, other: &GroupVersionResource) -> bool {
        (&self.resource.group, &self.resource.resource) == (&other.group, &other.resource)
    }
}

fn built_in() -> Vec<ResourceKind> {
    let kind = |info: &Arc<ResourceInfo>| {
        let names = [&info.gvr.resource, &info.singular].into_iter();
        ResourceKind {
            resource: info.gvr.clone(),
            is_namespaced: Some(info.namespaced),
            words: names.chain(&info.short_names).cloned().collect(),
        }
    };
    built_in_resources().iter().map(kind).collect()
}

fn custom(resource: &GroupVersionResource) -> ResourceKind {
    ResourceKind {
        resource: resource.clone(),
        is_namespaced: None,
        words: [resource.resource.clone(), singular(&resource.resource)].into(),
    }
}

/// The singular of a plural, as far as English has a rule.
fn singular(plural: &str) -> String {
    for (end, with) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("s", "")] {
        if let Some(stem) = plural.strip_suffix(end) {
            return format!("{stem}{with}");
        }
    }
    plural.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Watched<'a> = (&'a str, Option<InformerState>);

    fn kinds(watched: &[Watched<'_>]) -> ResourceKinds {
        let resource = |text: &str| text.parse().expect("a resource");
        ResourceKinds::new(watched.iter().map(|(text, state)| (resource(text), state.clone())))
    }

    fn absent() -> Option<InformerState> {
        Some(InformerState::Waiting { message: "no such resource".to_owned() })
    }

    #[track_caller]
    fn check_among(watched: &[Watched<'_>], word: &str, expect: &str) {
        let found = kinds(watched).named(word).expect("a kind");
        assert_eq!(found.resource.to_string(), expect, "{word} of {watched:?}");
    }

    #[track_caller]
    fn check(word: &str, expect: Result<&str, &str>) {
        let kinds = kinds(&[
            ("example.com/v1/policies", Some(InformerState::Synced)),
            ("events.k8s.io/v1/events", Some(InformerState::Synced)),
        ]);
        match (kinds.named(word), expect) {
            (Ok(kind), Ok(expect)) => assert_eq!(kind.resource.to_string(), expect, "{word}"),
            (Err(UnknownKind::NotThere(text) | UnknownKind::Malformed(text)), Err(expect)) => {
                assert!(text.contains(expect), "{word}: {text}");
            }
            (found, expect) => panic!("{word}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_word_stands_for_a_resource_as_for_kubectl() {
        for word in ["pods", "pod", "po", "Pod", "v1/pods", "core/v1/pods"] {
            check(word, Ok("v1/pods"));
        }
        check("deploy", Ok("apps/v1/deployments"));
        check("deployments.apps", Ok("apps/v1/deployments"));
        check("deployments.v1.apps", Ok("apps/v1/deployments"));
        check("policy", Ok("example.com/v1/policies"));
        check("policies.example.com", Ok("example.com/v1/policies"));
        check("late.example.com/v1/widgets", Ok("late.example.com/v1/widgets"));
    }

    #[test]
    fn of_two_built_in_resources_with_one_name_the_watched_one_counts() {
        check("events", Ok("events.k8s.io/v1/events"));
        check("v1/events", Ok("v1/events"));
        let other_version = "autoscaling/v1/horizontalpodautoscalers";
        check_among(&[(other_version, Some(InformerState::Synced))], "hpa", other_version);
    }

    #[test]
    fn no_group_takes_the_word_of_a_built_in_resource() {
        for state in [None, Some(InformerState::Synced), absent()] {
            let of_group = |resource| (resource, state.clone());
            let watched = [
                of_group("aaa.example.com/v1/deployments"),
                of_group("aaa.example.com/v1/pods"),
                of_group("aaa.example.com/v1/pos"),
                of_group("aaa.example.com/v1/secrets"),
                ("apps/v1/deployments", Some(InformerState::Synced)),
            ];
            check_among(&watched, "deployment", "apps/v1/deployments");
            check_among(&watched, "pod", "v1/pods");
            check_among(&watched, "po", "v1/pods");
            check_among(&watched, "secret", "v1/secrets");
            check_among(&watched, "pods.aaa.example.com", "aaa.example.com/v1/pods");
        }
    }

    #[test]
    fn a_resource_that_is_not_there_takes_no_word_of_one_that_is() {
        let synced = || Some(InformerState::Synced);
        let (a, b) = ("a.example.com/v1/widgets", "b.example.com/v1/widgets");
        check_among(&[(a, None), (b, synced())], "widget", b);
        check_among(&[(a, absent()), (b, synced())], "widget", b);
        check_among(&[(a, absent()), (b, None)], "widget", b);
        check_among(&[(a, synced()), (b, synced())], "widget", a);
        check_among(&[("batch/v1beta1/cronjobs", absent())], "cronjob", "batch/v1/cronjobs");
        check_among(&[("batch/v9/cronjobs", None)], "cronjob", "batch/v1/cronjobs");
        check_among(&[(a, absent())], "widget", a);
    }

    #[test]
    fn an_unknown_word_comes_with_the_nearest() {
        check("podd", Err("did you mean pod"));
        check("deploymnts", Err("did you mean deployments?"));
        // Not every caller may know the custom resources.
        check("widgt", Err("GROUP/VERSION/RESOURCE"));
        check("zzzzzz", Err("GROUP/VERSION/RESOURCE"));
        check("v1/Pods", Err("lower-case plural"));
    }
}
