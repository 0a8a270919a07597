//! `state`, the small store of a plugin's name, and the changes of one call. Synchronous.
//!
//! A call sees its own writes; other calls see them once the call has succeeded. The writes of a failed call are
//! dropped, so the event's next attempt begins with the same values. Calls of several shards overlap. A call that
//! compared and set a value fails if another call has changed the value meanwhile.

use crate::call_error::CallError;
use crate::contract::limits::Limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The changes of keys; `None` removes a key.
pub(crate) type StateChanges = BTreeMap<Arc<str>, Option<Bytes>>;

/// Bytes of a key: a namespace, a name and some words.
const KEY_BYTES_MAX: usize = 512;

/// The bounds of a plugin's `state`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateBounds {
    pub(crate) keys: usize,
    /// The bytes of keys and values together.
    pub(crate) bytes: usize,
}

impl From<&Limits> for StateBounds {
    fn from(limits: &Limits) -> Self {
        Self { keys: limits.state_keys_max, bytes: limits.state_bytes_max }
    }
}

/// The values of one plugin's name.
#[derive(Debug)]
pub(crate) struct PluginState {
    values: BTreeMap<Arc<str>, Bytes>,
    bytes: usize,
    bounds: StateBounds,
}

impl PluginState {
    pub(crate) fn new(bounds: StateBounds) -> Self {
        Self { values: BTreeMap::new(), bytes: 0, bounds }
    }

    /// Sets the bounds for later writes.
    pub(crate) fn set_bounds(&mut self, bounds: StateBounds) {
        self.bounds = bounds;
    }

    /// Takes the kept values, whatever the bounds are now: only writes above them are refused.
    pub(crate) fn restore(&mut self, values: BTreeMap<Arc<str>, Bytes>) {
        self.bytes = values.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.values = values;
    }

    /// The number of keys, and the bytes of keys and values.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.values.len(), self.bytes)
    }

    /// Whether the values still fit with all writes of a call.
    fn check(&self, growth: Growth) -> Result<(), String> {
        let (keys, bytes) = self.size();
        let keys = keys.saturating_add_signed(growth.keys);
        let bytes = bytes.saturating_add_signed(growth.bytes);
        let StateBounds { keys: keys_max, bytes: bytes_max } = self.bounds;
        if keys > keys_max {
            return Err(format!("{keys} keys, at most {keys_max} are kept; remove some"));
        }
        if bytes > bytes_max {
            return Err(format!("{bytes} bytes, at most {bytes_max} are kept; remove some"));
        }
        Ok(())
    }

    /// The conflict of a call's changes, if another call came first.
    fn conflict(&self, relied_on: &StateChanges, changes: &StateChanges) -> Option<String> {
        let is_other =
            |(key, value): &(&Arc<str>, &Option<Bytes>)| self.values.get(*key) != value.as_ref();
        if let Some((key, _)) = relied_on.iter().find(is_other) {
            return Some(format!("another shard has changed {key:?} in `state` meanwhile"));
        }
        let (mut keys, mut bytes) = self.size();
        for (key, value) in changes {
            let size = |value: Option<&Bytes>| value.map_or(0, |value| key.len() + value.len());
            let before = self.values.get(key);
            keys = keys + usize::from(value.is_some()) - usize::from(before.is_some());
            bytes = bytes + size(value.as_ref()) - size(before);
        }
        let grows = (keys > self.bounds.keys && keys > self.values.len())
            || (bytes > self.bounds.bytes && bytes > self.bytes);
        grows.then(|| "other shards have filled `state` meanwhile".to_owned())
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
    changes: BTreeMap<Arc<str>, WrittenKey>,
    /// The growth of all `changes` together.
    growth: Growth,
    /// The shared values that the call compared with an expected value, and found equal.
    relied_on: StateChanges,
}

/// The change of one key in a call.
#[derive(Debug)]
struct WrittenKey {
    /// `None`: the key is removed.
    value: Option<Bytes>,
    growth: Growth,
}

/// The growth of the values, relative to those at the time of the call's write.
#[derive(Debug, Default, Clone, Copy)]
struct Growth {
    keys: isize,
    /// The bytes of keys and values together.
    bytes: isize,
}

