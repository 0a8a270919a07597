//! A plugin's reads through `indexer`: resources beside its subscriptions, and indexes.

use super::{
    BoundedList, Descriptor, DescriptorError, check_bytes, check_name, check_pointer_bounds, error,
    json, resource,
};
use crate::contract::coverage::NAMESPACES_WATCHED_MAX;
use crate::contract::selectors::label_selector;
use crate::names::is_namespace;
use informant_apimachinery::{GroupVersionResource, LabelSelector, is_cluster_scoped};
use informant_cache::JsonPointer;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most namespaces of one view: four times as many as are watched individually.
pub(crate) const NAMESPACES_MAX: usize = 4 * NAMESPACES_WATCHED_MAX;

/// Bytes of a namespace's name: those of a DNS label.
pub(crate) const NAMESPACE_BYTES_MAX: usize = 63;

/// The keys of an index.
const INDEX_KEYS: [&str; 3] = ["resource", "name", "pointer"];
/// The keys of a resource to read.
const READ_KEYS: [&str; 3] = ["resource", "namespaces", "namespaceSelector"];
/// The namespaces of a view. Clones share the names: a view has 256 of them, and a subscription is kept in many places.
pub type NamespaceSet = Arc<BTreeSet<String>>;
/// The namespaces of a view, not yet read.
pub(super) type RawNamespaces = BoundedList<String, NAMESPACES_MAX>;

/// A secondary index: objects by the values at a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// The indexed resource.
    pub resource: GroupVersionResource,
    /// The index's name, unique within plugin and resource.
    pub name: String,
    /// A JSON pointer in which `*` steps into every member.
    pub pointer: JsonPointer,
    /// The pointer as the plugin wrote it.
    pub pointer_text: String,
}

/// A resource that is read without a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSpec {
    /// The resource.
    pub resource: GroupVersionResource,
    /// Empty: all namespaces.
    pub namespaces: NamespaceSet,
    /// The labels of the namespaces. `None`: whatever their labels.
    pub namespace_selector: Option<LabelSelector>,
}

#[derive(Deserialize)]
struct RawIndex {
    resource: String,
    name: String,
    pointer: String,
}

pub(super) fn index(json: &RawValue, at: &str) -> Result<IndexSpec, DescriptorError> {
    let raw: RawIndex = json::object(json, at, &INDEX_KEYS)?;
    check_name(&format!("{at}.name"), &raw.name)?;
    check_pointer_bounds(&format!("{at}.pointer"), &raw.pointer)?;
    let pointer = raw.pointer.parse().map_err(|e| error(at, format!("{e}")))?;
    let resource = resource(&raw.resource, at)?;
    Ok(IndexSpec { resource, name: raw.name, pointer, pointer_text: raw.pointer })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRead {
    resource: String,
    #[serde(default)]
    namespaces: RawNamespaces,
    namespace_selector: Option<String>,
}

pub(super) fn read(json: &RawValue, at: &str) -> Result<ReadSpec, DescriptorError> {
    let raw: RawRead = json::object(json, at, &READ_KEYS)?;
    let namespaces = namespaces(raw.namespaces, at)?;
    let resource = resource(&raw.resource, at)?;
    let namespace_selector = namespace_selector(raw.namespace_selector, &resource, at)?;
    Ok(ReadSpec { resource, namespaces, namespace_selector })
}

/// Reads a selector of namespaces, which objects without a namespace cannot have. An empty one selects all namespaces.
pub(super) fn namespace_selector(
    text: Option<String>,
    resource: &GroupVersionResource,
    at: &str,
) -> Result<Option<LabelSelector>, DescriptorError> {
    let problem = |problem: String| error(at, format!("namespaceSelector: {problem}"));
    let selector = label_selector(&text.unwrap_or_default()).map_err(problem)?;
    let selector = Some(selector).filter(|selector| !selector.is_everything());
    match selector.is_some() && is_cluster_scoped(resource) {
        true => Err(problem(format!(
            "objects of {resource} are in no namespace; select them by their own labels, with labelSelector"
        ))),
        false => Ok(selector),
    }
}

/// Checks that the names can be those of namespaces: they are shown, also in lines of configuration for copying.
pub(super) fn namespaces(names: RawNamespaces, at: &str) -> Result<NamespaceSet, DescriptorError> {
    let place = format!("{at}.namespaces");
    let names = names.entries(&place)?;
    names.iter().try_for_each(|name| check_bytes(&place, name, NAMESPACE_BYTES_MAX))?;
    match names.iter().find(|name| !is_namespace(name)) {
        Some(name) => {
            let problem = format!("namespaces: {name:?} cannot be the name of a namespace");
            Err(error(at, problem))
        }
        None => Ok(Arc::new(names.into_iter().collect())),
    }
}

impl Descriptor {
    pub(super) fn check_indexes(&self) -> Result<(), DescriptorError> {
        let resources = self.resources();
        let mut names = BTreeSet::new();
        for IndexSpec { resource, name, .. } in &self.indexes {
            if !names.insert((resource, name)) {
                let problem = format!("the name {name:?} is used twice for {resource}");
                return Err(error("indexes", problem));
            }
            if !resources.contains(resource) {
                let problem = format!(
                    "{name:?} is on {resource}, which is neither subscribed to nor among the reads"
                );
                return Err(error("indexes", problem));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The selector of namespaces of a subscription and of a read with these keys, or the problem of both.
    #[track_caller]
    fn check(resource: &str, selector: &str, expect: Result<&str, &str>) {
        for (list, at) in [("subscriptions", "subscriptions[0]"), ("reads", "reads[0]")] {
            let view = format!(r#"{{"resource":"{resource}","namespaceSelector":"{selector}"}}"#);
            let json = format!(r#"{{"version":"1","{list}":[{view}]}}"#);
            let parsed = Descriptor::parse(json.as_bytes()).map(|parsed| {
                let subscribed = parsed.subscriptions.iter().map(|it| &it.namespace_selector);
                let mut all =
                    subscribed.chain(parsed.reads.iter().map(|it| &it.namespace_selector));
                let selector = all.next().and_then(Option::as_ref).map(ToString::to_string);
                assert_eq!(parsed.needs_namespaces(), selector.is_some(), "{json}");
                selector.unwrap_or_default()
            });
            let problem = |text| format!("descriptor {at}: namespaceSelector: {text}");
            let parsed = parsed.map_err(|error| error.to_string());
            assert_eq!(parsed, expect.map(str::to_owned).map_err(problem), "{json}");
        }
    }

    #[test]
    fn namespaces_are_selected_by_labels() {
        check("v1/pods", "team=shop, env in (b,a)", Ok("team=shop,env in (a,b)"));
        check("example.com/v1/things", "!team", Ok("!team"));
        check("v1/pods", "", Ok(""));
        check("v1/nodes", "", Ok(""));
    }

    #[test]
    fn what_cannot_be_selected_so_is_refused() {
        let nodes = "objects of v1/nodes are in no namespace; select them by their own labels, with labelSelector";
        check("v1/nodes", "team=shop", Err(nodes));
        check("v1/namespaces", "team=shop", Err(&nodes.replace("v1/nodes", "v1/namespaces")));
        let many = vec!["!a"; 65].join(",");
        check("v1/pods", &many, Err("it has 65 requirements, at most 64 are read"));
    }
}
