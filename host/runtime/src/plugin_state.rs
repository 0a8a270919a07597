//! A plugin's own small store: a synchronous cupboard of the plugin's name, and what one call makes of it.
//!
//! A call sees what it wrote; others see it once the call has succeeded. What a call that failed wrote was never there, so that the
//! event's next attempt begins where this one did.

use crate::limits::Limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What becomes of keys; none: it is removed.
pub(crate) type StateChanges = BTreeMap<Arc<str>, Option<Bytes>>;

/// Bytes of a key: a namespace, a name and some words.
const KEY_BYTES_MAX: usize = 512;

/// How much a plugin may keep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) keys: usize,
    /// Of keys and values together.
    pub(crate) bytes: usize,
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self { keys: limits.state_keys_max, bytes: limits.state_bytes_max }
    }
}

/// The values of one plugin's name.
#[derive(Debug)]
pub(crate) struct PluginState {
    values: BTreeMap<Arc<str>, Bytes>,
    bytes: usize,
    bounds: Bounds,
}

impl PluginState {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { values: BTreeMap::new(), bytes: 0, bounds }
    }

    /// Other bounds hold for what is written from here on.
    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Takes what was kept, whatever the bounds are now: only writing is refused above them.
    pub(crate) fn restore(&mut self, values: BTreeMap<Arc<str>, Bytes>) {
        self.bytes = values.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.values = values;
    }

    /// How many keys, and bytes of keys and values.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.values.len(), self.bytes)
    }

    fn apply(&mut self, changes: &StateChanges) {
        for (key, value) in changes {
            let before = match value {
                Some(value) => {
                    self.bytes += key.len() + value.len();
                    self.values.insert(key.clone(), value.clone())
                }
                None => self.values.remove(key),
            };
            self.bytes -= before.map_or(0, |before| key.len() + before.len());
        }
    }
}

/// The values as one call sees them.
#[derive(Debug)]
pub(crate) struct StateCall {
    shared: Arc<Mutex<PluginState>>,
    changes: StateChanges,
}

impl StateCall {
    pub(crate) fn new(shared: Arc<Mutex<PluginState>>) -> Self {
        Self { shared, changes: StateChanges::new() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Bytes> {
        match self.changes.get(key) {
            Some(changed) => changed.clone(),
            None => self.shared.lock().values.get(key).cloned(),
        }
    }

    /// Sets or removes a value, or says why not.
    pub(crate) fn set(&mut self, key: &str, value: Option<Vec<u8>>) -> Result<(), String> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let found = key.len();
            return Err(format!("a key of {found} bytes: keys have 1 to {KEY_BYTES_MAX}"));
        }
        match &value {
            Some(value) => self.check(key, value)?,
            // What nobody has needs no removing: a call's changes are no more than the keys there may be.
            None if !self.shared.lock().values.contains_key(key) => {
                self.changes.remove(key);
                return Ok(());
            }
            None => {}
        }
        self.changes.insert(key.into(), value.map(Bytes::from));
        Ok(())
    }

    /// Sets or removes a value if it is as expected, and says whether it was.
    pub(crate) fn compare_and_set(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, String> {
        let is_expected = self.get(key).as_deref() == expected;
        if is_expected {
            self.set(key, value)?;
        }
        Ok(is_expected)
    }

    /// The keys that begin so, sorted.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let shared = self.shared.lock();
        let mut found: BTreeMap<&str, bool> = BTreeMap::new();
        for key in shared.values.keys() {
            found.insert(key, true);
        }
        for (key, value) in &self.changes {
            found.insert(key, value.is_some());
        }
        let begins =
            found.into_iter().filter(|(key, is_there)| *is_there && key.starts_with(prefix));
        begins.map(|(key, _)| key.to_owned()).collect()
    }

    /// Whether the value still fits, with everything else that the call has written.
    fn check(&self, key: &str, value: &[u8]) -> Result<(), String> {
        let shared = self.shared.lock();
        let (mut keys, mut bytes) = shared.size();
        let mut count = |key: &str, before: Option<usize>, after: Option<usize>| {
            keys = keys + usize::from(after.is_some()) - usize::from(before.is_some());
            let size = |value: Option<usize>| value.map_or(0, |value| key.len() + value);
            bytes = bytes + size(after) - size(before);
        };
        let length = |key: &str| shared.values.get(key).map(Bytes::len);
        for (changed, value) in self.changes.iter().filter(|(changed, _)| ***changed != *key) {
            count(changed, length(changed), value.as_ref().map(Bytes::len));
        }
        count(key, length(key), Some(value.len()));
        let Bounds { keys: keys_max, bytes: bytes_max } = shared.bounds;
        if keys > keys_max {
            return Err(format!("{keys} keys, at most {keys_max} are kept; remove some"));
        }
        if bytes > bytes_max {
            return Err(format!("{bytes} bytes, at most {bytes_max} are kept; remove some"));
        }
        Ok(())
    }

