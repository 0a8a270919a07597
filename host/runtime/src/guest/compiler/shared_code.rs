//! Code that several plugins run, because their files have the same content.
//!
//! Compiled code is most of an idle plugin's memory, and the first memory that a call reads. So the code exists once
//! for as long as a version of any plugin runs it. It never changes; each instance has its own memory. Each plugin's
//! account is charged with all of the code, as if the plugin were alone.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The running code `T`, by a key of its sources. The number of all plugins' versions bounds it.
pub(super) struct SharedCode<K, T>(Arc<Mutex<ByKey<K, T>>>);

type ByKey<K, T> = BTreeMap<Arc<K>, Weak<T>>;

/// The place of code in the map. It is removed with its code.
pub(super) struct CodePlace<K: Ord, T> {
    key: Arc<K>,
    all: Weak<Mutex<ByKey<K, T>>>,
}

impl<K, T> Default for SharedCode<K, T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(BTreeMap::new())))
    }
}

impl<K: Ord, T> SharedCode<K, T> {
    /// The code that another plugin runs, if there is one.
    pub(super) fn get(&self, key: &K) -> Option<Arc<T>> {
        self.0.lock().get(key)?.upgrade()
    }

    /// Shares new code. Returns the code of another plugin if that came first.
    pub(super) fn share(&self, key: K, code: impl FnOnce(CodePlace<K, T>) -> T) -> Arc<T> {
        let mut all = self.0.lock();
        if let Some(first) = all.get(&key).and_then(Weak::upgrade) {
            return first;
        }
        let key = Arc::new(key);
        let place = CodePlace { key: key.clone(), all: Arc::downgrade(&self.0) };
        let code = Arc::new(code(place));
        all.insert(key, Arc::downgrade(&code));
        code
    }
}

impl<K: Ord, T> Drop for CodePlace<K, T> {
    fn drop(&mut self) {
        let Some(all) = self.all.upgrade() else { return };
        let mut all = all.lock();
        // The same code may have come again meanwhile.
        if all.get(&*self.key).is_some_and(|code| code.strong_count() == 0) {
            all.remove(&*self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Code {
        number: u32,
        _place: CodePlace<&'static str, Self>,
    }

    #[test]
    fn code_is_shared_for_as_long_as_it_is_run() {
        let shared = SharedCode::default();
        let share = |key, number| shared.share(key, |_place| Code { number, _place });
        let number = |key| shared.get(&key).map(|code| code.number);
        let first = share("a", 1);
        assert!(Arc::ptr_eq(&first, &share("a", 2)), "the first one stays");
        let other = share("b", 3);
        assert_eq!(["a", "b", "c"].map(number), [Some(1), Some(3), None]);
        drop(first);
        assert_eq!(["a", "b"].map(number), [None, Some(3)]);
        assert_eq!(shared.0.lock().len(), 1, "what is run no more is forgotten");
        let again = share("a", 4);
        drop(other);
        assert_eq!(["a", "b"].map(number), [Some(4), None]);
        drop((shared.get(&"a"), again));
        assert!(shared.0.lock().is_empty());
    }
}
