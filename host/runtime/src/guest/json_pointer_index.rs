//! Indexes that plugins declare. Plugins with the same pointer share one index, which is removed with its last user.
//!
//! An object has at most `VALUES_MAX` values in an index: each value costs memory, and no queue bounds it. The objects
//! with more values are counted, because a plugin that searches for one of the other values does not find them.
//!
//! The memory and the informer's time that an index takes are charged in full to every plugin that uses it.

use crate::account::{Ledger, Overdraft, Weighed};
use crate::contract::descriptor::IndexSpec;
use crate::guest::load_steps::LoadSteps;
use crate::guest::reads::Reads;
use hashbrown::HashMap;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{DetachedIndex, IndexFunc, Indexer, JsonPointer, Object};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// The most values of one object in one index: as many as an EndpointSlice has endpoints.
pub(crate) const VALUES_MAX: usize = 1_000;

/// The indexes that plugins use, by resource and name in the resource's indexer. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SharedIndexes {
    used: Arc<Mutex<HashMap<IndexId, Arc<FilingCost>>>>,
    /// Indexes of many objects take seconds: they are filled for one version after the other.
    fills: LoadSteps,
}

/// The cost of an index.
#[derive(Default)]
struct FilingCost {
    /// Versions of objects with more values than the index took.
    cut: AtomicU64,
    /// The plugins that are charged with the index.
    payers: Mutex<Vec<Payer>>,
}

/// A plugin that uses an index, in one version or in two during a reload.
struct Payer {
    ledger: Arc<Ledger>,
    uses: usize,
    _size: Arc<IndexSize>,
}

/// The memory of an index, charged once to each plugin.
struct IndexSize {
    indexer: Indexer,
    name: String,
}

impl FilingCost {
    fn charge(&self, ledger: &Arc<Ledger>, indexer: &Indexer, name: &str) {
        let mut payers = self.payers.lock();
        if let Some(payer) = payers.iter_mut().find(|it| Arc::ptr_eq(&it.ledger, ledger)) {
            payer.uses += 1;
            return;
        }
        let size = Arc::new(IndexSize { indexer: indexer.clone(), name: name.to_owned() });
        let weighed: Weak<IndexSize> = Arc::downgrade(&size);
        ledger.weighs(weighed);
        payers.push(Payer { ledger: ledger.clone(), uses: 1, _size: size });
    }

    /// Returns whether nobody uses the index any more.
    fn discharge(&self, ledger: &Arc<Ledger>) -> bool {
        let mut payers = self.payers.lock();
        let own = payers.iter().position(|it| Arc::ptr_eq(&it.ledger, ledger));
        if let Some(payer) = own.and_then(|own| payers.get_mut(own)) {
            payer.uses -= 1;
        }
        payers.retain(|payer| payer.uses > 0);
        payers.is_empty()
    }

    /// The values of an object in the index.
    fn values(&self, pointer: &JsonPointer, object: &Object) -> Vec<String> {
        let began = Instant::now();
        let (values, is_cut) = pointer.first_values(&object.json(), VALUES_MAX);
        self.cut.fetch_add(u64::from(is_cut), Relaxed);
        let time = began.elapsed();
        self.payers.lock().iter().for_each(|payer| payer.ledger.evaluated(time));
        values
    }
}

/// The part of an account.
const INDEXES: &str = "indexes";

type IndexId = (GroupVersionResource, String);

/// The reason for which indexes are not filled.
pub(crate) enum FillError {
    /// The plugin's account has no room for them.
    Room(Overdraft),
    /// The plugin or the fill has ended.
    Ended(String),
}

/// One plugin version's use of an index. Dropping it ends the use.
pub(crate) struct IndexUse {
    id: IndexId,
    indexer: Indexer,
    indexes: SharedIndexes,
    payer: Arc<Ledger>,
}

impl SharedIndexes {
    /// Makes sure that the index of this pointer is declared, and charges it to the account. Nobody reads it before
    /// [`IndexUse::fill`].
    pub(crate) fn declare(
        &self,
        indexer: &Indexer,
        index: &IndexSpec,
        payer: &Arc<Ledger>,
    ) -> Arc<IndexUse> {
        let name = format!("pointer:{}", index.pointer_text);
        let id = (index.resource.clone(), name);
        let filing = {
            let mut used = self.used.lock();
            let filing = used.entry(id.clone()).or_default();
            filing.charge(payer, indexer, &id.1);
            filing.clone()
        };
        let pointer = index.pointer.clone();
        let values = move |object: &Object| filing.values(&pointer, object);
        // The index exists already if another plugin declared it first.
        let _ = indexer.declare_index(&id.1, IndexFunc::new(values));
        let (indexer, indexes, payer) = (indexer.clone(), self.clone(), payer.clone());
        Arc::new(IndexUse { id, indexer, indexes, payer })
    }

