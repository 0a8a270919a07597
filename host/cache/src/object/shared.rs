//! What many objects have in common is kept once: sets of labels, and of owners.
//!
//! The Pods of one ReplicaSet have the same labels and the same owner; so have a million of them. Nothing is kept for long that
//! no object has any more: objects that are dropped pay for looking through a part of the table now and then.

use super::words::{LabelWords, OwnerReference, Words, with_bytes};
use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts of each table: looking through one of a million entries takes some hundred microseconds.
const PARTS: usize = 64;
/// Objects dropped for one part looked through. So labels that only dropped objects had are gone at the latest after
/// `PARTS * DROPS_PER_LOOK` more, and owners after twice as many.
const DROPS_PER_LOOK: usize = 64;

static SHARED: LazyLock<SharedWords> = LazyLock::new(SharedWords::default);

/// The one for all of the process: objects of several informers have labels and owners in common, too.
pub(super) fn shared() -> &'static SharedWords {
    &SHARED
}

/// Lists of words. Equal owners are one list, and equal labels of equal owners are one list.
#[derive(Debug, Default)]
pub(super) struct SharedWords {
    hasher: DefaultHashBuilder,
    owners: Table<()>,
    /// Behind the owners.
    labels: Table<Words>,
    dropped: AtomicUsize,
}

/// Lists behind an `H`.
#[derive(Debug)]
struct Table<H>([Mutex<HashTable<Words<H>>>; PARTS]);

/// The value in front of a list.
pub(super) trait Front: Clone {
    /// Equal values have the same number while a list has one of them, and others have another number.
    fn identity(&self) -> usize;
}

impl Front for () {
    fn identity(&self) -> usize {
        0
    }
}

impl Front for Words {
    fn identity(&self) -> usize {
        self.address()
    }
}

fn hash_of(hasher: &DefaultHashBuilder, front: &impl Front, bytes: &[u8]) -> u64 {
    hasher.hash_one((front.identity(), bytes))
}

impl<H: Front> Words<H> {
    fn hash(&self, hasher: &DefaultHashBuilder) -> u64 {
        hash_of(hasher, self.front(), self.bytes())
    }
}

impl<H> Default for Table<H> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl<H: Front> Table<H> {
    fn words(&self, hasher: &DefaultHashBuilder, front: H, bytes: &[u8]) -> Words<H> {
        let hash = hash_of(hasher, &front, bytes);
        // The table itself goes by the lowest and the highest bits.
        let mut part = self.0[(hash >> 32) as usize % PARTS].lock();
        let same = |known: &Words<H>| {
            known.bytes() == bytes && known.front().identity() == front.identity()
        };
        if let Some(known) = part.find(hash, same) {
            return known.clone();
        }
        let words = Words::new(front, bytes);
        part.insert_unique(hash, words.clone(), |known| known.hash(hasher));
        words
    }

    /// Forgets what nobody else has. Nobody can get at it meanwhile: that takes the same lock.
    fn look_through(&self, hasher: &DefaultHashBuilder, part: usize) {
        let mut part = self.0[part].lock();
        part.retain(|known| known.handles() > 1);
        if part.len() < part.capacity() / 4 {
            part.shrink_to_fit(|known| known.hash(hasher));
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().map(|part| part.lock().len()).sum()
    }
}

impl SharedWords {
    /// The labels of an object, with its owners in front of them.
    pub(super) fn labels<T: AsRef<str>>(
        &self,
        labels: &[(T, T)],
        owners: &[OwnerReference<'_>],
    ) -> LabelWords {
        let owners = self.owners(owners);
        let words = labels.iter().flat_map(|(key, value)| [key.as_ref(), value.as_ref()]);
        with_bytes(words, |bytes| self.labels.words(&self.hasher, owners, bytes))
    }

    fn owners(&self, owners: &[OwnerReference<'_>]) -> Words {
        let words = owners.iter().flat_map(OwnerReference::words);
        with_bytes(words, |bytes| self.owners.words(&self.hasher, (), bytes))
    }

    /// An object is being dropped.
    pub(super) fn dropped(&self) {
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed);
        if dropped.is_multiple_of(DROPS_PER_LOOK) {
            let part = dropped / DROPS_PER_LOOK % PARTS;
            // Labels first: owners that only dropped labels had may go in the same look.
            self.labels.look_through(&self.hasher, part);
            self.owners.look_through(&self.hasher, part);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.labels.len() + self.owners.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> OwnerReference<'_> {
        OwnerReference { name: name.into(), ..OwnerReference::default() }
    }

    #[test]
    fn equal_labels_of_equal_owners_are_one() {
        let shared = SharedWords::default();
        let labels = [("app", "web"), ("tier", "app")];
        for owners in [&[][..], &[owner("web")]] {
            let web = shared.labels(&labels, owners);
            assert!(web.same_handle(&shared.labels(&labels, owners)));
            let others = [
                shared.labels(&[("tier", "app"), ("app", "web")], owners),
                shared.labels(&[("app", "web")], owners),
                shared.labels::<&str>(&[], owners),
                shared.labels(&[("appw", "eb"), ("tier", "app")], owners),
            ];
            for other in others {
                assert!(!web.same_handle(&other), "{other:?}");
                assert!(web.front().same_handle(other.front()));
            }
            assert!(!web.same_handle(&shared.labels(&labels, &[owner("other")])));
        }
    }

    #[test]
    fn owners_are_shared_only_where_all_is_equal() {
        let shared = SharedWords::default();
        let owner = |uid: &str, controller: &str| {
            let json =
                format!(r#"[{{"kind":"ReplicaSet","name":"web","uid":"{uid}"{controller}}}]"#);
            let owners = serde_json::from_str::<Vec<OwnerReference<'_>>>(&json).expect("owners");
            let words = shared.owners(&owners);
            assert_eq!(words.owners().collect::<Vec<_>>(), owners);
            words
        };
        let one = owner("1", "");
        assert!(one.same_handle(&owner("1", "")));
        let yes = r#","controller":true"#;
        assert!(owner("1", yes).same_handle(&owner("1", yes)));
        for other in [owner("2", ""), owner("1", yes), owner("1", r#","controller":false"#)] {
            assert!(!one.same_handle(&other));
        }
    }

    #[test]
    fn what_no_object_has_any_more_is_forgotten() {
        let shared = SharedWords::default();
        let kept = shared.labels(&[("app", "kept")], &[]);
        let mut most = 0;
        for number in 0..50_000 {
            let name = format!("web-{number}");
            drop(shared.labels(&[("pod-name", name.as_str())], &[owner(&name)]));
            shared.dropped();
            most = most.max(shared.len());
        }
        // Labels of one round and owners of two.
        let garbage_max = 2 + 3 * PARTS * DROPS_PER_LOOK;
        assert!(
            most <= garbage_max,
            "{most} is more than the lists of those that were just dropped"
        );
        for _ in 0..2 * PARTS * DROPS_PER_LOOK {
            shared.dropped();
        }
        assert_eq!(shared.len(), 2, "the set that is kept, and its owners, which are none");
        assert_eq!(kept.value("app"), Some("kept"));
    }

    #[test]
    fn threads_that_share_and_drop_at_once_agree() {
        let shared = SharedWords::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..5000 {
                        let name = format!("{}", number % 7);
                        let set = shared.labels(&[("name", name.as_str())], &[]);
                        assert_eq!(set.value("name"), Some(name.as_str()));
                        drop(set);
                        shared.dropped();
                    }
                });
            }
        });
        for _ in 0..2 * PARTS * DROPS_PER_LOOK {
            shared.dropped();
        }
        assert_eq!(shared.len(), 0);
    }
}