impl Growth {
    /// The growth of one key, from the bytes of its values.
    fn of(key: &str, before: Option<usize>, after: Option<usize>) -> Self {
        let keys = |value: Option<usize>| isize::from(value.is_some());
        let bytes =
            |value: Option<usize>| value.map_or(0, |value| (key.len() + value).cast_signed());
        Self { keys: keys(after) - keys(before), bytes: bytes(after) - bytes(before) }
    }

    fn plus(self, other: Self) -> Self {
        Self { keys: self.keys + other.keys, bytes: self.bytes + other.bytes }
    }

    fn minus(self, other: Self) -> Self {
        Self { keys: self.keys - other.keys, bytes: self.bytes - other.bytes }
    }
}

impl StateCall {
    pub(crate) fn new(shared: Arc<Mutex<PluginState>>) -> Self {
        let (changes, growth) = (BTreeMap::new(), Growth::default());
        Self { shared, changes, growth, relied_on: StateChanges::new() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Bytes> {
        match self.changes.get(key) {
            Some(written) => written.value.clone(),
            None => self.shared.lock().values.get(key).cloned(),
        }
    }

    /// Sets or removes a value, or returns the reason why not.
    pub(crate) fn set(&mut self, key: &str, value: Option<Vec<u8>>) -> Result<(), String> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            let found = key.len();
            return Err(format!("a key of {found} bytes: keys have 1 to {KEY_BYTES_MAX}"));
        }
        let shared = self.shared.lock();
        let before = shared.values.get(key).map(Bytes::len);
        let of_written = self.changes.get(key).map_or_else(Growth::default, |it| it.growth);
        let others = self.growth.minus(of_written);
        // An absent key needs no removal, so a call's changes are no more than the allowed keys. But a compared key
        // may come back before the call ends.
        if value.is_none() && before.is_none() && !self.relied_on.contains_key(key) {
            self.changes.remove(key);
            self.growth = others;
            return Ok(());
        }
        let growth = Growth::of(key, before, value.as_ref().map(Vec::len));
        let all = others.plus(growth);
        if value.is_some() {
            shared.check(all)?;
        }
        self.growth = all;
        self.changes.insert(key.into(), WrittenKey { value: value.map(Bytes::from), growth });
        Ok(())
    }

