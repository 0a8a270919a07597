//! What many objects have in common is kept once: sets of labels, their words, and sets of owners.
//!
//! The Pods of one ReplicaSet have the same labels and the same owner; so have a million of them. Nothing is kept for long that
//! no object has any more: objects that are dropped pay for looking through a part of the tables now and then.

use super::OwnerReference;
use super::decode::Owner;
use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The labels of an object, in the order of its bytes.
pub(super) type Labels = Arc<[(Arc<str>, Arc<str>)]>;
/// The owners of an object.
pub(super) type Owners = Arc<[OwnerReference]>;

/// Parts of a table: looking through one of a million entries takes some hundred microseconds.
const PARTS: usize = 64;
/// Objects dropped for one part looked through. So what only dropped objects had is gone at the latest after
/// `PARTS * DROPS_PER_LOOK` more.
const DROPS_PER_LOOK: usize = 64;

static SHARED: LazyLock<Shared> = LazyLock::new(Shared::default);

/// The one for all of the process: objects of several informers have their labels in common too.
pub(super) fn shared() -> &'static Shared {
    &SHARED
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    words: Table<str>,
    labels: Table<[(Arc<str>, Arc<str>)]>,
    owners: Table<[OwnerReference]>,
    dropped: AtomicUsize,
}

impl Shared {
    pub(super) fn labels(&self, labels: &[(Cow<'_, str>, Cow<'_, str>)]) -> Labels {
        let same = |known: &[(Arc<str>, Arc<str>)]| {
            known.len() == labels.len()
                && known
                    .iter()
                    .zip(labels)
                    .all(|(known, label)| *known.0 == *label.0 && *known.1 == *label.1)
        };
        let make =
            || labels.iter().map(|(key, value)| (self.word(key), self.word(value))).collect();
        // Strings hash alike whoever owns them, and so do slices of pairs of them.
        self.labels.get(labels, same, make)
    }

    pub(super) fn owners(&self, owners: &[Owner<'_>]) -> Owners {
        let same = |known: &[OwnerReference]| {
            known.len() == owners.len() && owners.iter().zip(known).all(|(o, known)| o.is(known))
        };
        self.owners.get(owners, same, || owners.iter().map(Owner::to_reference).collect())
    }

    fn word(&self, word: &str) -> Arc<str> {
        self.words.get(word, |known| known == word, || word.into())
    }

    /// An object is being dropped.
    pub(super) fn dropped(&self) {
        let dropped = self.dropped.fetch_add(1, Ordering::Relaxed);
        if dropped.is_multiple_of(DROPS_PER_LOOK) {
            let part = dropped / DROPS_PER_LOOK % PARTS;
            self.labels.look_through(part);
            self.owners.look_through(part);
            self.words.look_through(part);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.words.len() + self.labels.len() + self.owners.len()
    }
}

/// Values that are equal are one.
#[derive(Debug)]
struct Table<T: ?Sized> {
    hasher: DefaultHashBuilder,
    parts: [Mutex<HashTable<Arc<T>>>; PARTS],
}

impl<T: ?Sized> Default for Table<T> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            parts: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl<T: ?Sized + Hash> Table<T> {
    /// The value that hashes as `like` and is the `same`; made if it is not there.
    fn get(
        &self,
        like: impl Hash,
        same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Arc<T>,
    ) -> Arc<T> {
        let hash = self.hasher.hash_one(like);
        // The table itself goes by the lowest and the highest bits.
        let mut part = self.parts[(hash >> 32) as usize % PARTS].lock();
        if let Some(known) = part.find(hash, |known| same(known)) {
            return known.clone();
        }
        let value = make();
        part.insert_unique(hash, value.clone(), |known| self.hasher.hash_one(&**known));
        value
    }

    /// Forgets what nobody else has. Nobody can get at it meanwhile: that takes the same lock.
    fn look_through(&self, part: usize) {
        let mut part = self.parts[part].lock();
        part.retain(|known| Arc::strong_count(known) > 1);
        if part.len() < part.capacity() / 4 {
            part.shrink_to_fit(|known| self.hasher.hash_one(&**known));
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lock().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels<'a>(words: &[(&'a str, &'a str)]) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
        words.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn equal_sets_are_one_and_their_words_too() {
        let shared = Shared::default();
        let web = shared.labels(&labels(&[("app", "web"), ("tier", "app")]));
        assert!(Arc::ptr_eq(&web, &shared.labels(&labels(&[("app", "web"), ("tier", "app")]))));
        let db = shared.labels(&labels(&[("app", "db")]));
        assert!(Arc::ptr_eq(&web[0].0, &db[0].0) && Arc::ptr_eq(&web[0].0, &web[1].1));
        let others = [
            labels(&[("tier", "app"), ("app", "web")]),
            labels(&[("app", "web")]),
            labels(&[]),
            labels(&[("appw", "eb"), ("tier", "app")]),
        ];
        for other in others {
            assert!(!Arc::ptr_eq(&web, &shared.labels(&other)), "{other:?}");
        }
    }

    #[test]
    fn owners_are_shared_only_where_all_is_equal() {
        let shared = Shared::default();
        let owners = |uid: &str| {
            let json = format!(r#"[{{"kind":"ReplicaSet","name":"web","uid":"{uid}"}}]"#);
            shared.owners(&serde_json::from_str::<Vec<Owner<'_>>>(&json).expect("owners"))
        };
        let one = owners("1");
        assert!(Arc::ptr_eq(&one, &owners("1")));
        assert!(!Arc::ptr_eq(&one, &owners("2")));
    }

    #[test]
    fn what_no_object_has_any_more_is_forgotten() {
        let shared = Shared::default();
        let kept = shared.labels(&labels(&[("app", "kept")]));
        let mut most = 0;
        for number in 0..50_000 {
            let name = format!("web-{number}");
            drop(shared.labels(&labels(&[("pod-name", &name)])));
            shared.dropped();
            most = most.max(shared.len());
        }
        let garbage_max = 2 * 2 * PARTS * DROPS_PER_LOOK;
        assert!(
            most < garbage_max,
            "{most} is more than a set and a word of what was just dropped"
        );
        for _ in 0..2 * PARTS * DROPS_PER_LOOK {
            shared.dropped();
        }
        assert_eq!(shared.len(), 3, "the set that is kept and its two words");
        assert_eq!(&*kept[0].1, "kept");
    }

    #[test]
    fn threads_that_share_and_drop_at_once_agree() {
        let shared = Shared::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..5000 {
                        let name = format!("{}", number % 7);
                        let set = shared.labels(&labels(&[("name", &name)]));
                        assert_eq!(*set[0].1, *name);
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
