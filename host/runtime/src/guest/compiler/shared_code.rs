//! Code that several plugins run: those whose files have the same content, whatever their names.
//!
//! Compiled code is most of what an idle plugin takes, and what a call reads first. So it is there once for as long as a version of any plugin
//! runs it. It never changes; each instance has its own memory. The account of each plugin has all of it, as if it were alone.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::hash::Hash;
use std::sync::{Arc, Weak};

/// The code `T` that is run now, by a key of what it was made of. Its bound is that of the versions of all plugins.
pub(super) struct SharedCode<K, T>(Mutex<HashMap<K, Weak<T>>>);

impl<K, T> Default for SharedCode<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, T> SharedCode<K, T> {
    /// The code that another plugin runs, if one does.
    pub(super) fn get(&self, key: &K) -> Option<Arc<T>> {
        self.0.lock().get(key)?.upgrade()
    }

    /// Shares code that was just made ready to run. Answers with that of another plugin if it came first.
    pub(super) fn share(&self, key: K, compiled: T) -> Arc<T> {
        let mut all = self.0.lock();
        if let Some(first) = all.get(&key).and_then(Weak::upgrade) {
            return first;
        }
        // What no version runs any more is forgotten here, so that the map is no longer than versions are many.
        all.retain(|_, code| code.strong_count() > 0);
        let compiled = Arc::new(compiled);
        all.insert(key, Arc::downgrade(&compiled));
        compiled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_shared_for_as_long_as_it_is_run() {
        let shared = SharedCode::default();
        let first = shared.share("a", 1);
        assert!(Arc::ptr_eq(&first, &shared.share("a", 2)), "the first one stays");
        assert_eq!(shared.get(&"a").as_deref(), Some(&1));
        assert_eq!(shared.get(&"b"), None);
        drop(first);
        assert_eq!(shared.get(&"a"), None);
        let others: Vec<_> = ["b", "c", "a"].map(|key| shared.share(key, 3)).into();
        drop(others);
        let _last = shared.share("d", 4);
        assert_eq!(shared.0.lock().len(), 1, "what is run no more is forgotten");
    }
}