    /// Sets or removes a value if it equals the expected one. Returns whether it did.
    pub(crate) fn compare_and_set(
        &mut self,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, String> {
        let found = self.get(key);
        let is_expected = found.as_deref() == expected;
        if is_expected {
            let is_everybodys =
                !self.changes.contains_key(key) && !self.relied_on.contains_key(key);
            let compared_max = self.shared.lock().bounds.keys;
            if is_everybodys && self.relied_on.len() >= compared_max {
                return Err(format!(
                    "at most {compared_max} keys are compared and set in one call"
                ));
            }
            self.set(key, value)?;
            if is_everybodys && self.changes.contains_key(key) {
                self.relied_on.insert(key.into(), found);
            }
        }
        Ok(is_expected)
    }

    /// The keys with this prefix, sorted.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let shared = self.shared.lock();
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let theirs = shared.values.range::<str, _>(from).map(|(key, _)| (&**key, true));
        let written = self.changes.range::<str, _>(from);
        let own = written.map(|(key, written)| (&**key, written.value.is_some()));
        let begins = |(key, _): &(&str, bool)| key.starts_with(prefix);
        // The call's own writes come last and count.
        let found: BTreeMap<&str, bool> =
            theirs.take_while(begins).chain(own.take_while(begins)).collect();
        found.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key.to_owned()).collect()
    }

    /// Drops the writes of a failed call, or of the call before.
    pub(crate) fn forget(&mut self) {
        self.changes.clear();
        self.growth = Growth::default();
        self.relied_on.clear();
    }

    /// Commits the writes of a successful call. `keep` gets them before those of any other call. Fails after a
    /// conflict with another call.
    pub(crate) fn commit(&mut self, keep: impl FnOnce(StateChanges)) -> Result<(), CallError> {
        self.growth = Growth::default();
        if self.changes.is_empty() && self.relied_on.is_empty() {
            keep(StateChanges::new());
            return Ok(());
        }
        let relied_on = std::mem::take(&mut self.relied_on);
        let changes = std::mem::take(&mut self.changes);
        let changes: StateChanges =
            changes.into_iter().map(|(key, written)| (key, written.value)).collect();
        let mut shared = self.shared.lock();
        if let Some(conflict) = shared.conflict(&relied_on, &changes) {
            return Err(CallError::StateConflict(conflict));
        }
        shared.apply(&changes);
        keep(changes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The answers of these steps, and the shared values at the end. `a=x` sets, `a-` removes, `a?` gets, `a:x=y`
    /// compares and sets, and `a*` lists keys. `commit` and `forget` end the call.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let bounds = StateBounds { keys: 3, bytes: 12 };
        let shared = Arc::new(Mutex::new(PluginState::new(bounds)));
        let mut call = StateCall::new(shared.clone());
        let value = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let mut answers = Vec::new();
        for step in steps.split(' ') {
            let answer = match step.split_once(['=', '-', '?', ':', '*']) {
                None if step == "commit" => {
                    let mut kept = 0;
                    call.commit(|changes| kept = changes.len()).expect("nobody else is there");
                    kept.to_string()
                }
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
        let bound = "Err(\"at most 3 keys are compared and set in one call\")";
        let set = "a:=1 a- b:=1 b- c:=1 c- d:=1 commit";
        check(set, &format!("Ok(true) Ok(()) Ok(true) Ok(()) Ok(true) Ok(()) {bound} 3 | "));
    }

    /// Two overlapping calls: the steps of both, and then the first and the second commit.
    #[track_caller]
    fn check_overlap(first: &[&str], second: &[&str], expect: Result<(), &str>, there: &str) {
        let shared = Arc::new(Mutex::new(PluginState::new(StateBounds { keys: 2, bytes: 100 })));
        let begin = StateChanges::from([("a".into(), Some(Bytes::from("0")))]);
        shared.lock().apply(&begin);
        let [mut one, mut other] = [first, second].map(|steps| {
            let mut call = StateCall::new(shared.clone());
            for step in steps {
                let (key, value) = step.split_once('=').expect("a step");
                let value = (!value.is_empty()).then(|| value.as_bytes().to_vec());
                match key.split_once(':') {
                    Some((key, from)) => {
                        let from = (!from.is_empty()).then_some(from.as_bytes());
                        assert_eq!(call.compare_and_set(key, from, value), Ok(true));
                    }
                    None => assert_eq!(call.set(key, value), Ok(())),
                }
            }
            call
        });
        let mut kept = Vec::new();
        one.commit(|changes| kept.extend(changes.into_keys())).expect("it is the first");
        let committed = other.commit(|changes| kept.extend(changes.into_keys()));
        let committed = committed.map_err(|error| error.to_string());
        assert_eq!(committed.as_ref().map(|_| ()).map_err(|error| error.as_str()), expect);
        let shared = shared.lock();
        let values = shared
            .values
            .iter()
            .map(|(key, value)| format!("{key}={}", String::from_utf8_lossy(value)));
        assert_eq!(values.collect::<Vec<_>>().join(" "), there);
        assert_eq!(kept.split_off(first.len()).is_empty(), expect.is_err(), "what is kept");
    }

    #[test]
    fn of_two_calls_that_compare_and_set_the_same_one_comes_again() {
        let again =
            Err("another shard has changed \"a\" in `state` meanwhile; the call comes again");
        check_overlap(&["a:0=1"], &["a:0=2"], again, "a=1");
        check_overlap(&["a=1"], &["a:0=2"], again, "a=1");
        check_overlap(&["a="], &["a:0=2"], again, "");
        let again =
            Err("another shard has changed \"b\" in `state` meanwhile; the call comes again");
        check_overlap(&["b:=1"], &["b:=2"], again, "a=0 b=1");
        check_overlap(&["a:0=1"], &["a=2"], Ok(()), "a=2");
        check_overlap(&["a:0=1"], &["b:=2"], Ok(()), "a=1 b=2");
        check_overlap(&["a=1"], &["b=5", "b:5=6"], Ok(()), "a=1 b=6");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Set(u8, Option<u8>),
        /// From the value that the call sees to this value.
        CompareAndSet(u8, Option<u8>),
        Commit,
        Forget,
    }

    fn step() -> impl Strategy<Value = Step> {
        let value = || proptest::option::weighted(0.7, 0..9u8);
        prop_oneof![
            4 => (0..4u8, value()).prop_map(|(key, value)| Step::Set(key, value)),
            6 => (0..4u8, value()).prop_map(|(key, value)| Step::CompareAndSet(key, value)),
            3 => Just(Step::Commit),
            1 => Just(Step::Forget),
        ]
    }

    /// A call and its successful steps: key, the compared value if it compared, and the new value.
    struct Overlapping {
        call: StateCall,
        done: Vec<(String, Option<Option<Bytes>>, Option<Bytes>)>,
    }

    impl Overlapping {
        fn carry_out(&mut self, key: u8, value: Option<u8>, compares: bool) {
            let (key, value) = (key.to_string(), value.map(|value| vec![value; value.into()]));
            let is_there = self.call.shared.lock().values.contains_key(&*key);
            if value.is_none() && !is_there && !self.call.relied_on.contains_key(&*key) {
                // A removal of an absent key is no change.
                return;
            }
            let seen = compares.then(|| self.call.get(&key));
            let written = match &seen {
                Some(seen) => self.call.compare_and_set(&key, seen.as_deref(), value.clone()),
                None => self.call.set(&key, value.clone()).map(|()| true),
            };
            match written {
                Ok(is_as_seen) => {
                    assert!(is_as_seen, "nobody came between");
                    self.done.push((key, seen, value.map(Bytes::from)));
                }
                Err(text) => {
                    let bounds = ["remove some", "compared and set in one call"];
                    assert!(bounds.iter().any(|bound| text.ends_with(bound)), "{text}");
                }
            }
        }
    }

    proptest! {
        /// Overlapping calls that succeed have the same result as calls in sequence, in the order of their commits.
        #[test]
        fn calls_that_succeed_are_as_if_made_one_after_another(
            steps in proptest::collection::vec((0..3usize, step()), 1..60),
        ) {
            let bounds = StateBounds { keys: 3, bytes: 20 };
            let shared = Arc::new(Mutex::new(PluginState::new(bounds)));
            let begin = || Overlapping { call: StateCall::new(shared.clone()), done: Vec::new() };
            let mut calls = [begin(), begin(), begin()];
            let mut model: BTreeMap<String, Bytes> = BTreeMap::new();
            for (number, step) in steps {
                let one = &mut calls[number];
                match step {
                    Step::Set(key, value) => one.carry_out(key, value, false),
                    Step::CompareAndSet(key, value) => one.carry_out(key, value, true),
                    Step::Forget => {
                        one.call.forget();
                        one.done.clear();
                    }
                    Step::Commit => {
                        let committed = one.call.commit(|_| {}).is_ok();
                        for (key, seen, value) in std::mem::take(&mut one.done) {
                            if !committed {
                                continue;
                            }
                            if let Some(seen) = seen {
                                prop_assert_eq!(model.get(&key), seen.as_ref(), "{}", key);
                            }
                            match value {
                                Some(value) => _ = model.insert(key, value),
                                None => _ = model.remove(&key),
                            }
                        }
                    }
                }
                let there = shared.lock();
                let found = there.values.iter().map(|(key, value)| (key.to_string(), value.clone()));
                prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), model.clone());
                prop_assert!(there.values.len() <= bounds.keys && there.bytes <= bounds.bytes);
            }
        }
    }

    #[test]
    fn two_calls_together_keep_to_the_bounds() {
        let full = Err("other shards have filled `state` meanwhile; the call comes again");
        check_overlap(&["b=1"], &["c=2"], full, "a=0 b=1");
        check_overlap(&["b=1"], &["b=2"], Ok(()), "a=0 b=2");
    }

    #[test]
    fn keys_are_found_by_how_they_begin() {
        check("ab=1 commit ac=2 b=3 a* *", "Ok(()) 1 Ok(()) Ok(()) ab+ac ab+ac+b | ab=1");
        check("ab=1 commit ab- a*", "Ok(()) 1 Ok(())  | ab=1");
    }

    #[test]
    fn a_call_sets_keys_in_linear_time() {
        let call = |count: usize| {
            let bounds = StateBounds { keys: count, bytes: 1 << 30 };
            let keys: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            (StateCall::new(Arc::new(Mutex::new(PluginState::new(bounds)))), keys)
        };
        crate::cost_growth::check_linear(500, call, |(mut call, keys)| {
            keys.iter().for_each(|key| assert_eq!(call.set(key, Some(vec![1])), Ok(())));
        });
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
        let mut call = StateCall::new(Arc::new(Mutex::new(PluginState::new(StateBounds {
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
