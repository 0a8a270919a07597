//! Words for resources, as kubectl takes them: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, and `apps/v1/deployments`.
//!
//! The words are those of the built-in resources, and of the resources that something here watches. No server is asked.

use crate::resource_words::{means, split};
use informant_apimachinery::{GroupVersionResource, nearest};
use informant_cache::SharedInformerFactory;
use informant_devcluster::built_in_resources;
use informant_runtime::Plugins;
use std::collections::BTreeSet;

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

/// The watched resources first: of two with one word, the first counts.
pub(super) struct ResourceKinds(Vec<ResourceKind>);

impl ResourceKinds {
    /// Those of the resources that informers watch and plugins name, and the built-in ones.
    pub(super) fn of(plugins: &Plugins, informers: &SharedInformerFactory) -> Self {
        let informers = informers.informers().into_iter().map(|it| it.resource().clone());
        Self::new(informers.chain(plugins.resources()))
    }

    pub(super) fn new(watched: impl IntoIterator<Item = GroupVersionResource>) -> Self {
        let watched: BTreeSet<GroupVersionResource> = watched.into_iter().collect();
        let built_in: Vec<ResourceKind> = built_in_resources()
            .iter()
            .map(|info| {
                let names = [&info.gvr.resource, &info.singular].into_iter();
                ResourceKind {
                    resource: info.gvr.clone(),
                    is_namespaced: Some(info.namespaced),
                    words: names.chain(&info.short_names).cloned().collect(),
                }
            })
            .collect();
        let known = |resource: &GroupVersionResource| {
            built_in.iter().find(|kind| kind.resource == *resource).cloned()
        };
        let watched = watched.into_iter().map(|resource| {
            known(&resource).unwrap_or_else(|| ResourceKind {
                is_namespaced: None,
                words: [resource.resource.clone(), singular(&resource.resource)].into(),
                resource,
            })
        });
        Self(watched.chain(built_in.iter().cloned()).collect())
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
        self.0.iter().find(is_meant).cloned().ok_or_else(|| self.unknown(word, name))
    }

    fn unknown(&self, word: &str, name: &str) -> UnknownKind {
        let words: BTreeSet<&str> =
            self.0.iter().flat_map(|kind| &kind.words).map(String::as_str).collect();
        let words: Vec<&str> = words.into_iter().collect();
        let meant = match nearest(name, &words) {
            Some(near) => format!("did you mean {near}?"),
            None => "write a custom resource as GROUP/VERSION/RESOURCE".to_owned(),
        };
        UnknownKind::NotThere(format!("there is no kind {word:?}; {meant}"))
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

    #[track_caller]
    fn check(word: &str, expect: Result<&str, &str>) {
        let watched = ["example.com/v1/policies", "events.k8s.io/v1/events"];
        let kinds = ResourceKinds::new(watched.map(|text| text.parse().expect("a resource")));
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
    fn of_two_resources_with_one_name_the_watched_one_counts() {
        check("events", Ok("events.k8s.io/v1/events"));
        check("v1/events", Ok("v1/events"));
    }

    #[test]
    fn an_unknown_word_comes_with_the_nearest() {
        check("podd", Err("did you mean pod"));
        check("deploymnts", Err("did you mean deployments?"));
        check("zzzzzz", Err("GROUP/VERSION/RESOURCE"));
        check("v1/Pods", Err("lower-case plural"));
    }
}
