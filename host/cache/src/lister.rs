//! The cache as typed objects. Answers to client-go's generated listers.
//!
//! Objects are kept as bytes, and each read decodes. A caller that needs one field of many objects
//! reads it from [`Object::json`](crate::Object::json) instead.

use crate::indexer::{Indexer, IndexerError, Page};
use crate::object::{Object, ObjectKey};
use informant_apimachinery::LabelSelector;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A typed read that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum ListerError {
    /// The cache refuses.
    #[error(transparent)]
    Indexer(#[from] IndexerError),
    /// The object is not one of this type.
    #[error("object {key} cannot be read as {kind}: {error}")]
    Decode {
        /// The object.
        key: ObjectKey,
        /// The Rust type.
        kind: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
}

/// Reads one resource's cache as `K`: k8s-openapi's `Pod`, kube's `DynamicObject`, or any type of one's own that
/// has the fields one needs, which decodes the faster the fewer it has.
///
/// The cache has no `managedFields`, which an API server keeps as they are where an update has none. So an object that was read here may
/// replace the one in the cluster, changed. That is not so where the source was told to leave more out
/// ([`ApiServer::without_last_applied`](crate::ApiServer::without_last_applied), a [`Transform`](crate::Transform), metadata alone): there,
/// patch the object, or read it from the API server first.
///
/// ```
/// # use informant_cache::{Indexer, Lister, ListerError};
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn example(indexer: Indexer) -> Result<(), ListerError> {
/// let pods = Lister::<Pod>::new(indexer);
/// let web = pods.namespace("default").get("web-0")?;
/// let of_app = pods.list(&"app=web".parse().expect("a selector"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lister<K> {
    indexer: Indexer,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { indexer: self.indexer.clone(), kind: PhantomData }
    }
}

impl<K: DeserializeOwned> Lister<K> {
    /// That `indexer` holds objects of this type is the caller's knowledge; where it does not, reads fail.
    pub fn new(indexer: Indexer) -> Self {
        Self { indexer, kind: PhantomData }
    }

    /// The object, or `None` where the cache does not have it, be it not synced yet (client-go answers a
    /// NotFound error in both cases).
    pub fn get(&self, key: &ObjectKey) -> Result<Option<K>, ListerError> {
        self.indexer.get(key).as_ref().map(decode).transpose()
    }

    /// All objects that the selector matches, by key, of one state of the cache.
    pub fn list(&self, selector: &LabelSelector) -> Result<Vec<K>, ListerError> {
        Ok(self.page(None, selector, 0, None)?.items)
    }

    /// The same of one namespace. The empty one holds what has no namespace; client-go's stands for all.
    pub fn namespace(&self, namespace: impl Into<String>) -> NamespaceLister<K> {
        NamespaceLister { lister: self.clone(), namespace: namespace.into() }
    }

    /// As [`Indexer::list`].
    pub fn page(
        &self,
        namespace: Option<&str>,
        selector: &LabelSelector,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<K>, ListerError> {
        typed(self.indexer.list(namespace, selector, limit, cursor)?)
    }

    /// As [`Indexer::by_index`].
    pub fn by_index(
        &self,
        index: &str,
        value: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<K>, ListerError> {
        typed(self.indexer.by_index(index, value, limit, cursor)?)
    }
}

/// A [`Lister`] of one namespace.
#[derive(Debug)]
pub struct NamespaceLister<K> {
    lister: Lister<K>,
    namespace: String,
}

impl<K> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self { lister: self.lister.clone(), namespace: self.namespace.clone() }
    }
}

impl<K: DeserializeOwned> NamespaceLister<K> {
    /// As [`Lister::get`], by name.
    pub fn get(&self, name: &str) -> Result<Option<K>, ListerError> {
        self.lister.get(&ObjectKey::new(&self.namespace, name))
    }

    /// As [`Lister::list`].
    pub fn list(&self, selector: &LabelSelector) -> Result<Vec<K>, ListerError> {
        Ok(self.lister.page(Some(&self.namespace), selector, 0, None)?.items)
    }
}

fn typed<K: DeserializeOwned>(page: Page<Object>) -> Result<Page<K>, ListerError> {
    let items = page.items.iter().map(decode).collect::<Result<_, _>>()?;
    Ok(Page { items, next: page.next })
}

/// The object as `K`.
pub(crate) fn decode<K: DeserializeOwned>(object: &Object) -> Result<K, ListerError> {
    serde_json::from_slice(&object.json()).map_err(|error| ListerError::Decode {
        key: object.key().clone(),
        kind: std::any::type_name::<K>(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexer::Write;
    use k8s_openapi::api::core::v1::{Node, Pod};

    fn cache() -> Indexer {
        let indexer = Indexer::default();
        for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "n1")] {
            let json = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"d","name":"{name}","labels":{{"app":"{name}"}}}},"spec":{{"containers":[],"nodeName":"{node}"}}}}"#
            );
            let pod = Object::decode(json.as_bytes(), None).expect("it decodes");
            indexer.write().put(pod, Write::Watched);
        }
        indexer
    }

    #[track_caller]
    fn check(page: Page<Pod>, names: &[&str], next: bool) {
        let found: Vec<_> =
            page.items.iter().map(|pod| pod.metadata.name.as_deref().unwrap_or_default()).collect();
        assert_eq!((found.as_slice(), page.next.is_some()), (names, next));
    }

    #[test]
    fn objects_are_read_as_what_they_are() {
        let lister = Lister::<Pod>::new(cache());
        let pod = lister.get(&ObjectKey::new("d", "a")).expect("a pod").expect("it is there");
        assert_eq!(pod.spec.and_then(|spec| spec.node_name).as_deref(), Some("n1"));
        assert!(lister.get(&ObjectKey::new("d", "x")).expect("no failure").is_none());
        let everything = LabelSelector::default();
        check(lister.page(Some("d"), &everything, 2, None).expect("a page"), &["a", "b"], true);
    }

    #[test]
    fn a_namespace_is_read_by_name_and_selector() {
        let pods = Lister::<Pod>::new(cache());
        assert!(pods.namespace("d").get("b").expect("a pod").is_some());
        assert!(pods.namespace("other").get("b").expect("no failure").is_none());
        let count = |selector: &str| {
            let selector = selector.parse().expect("a selector");
            let of = |namespace| pods.namespace(namespace).list(&selector).expect("pods").len();
            [pods.list(&selector).expect("pods").len(), of("d"), of("other"), of("")]
        };
        assert_eq!(count(""), [3, 3, 0, 0]);
        assert_eq!(count("app=a"), [1, 1, 0, 0]);
    }

    #[test]
    fn any_type_that_can_be_decoded_can_be_listed() {
        #[derive(serde::Deserialize)]
        struct OnNode {
            spec: Spec,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            node_name: String,
        }
        let nodes = Lister::<OnNode>::new(cache()).list(&LabelSelector::default());
        let nodes: Vec<_> = nodes.expect("pods").into_iter().map(|p| p.spec.node_name).collect();
        assert_eq!(nodes, ["n1", "n2", "n1"]);
        let dynamic = Lister::<serde_json::Value>::new(cache()).namespace("d").get("a");
        let dynamic = dynamic.expect("no failure").expect("it is there");
        assert_eq!(dynamic["spec"]["nodeName"], "n1");
    }

    #[test]
    fn indexes_are_read_typed() {
        let indexer = cache();
        let pointer = "/spec/nodeName".parse().expect("a pointer");
        indexer.add_index("node", crate::IndexFunc::json_pointer(pointer)).expect("it is new");
        let lister = Lister::<Pod>::new(indexer);
        check(lister.by_index("node", "n1", 0, None).expect("a page"), &["a", "c"], false);
    }

    #[test]
    fn an_object_of_another_type_is_an_error_that_names_it() {
        let error = Lister::<Node>::new(cache()).get(&ObjectKey::new("d", "a")).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("object d/a cannot be read as k8s_openapi"), "{error}");
    }
}