    /// Fills the indexes of a version, before it reads, while the account has room for them and the plugin has not
    /// `ended`.
    pub(crate) async fn fill(
        &self,
        reads: &Arc<Reads>,
        (ledger, most): (Arc<Ledger>, u64),
        ended: CancellationToken,
    ) -> Result<(), FillError> {
        if !reads.has_indexes() {
            return Ok(());
        }
        let reads = reads.clone();
        let fill = move || {
            let mut room = Ok(());
            reads.fill_indexes(|| {
                room = ledger.check_weighed(INDEXES, most);
                room.is_ok() && !ended.is_cancelled()
            });
            match ended.is_cancelled() {
                true => Err(FillError::Ended("the plugin has ended".to_owned())),
                false => room.map_err(FillError::Room),
            }
        };
        let filled = self.fills.run(fill).await;
        filled.unwrap_or_else(|error| Err(FillError::Ended(error.to_string())))
    }

    /// How often an object had more values than the index took, by the resource and the pointer of the index.
    pub(crate) fn cut(&self) -> BTreeMap<(String, String), u64> {
        let used = self.used.lock();
        let cut = used.iter().map(|((resource, name), filing)| {
            let pointer = name.trim_start_matches("pointer:").to_owned();
            ((resource.to_string(), pointer), filing.cut.load(Relaxed))
        });
        cut.collect()
    }
}

impl IndexUse {
    /// Files the objects of the indexer, unless another user has. It takes long where the objects are many.
    pub(crate) fn fill(&self, goes_on: impl FnMut() -> bool) {
        self.indexer.fill_index(self.name(), goes_on);
    }

    /// The index's name in the shared indexer.
    pub(crate) fn name(&self) -> &str {
        &self.id.1
    }
}

impl Weighed for IndexSize {
    fn part(&self) -> &'static str {
        INDEXES
    }

    fn bytes(&self) -> u64 {
        self.indexer.index_bytes(&self.name) as u64
    }
}

impl Drop for IndexUse {
    fn drop(&mut self) {
        let mut used = self.indexes.used.lock();
        if used.get(&self.id).is_some_and(|filing| filing.discharge(&self.payer)) {
            used.remove(&self.id);
            // Under the lock: the next `declare` adds the index after this.
            let detached = self.indexer.detach_index(&self.id.1);
            drop(used);
            drop_aside(detached);
        }
    }
}

/// Frees the entries on a thread that may be busy, where there is a runtime.
fn drop_aside(detached: Option<DetachedIndex>) {
    if let (Some(detached), Ok(runtime)) = (detached, Handle::try_current()) {
        drop(runtime.spawn_blocking(move || drop(detached)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str) -> IndexSpec {
        IndexSpec {
            resource: "v1/pods".parse().expect("a resource"),
            name: name.to_owned(),
            pointer: "/spec/nodeName".parse().expect("a pointer"),
            pointer_text: "/spec/nodeName".to_owned(),
        }
    }

    #[track_caller]
    fn check(indexer: &Indexer, exists: bool) {
        assert_eq!(indexer.index_values("pointer:/spec/nodeName", 0, None).is_ok(), exists);
    }

    #[test]
    fn an_index_lives_as_long_as_somebody_uses_it() {
        let (indexes, indexer) = (SharedIndexes::default(), Indexer::default());
        let one = indexes.declare(&indexer, &spec("node"), &Arc::default());
        let other = indexes.declare(&indexer, &spec("by-node"), &Arc::default());
        check(&indexer, false);
        one.fill(|| true);
        assert_eq!(one.name(), other.name());
        drop(one);
        check(&indexer, true);
        drop(other);
        check(&indexer, false);
        let again = indexes.declare(&indexer, &spec("node"), &Arc::default());
        again.fill(|| true);
        check(&indexer, true);
        drop(again);
        assert!(indexes.used.lock().is_empty());
    }

    fn pod(nodes: usize) -> Object {
        let values: Vec<usize> = (0..nodes).collect();
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{{"nodeName":{values:?}}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
    }

    #[test]
    fn values_of_one_object_are_bounded_and_counted() {
        let filing = FilingCost::default();
        let pointer: JsonPointer = "/spec/nodeName/*".parse().expect("a pointer");
        assert_eq!(filing.values(&pointer, &pod(VALUES_MAX)).len(), VALUES_MAX);
        assert_eq!(filing.cut.load(Relaxed), 0);
        assert_eq!(filing.values(&pointer, &pod(VALUES_MAX + 1)).len(), VALUES_MAX);
        assert_eq!(filing.cut.load(Relaxed), 1);
    }

    #[test]
    fn an_index_is_charged_to_whoever_uses_it_for_as_long_as_that_is() {
        let (indexes, indexer) = (SharedIndexes::default(), Indexer::default());
        let [one, other] = [0; 2].map(|_| Arc::<Ledger>::default());
        let used = [&one, &other].map(|ledger| indexes.declare(&indexer, &spec("node"), ledger));
        let filing = indexes.used.lock().values().next().expect("one").clone();
        let pointer: JsonPointer = "/spec/nodeName/*".parse().expect("a pointer");
        filing.values(&pointer, &pod(10));
        assert!(!one.evaluation().is_zero());
        assert_eq!(one.evaluation(), other.evaluation());
        let [first, _second] = used;
        drop(first);
        filing.values(&pointer, &pod(10));
        assert!(one.evaluation() < other.evaluation());
    }
}
