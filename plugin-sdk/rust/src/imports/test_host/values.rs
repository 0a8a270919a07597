//! The state of a test's plugin, with the host's rules: `handle`, `reconcile` and `fire` write it, and their writes
//! are kept if the call succeeds.

use std::collections::BTreeMap;

/// The same bounds as in the host.
const KEY_BYTES_MAX: usize = 512;
const KEYS_MAX: usize = 1_000;
const BYTES_MAX: usize = 1 << 20;

type Map = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
pub(crate) struct Values {
    kept: Map,
    /// The state that the present call sees. `None` outside of these calls.
    call: Option<Map>,
}

impl Values {
    pub(crate) fn begin(&mut self) {
        self.call = Some(self.kept.clone());
    }

    pub(crate) fn end(&mut self, succeeded: bool) {
        if let Some(call) = self.call.take().filter(|_| succeeded) {
            self.kept = call;
        }
    }

    pub(crate) fn put(&mut self, key: &str, value: &[u8]) {
        self.kept.insert(key.to_owned(), value.to_vec());
    }

    fn seen(&self) -> &Map {
        self.call.as_ref().unwrap_or(&self.kept)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Vec<u8>> {
        self.seen().get(key)
    }

    pub(crate) fn set(&mut self, key: &str, value: Option<&[u8]>) -> Result<(), String> {
        let Some(call) = &self.call else {
            return Err("state is written in `handle`, `reconcile` and `fire` only".to_owned());
        };
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let found = key.len();
            return Err(format!("a key of {found} bytes: keys have 1 to {KEY_BYTES_MAX}"));
        }
        let mut changed = call.clone();
        match value {
            Some(value) => _ = changed.insert(key.to_owned(), value.to_vec()),
            None => _ = changed.remove(key),
        }
        let bytes: usize = changed.iter().map(|(key, value)| key.len() + value.len()).sum();
        if value.is_some() && changed.len() > KEYS_MAX {
            let keys = changed.len();
            return Err(format!("{keys} keys, at most {KEYS_MAX} are kept; remove some"));
        }
        if value.is_some() && bytes > BYTES_MAX {
            return Err(format!("{bytes} bytes, at most {BYTES_MAX} are kept; remove some"));
        }
        self.call = Some(changed);
        Ok(())
    }

    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        self.seen().keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }
}
