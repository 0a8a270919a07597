//! Indexes that plugins declare. Plugins with the same pointer share one index, which is removed with its last user.
//!
//! An object has at most `VALUES_MAX` values in all indexes of a plugin together. Each index has an equal share: each
//! value costs memory, which no queue bounds, and the informer's task replaces the values with each change. The objects
//! with more values are counted, because a plugin that searches for one of the other values does not find them.
//!
//! The memory and the informer's time that an index takes are charged in full to every plugin that uses it.

use crate::account::{INDEXES, Ledger, Overdraft, Weighed};
use crate::contract::descriptor::IndexSpec;
use crate::guest::load_steps::LoadSteps;
use crate::guest::reads::Reads;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{DetachedIndex, IndexFunc, Indexer, Object};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// The most values of one object in all indexes of one plugin over its resource: as many as an EndpointSlice has
/// endpoints. If all of them change with each change of the object, they cost its informer a millisecond or two.
pub(crate) const VALUES_MAX: usize = 1_000;

/// Turns of the writer for one plugin, before the next plugin's indexes are filled: a fraction of a second.
const FILL_TURNS: usize = 64;

/// The indexes that plugins use. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SharedIndexes {
    used: Arc<Mutex<BTreeMap<IndexId, Arc<FilingCost>>>>,
    /// Indexes of many objects take seconds: they are filled for one plugin at a time, for so many turns.
    fills: LoadSteps,
}

/// An index in the indexer of its resource. Plugins whose shares of values differ share no index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct IndexId {
    resource: GroupVersionResource,
    pointer: String,
    values_max: usize,
}

impl IndexId {
    fn name(&self) -> String {
        format!("pointer:{}:{}", self.values_max, self.pointer)
    }
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

    /// Charges the time of filing an object.
    fn took(&self, time: Duration) {
        self.payers.lock().iter().for_each(|payer| payer.ledger.evaluated(time));
    }
}

/// Files an object under its first values.
fn index_func(spec: &IndexSpec, values_max: usize, cost: &Arc<FilingCost>) -> IndexFunc {
    let (pointer, counted, charged) = (spec.pointer.clone(), cost.clone(), cost.clone());
    let values = move |object: &Object| {
        let (values, is_cut) = pointer.first_values(&object.json(), values_max);
        counted.cut.fetch_add(u64::from(is_cut), Relaxed);
        values
    };
    IndexFunc::new(values).charged_to(move |time| charged.took(time))
}

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
    /// The index's name in the shared indexer.
    name: String,
    indexer: Indexer,
    indexes: SharedIndexes,
    payer: Arc<Ledger>,
}

impl SharedIndexes {
    /// Makes sure that the index of this pointer is declared, and charges it to the account. It is one of so many
    /// indexes of the plugin over the resource. Nobody reads it before [`IndexUse::fill`].
    pub(crate) fn declare(
        &self,
        indexer: &Indexer,
        (spec, among): (&IndexSpec, usize),
        payer: &Arc<Ledger>,
    ) -> Arc<IndexUse> {
        let (resource, pointer) = (spec.resource.clone(), spec.pointer_text.clone());
        let values_max = VALUES_MAX / among.max(1);
        let id = IndexId { resource, pointer, values_max };
        let name = id.name();
        let filing = {
            let mut used = self.used.lock();
            let filing = used.entry(id.clone()).or_default();
            filing.charge(payer, indexer, &name);
            filing.clone()
        };
        // The index exists already if another plugin declared it first.
        let _ = indexer.declare_index(&name, index_func(spec, values_max, &filing));
        let (indexer, indexes, payer) = (indexer.clone(), self.clone(), payer.clone());
        Arc::new(IndexUse { id, name, indexer, indexes, payer })
    }

    /// Fills the indexes of a version, before it reads, while the account has room for them and the plugin has not
    /// `ended`. Plugins take turns.
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
        let turn = move || {
            let (mut room, mut turns) = (Ok(()), 0);
            let filled = reads.fill_indexes(|| {
                room = ledger.check_indexes(most);
                turns += 1;
                room.is_ok() && !ended.is_cancelled() && turns <= FILL_TURNS
            });
            match ended.is_cancelled() {
                true => Err(FillError::Ended("the plugin has ended".to_owned())),
                false => room.map(|()| filled).map_err(FillError::Room),
            }
        };
        in_turns(self.fills.clone(), turn).await
    }

    /// How often an object had more values than the index took, by the resource and the pointer of the index.
    pub(crate) fn cut(&self) -> BTreeMap<(String, String), u64> {
        let mut cut = BTreeMap::new();
        for (id, filing) in &*self.used.lock() {
            let of_pointer = cut.entry((id.resource.to_string(), id.pointer.clone())).or_default();
            *of_pointer += filing.cut.load(Relaxed);
        }
        cut
    }
}