    /// The call failed, or another one begins: what it wrote was never there.
    pub(crate) fn forget(&mut self) {
        self.changes.clear();
    }

    /// The call succeeded: what it wrote is there for everybody, and is to be kept.
    pub(crate) fn commit(&mut self) -> StateChanges {
        if !self.changes.is_empty() {
            self.shared.lock().apply(&self.changes);
        }
        std::mem::take(&mut self.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What steps answer, and what is there for everybody at the end. `a=x` sets, `a-` removes, `a?` gets, `a:x=y` compares and sets,
    /// `a*` lists keys, `commit` and `forget` end the call.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let bounds = Bounds { keys: 3, bytes: 12 };
        let shared = Arc::new(Mutex::new(PluginState::new(bounds)));
        let mut call = StateCall::new(shared.clone());
        let value = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let mut answers = Vec::new();
        for step in steps.split(' ') {
            let answer = match step.split_once(['=', '-', '?', ':', '*']) {
                None if step == "commit" => format!("{}", call.commit().len()),
                None => {
                    call.forget();
                    String::new()
                }
                Some((key, "")) if step.ends_with('-') => format!("{:?}", call.set(key, None)),
                Some((key, "")) if step.ends_with('*') => call.keys(key).join("+"),
                Some((key, "")) => call.get(key).map_or("none".to_owned(), |found| text(&found)),
                Some((key, rest)) => match rest.split_once('=') {
                    Some((from, to)) => {
                        let from = value(from);
                        format!("{:?}", call.compare_and_set(key, from.as_deref(), value(to)))
                    }
                    None => format!("{:?}", call.set(key, value(rest))),
                },
            };
            answers.push(answer);
        }
        let shared = shared.lock();
        let there = shared.values.iter().map(|(key, value)| format!("{key}={}", text(value)));
        let there: Vec<String> = there.collect();
        let bytes: usize = there.iter().map(|entry| entry.len() - 1).sum();
        assert_eq!(shared.bytes, bytes, "bytes are those of keys and values");
        assert_eq!(format!("{} | {}", answers.join(" "), there.join(" ")), expect, "{steps}");
    }

    #[test]
    fn a_call_sees_what_it_wrote_and_others_what_succeeded() {
        check("a=1 a? commit a?", "Ok(()) 1 1 1 | a=1");
        check("a=1 a? forget a?", "Ok(()) 1  none | ");
        check("a=1 commit a- a? forget a?", "Ok(()) 1 Ok(()) none  1 | a=1");
        check("a=1 commit a- commit", "Ok(()) 1 Ok(()) 1 | ");
    }

    #[test]
    fn a_value_is_set_if_it_is_as_expected() {
        check("a:=1 a:=2 a:1=3 commit", "Ok(true) Ok(false) Ok(true) 1 | a=3");
        check("a=1 commit a:1= a* commit", "Ok(()) 1 Ok(true)  1 | ");
    }

    #[test]
    fn keys_are_found_by_how_they_begin() {
        check("ab=1 commit ac=2 b=3 a* *", "Ok(()) 1 Ok(()) Ok(()) ab+ac ab+ac+b | ab=1");
        check("ab=1 commit ab- a*", "Ok(()) 1 Ok(())  | ab=1");
    }

    #[test]
    fn what_is_above_the_bounds_is_refused_and_nothing_else_changes() {
        let keys = "Err(\"4 keys, at most 3 are kept; remove some\")";
        check("a=1 b=1 c=1 d=1 commit", &format!("Ok(()) Ok(()) Ok(()) {keys} 3 | a=1 b=1 c=1"));
        check("a=1 b=1 c=1 a- d=1 commit", "Ok(()) Ok(()) Ok(()) Ok(()) Ok(()) 3 | b=1 c=1 d=1");
        let bytes = "Err(\"13 bytes, at most 12 are kept; remove some\")";
        check("a=12345678901 commit", "Ok(()) 1 | a=12345678901");
        check("a=123456789012 commit", &format!("{bytes} 0 | "));
        check("a=12345678901 commit a=x b=123456789", "Ok(()) 1 Ok(()) Ok(()) | a=12345678901");
        let mut call = StateCall::new(Arc::new(Mutex::new(PluginState::new(Bounds {
            keys: 1,
            bytes: 1 << 20,
        }))));
        assert_eq!(call.set(&"k".repeat(512), Some(vec![])), Ok(()));
        for length in [0, 513] {
            let expect = format!("a key of {length} bytes: keys have 1 to 512");
            assert_eq!(call.set(&"k".repeat(length), None), Err(expect));
        }
    }
}
