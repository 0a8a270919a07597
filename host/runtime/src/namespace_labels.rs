//! Labels of namespaces, for selectors in subscriptions, reads and grants of writes.

use informant_apimachinery::{GroupVersionResource, LabelRequirement, LabelSelector};
use informant_cache::{Indexer, Object, ObjectKey, Scope};
use std::collections::HashSet;

/// The resource of the namespaces.
pub fn namespaces() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "namespaces")
}

/// The scope in which their labels are read: all of them, as metadata.
pub(crate) fn namespaces_scope() -> Scope {
    Scope::all().metadata_only()
}

/// A selector, and the labels of the namespaces in the cache.
#[derive(Debug, Clone)]
pub(crate) struct NamespaceLabels {
    selector: LabelSelector,
    namespaces: Indexer,
}

impl NamespaceLabels {
    pub(crate) fn new(selector: &LabelSelector, namespaces: Indexer) -> Self {
        Self { selector: selector.clone(), namespaces }
    }

    /// Whether the selector selects the namespace by its present labels. An unknown namespace is not selected.
    pub(crate) fn select(&self, namespace: &str) -> bool {
        let found = self.namespaces.get(&ObjectKey::new("", namespace));
        found.is_some_and(|found| self.are_met_by(&found))
    }

    /// The selected namespaces in the cache.
    pub(crate) fn selected(&self) -> HashSet<Box<str>> {
        let listed = self.namespaces.list(None, &self.selector, 0, None).map(|page| page.items);
        listed.unwrap_or_default().iter().map(|found| found.key().name().into()).collect()
    }

    /// The number of all namespaces in the cache.
    pub(crate) fn count(&self) -> usize {
        self.namespaces.count(None)
    }

    pub(crate) fn selector(&self) -> &LabelSelector {
        &self.selector
    }

    /// Whether this state of a namespace is selected.
    pub(crate) fn are_met_by(&self, namespace: &Object) -> bool {
        self.unmet(namespace).is_none()
    }

    fn unmet(&self, namespace: &Object) -> Option<&LabelRequirement> {
        self.selector.unmet(|key| namespace.label(key))
    }

    /// The reason for which the selector does not select a namespace, if the present labels have one. `shows`: with the
    /// label and the requirement, which tells the label if it excludes a value.
    pub(crate) fn refusal(&self, namespace: &str, shows: bool) -> Option<String> {
        let selector = &self.selector;
        if namespace.is_empty() {
            return Some(format!("namespaceSelector {selector}: the object is in no namespace"));
        }
        let Some(found) = self.namespaces.get(&ObjectKey::new("", namespace)) else {
            let why = format!("the cache has no namespace {namespace:?}");
            return Some(format!("namespaceSelector {selector}: {why}"));
        };
        let unmet = self.unmet(&found)?;
        if !shows {
            return Some(format!(
                "namespaceSelector: the labels of namespace {namespace} are not selected"
            ));
        }
        let label = match found.label(&unmet.key) {
            Some(value) => format!("is {value}"),
            None => "is missing".to_owned(),
        };
        let label = format!("label {} of namespace {namespace} {label}", unmet.key);
        Some(format!("namespaceSelector {unmet}: {label}"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use informant_cache::Store;

    /// A namespace with these labels, as JSON without braces.
    pub(crate) fn namespace(name: &str, labels: &str) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}","labels":{{{labels}}}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("an object")
    }

    #[test]
    fn a_refusal_has_the_label() {
        let store = Store::default();
        store.put(namespace("a", r#""team":"db""#));
        store.put(namespace("b", ""));
        let selector = "team=shop,!old".parse().expect("a selector");
        let labels = NamespaceLabels::new(&selector, store.indexer().clone());
        let check = |namespace: &str, expect: Option<&str>| {
            let refusal = labels.refusal(namespace, true);
            let refusal = refusal.as_ref().map(|it| it.strip_prefix("namespaceSelector "));
            assert_eq!(refusal, expect.map(Some));
            assert_eq!(labels.select(namespace), expect.is_none());
        };
        check("a", Some("team=shop: label team of namespace a is db"));
        let hidden = "namespaceSelector: the labels of namespace a are not selected";
        assert_eq!(labels.refusal("a", false).as_deref(), Some(hidden));
        check("b", Some("team=shop: label team of namespace b is missing"));
        check("c", Some(r#"team=shop,!old: the cache has no namespace "c""#));
        check("", Some("team=shop,!old: the object is in no namespace"));
        store.put(namespace("a", r#""team":"shop""#));
        check("a", None);
    }
}