/// Fills until a turn returns that all is filled. Each turn waits for one of every other plugin that waits.
async fn in_turns(
    fills: LoadSteps,
    turn: impl FnMut() -> Result<bool, FillError> + Send + 'static,
) -> Result<(), FillError> {
    let turn = Arc::new(Mutex::new(turn));
    loop {
        let turn = turn.clone();
        let filled = fills.run(move || (*turn.lock())()).await;
        if filled.unwrap_or_else(|error| Err(FillError::Ended(error.to_string())))? {
            return Ok(());
        }
    }
}

impl IndexUse {
    /// Files the objects of the indexer, unless another user has. It takes long where the objects are many. Returns
    /// whether the index is complete.
    pub(crate) fn fill(&self, goes_on: impl FnMut() -> bool) -> bool {
        self.indexer.fill_index(&self.name, goes_on)
    }

    /// The index's name in the shared indexer.
    pub(crate) fn name(&self) -> &str {
        &self.name
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
            let detached = self.indexer.detach_index(&self.name);
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
    use informant_cache::{ObjectKey, Store};

    fn spec(name: &str) -> IndexSpec {
        IndexSpec {
            resource: "v1/pods".parse().expect("a resource"),
            name: name.to_owned(),
            pointer: "/spec/nodeName".parse().expect("a pointer"),
            pointer_text: "/spec/nodeName".to_owned(),
        }
    }

    fn declare(indexes: &SharedIndexes, indexer: &Indexer, name: &str) -> Arc<IndexUse> {
        indexes.declare(indexer, (&spec(name), 1), &Arc::default())
    }

    #[track_caller]
    fn check(indexer: &Indexer, exists: bool) {
        assert_eq!(indexer.index_values("pointer:1000:/spec/nodeName", 0, None).is_ok(), exists);
    }

    #[test]
    fn an_index_lives_as_long_as_somebody_uses_it() {
        let (indexes, indexer) = (SharedIndexes::default(), Indexer::default());
        let one = declare(&indexes, &indexer, "node");
        let other = declare(&indexes, &indexer, "by-node");
        check(&indexer, false);
        one.fill(|| true);
        assert_eq!(one.name(), other.name());
        drop(one);
        check(&indexer, true);
        drop(other);
        check(&indexer, false);
        let again = declare(&indexes, &indexer, "node");
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

    /// A Pod with so many values, in so many indexes of one plugin.
    #[track_caller]
    fn check_values(values: usize, among: usize, filed: usize, cut: u64) {
        let (indexes, store, payer) = (SharedIndexes::default(), Store::default(), Arc::default());
        let mut every = spec("every");
        every.pointer = "/spec/nodeName/*".parse().expect("a pointer");
        let declare = |number: usize| {
            every.pointer_text = number.to_string();
            indexes.declare(store.indexer(), (&every, among), &payer)
        };
        store.put(pod(values));
        let used: Vec<_> = (0..among).map(declare).collect();
        assert!(used.iter().all(|index| index.fill(|| true)));
        let of_index = |index: &Arc<IndexUse>| {
            store.indexer().index_values(index.name(), 0, None).expect("it is filled").items.len()
        };
        assert_eq!(used.iter().map(of_index).sum::<usize>(), filed);
        assert_eq!(indexes.cut().values().sum::<u64>(), cut);
    }

    #[test]
    fn values_of_one_object_are_bounded_and_counted() {
        check_values(VALUES_MAX, 1, VALUES_MAX, 0);
        check_values(VALUES_MAX + 1, 1, VALUES_MAX, 1);
        check_values(VALUES_MAX / 2, 2, VALUES_MAX, 0);
        check_values(VALUES_MAX, 16, 16 * (VALUES_MAX / 16), 16);
    }

    #[test]
    fn an_index_is_charged_to_whoever_uses_it_for_as_long_as_that_is() {
        let (indexes, store) = (SharedIndexes::default(), Store::default());
        let [one, other] = [0; 2].map(|_| Arc::<Ledger>::default());
        let declare = |ledger| indexes.declare(store.indexer(), (&spec("node"), 1), ledger);
        let [first, _second] = [&one, &other].map(declare);
        store.put(pod(10));
        assert!(!one.evaluation().is_zero());
        assert_eq!(one.evaluation(), other.evaluation());
        drop(first);
        store.remove(&ObjectKey::new("", "p"));
        assert!(one.evaluation() < other.evaluation());
    }

    #[tokio::test]
    async fn indexes_are_filled_for_one_plugin_after_the_other_in_turns() {
        let (steps, turns) = (LoadSteps::default(), Arc::new(Mutex::new(Vec::new())));
        let fill = |plugin: &'static str, count: usize| {
            let (steps, turns) = (steps.clone(), turns.clone());
            in_turns(steps, move || {
                let mut turns = turns.lock();
                turns.push(plugin);
                Ok(turns.iter().filter(|it| **it == plugin).count() == count)
            })
        };
        let (large, small) = tokio::join!(fill("large", 9), fill("small", 2));
        assert!(large.is_ok() && small.is_ok());
        assert_eq!(turns.lock()[..4], ["large", "small", "large", "small"]);
    }
}
