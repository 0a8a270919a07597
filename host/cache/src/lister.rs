//! The cache as typed objects. Answers to client-go's generated listers.
//!
//! Objects rest as bytes: each read decodes, so whoever needs one field of many objects reads it from
//! [`Object::json`](crate::Object::json) instead.

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

/// Reads one resource's cache as `K`, for example k8s-openapi's `Pod`.
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

    /// The object, if it is there.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<K>, ListerError> {
        self.indexer.get(key).as_ref().map(decode).transpose()
    }

    /// As [`Indexer::list`].
    pub fn list(
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

fn typed<K: DeserializeOwned>(page: Page<Object>) -> Result<Page<K>, ListerError> {
    let items = page.items.iter().map(decode).collect::<Result<_, _>>()?;
    Ok(Page { items, next: page.next })
}

fn decode<K: DeserializeOwned>(object: &Object) -> Result<K, ListerError> {
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
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"d","name":"{name}"}},"spec":{{"containers":[],"nodeName":"{node}"}}}}"#
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
        check(lister.list(Some("d"), &everything, 2, None).expect("a page"), &["a", "b"], true);
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
