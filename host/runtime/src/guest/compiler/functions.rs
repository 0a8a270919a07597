//! A plugin's functions as they were compiled for the version before: most functions of the next version are the same.
//!
//! Cranelift names each function by a hash of its content, of the machine and of its own version. This store gives
//! Cranelift the code of functions that it compiled the last time. The result is the same as without the store. An
//! interpreter for JavaScript with another script in its memory compiles in a third of the time. Cranelift calls this
//! experimental, so the option is off by default.

use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wasmtime::CacheStore;

/// A hash, as cranelift makes it.
const NAME_BYTES: usize = 32;
/// The number of bytes of a function, in front of the function.
const LENGTH_BYTES: usize = 4;

type Name = [u8; NAME_BYTES];

/// A plugin's functions while one version is compiled, by many threads at once.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// The bytes that [`Functions::kept`] wrote.
    before: Vec<u8>,
    /// The place of each function in these bytes.
    places: HashMap<Name, FunctionPlace>,
    new: Mutex<HashMap<Name, Vec<u8>>>,
}

#[derive(Debug)]
struct FunctionPlace {
    range: Range<usize>,
    is_used: AtomicBool,
}

impl Functions {
    /// The functions of the version before; `None` if this module did not write these bytes.
    pub(super) fn of(before: Vec<u8>) -> Option<Self> {
        let mut places = HashMap::new();
        let mut at = 0;
        while at < before.len() {
            let (head, _) = before[at..].split_at_checked(NAME_BYTES + LENGTH_BYTES)?;
            let (name, length) = head.split_first_chunk::<NAME_BYTES>()?;
            let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
            let start = at + head.len();
            at = start.checked_add(length).filter(|end| *end <= before.len())?;
            let place = FunctionPlace { range: start..at, is_used: AtomicBool::new(false) };
            places.insert(*name, place);
        }
        Some(Self { before, places, new: Mutex::default() })
    }

    /// The functions of this version, to keep for the next one. `None` if they are those of the version before.
    pub(super) fn kept(&self) -> Option<Vec<u8>> {
        let new = self.new.lock();
        let is_used = |place: &&FunctionPlace| place.is_used.load(Relaxed);
        if new.is_empty() && self.places.values().all(|place| is_used(&place)) {
            return None;
        }
        let used = self.places.iter().filter(|(_, place)| is_used(place));
        let used = used.map(|(name, place)| (name, &self.before[place.range.clone()]));
        let all = used.chain(new.iter().map(|(name, function)| (name, function.as_slice())));
        let mut kept = Vec::new();
        for (name, function) in all {
            // The limits refuse so large a function long before.
            let Ok(length) = u32::try_from(function.len()) else { continue };
            kept.extend_from_slice(name);
            kept.extend_from_slice(&length.to_le_bytes());
            kept.extend_from_slice(function);
        }
        Some(kept)
    }
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let name: &Name = key.try_into().ok()?;
        if let Some(place) = self.places.get(name) {
            place.is_used.store(true, Relaxed);
            return Some(Cow::Borrowed(&self.before[place.range.clone()]));
        }
        // Two functions of one version may be the same.
        self.new.lock().get(name).cloned().map(Cow::Owned)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let Ok(name) = Name::try_from(key) else { return false };
        self.new.lock().insert(name, value);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::engine::Engine;
    use std::sync::Arc;

    fn name(letter: char) -> Name {
        [letter as u8; NAME_BYTES]
    }

    /// Compiles a version with these functions, of one letter each, after a version that kept `before`. Returns the
    /// functions that had to be compiled, and the kept ones.
    fn version(before: Option<&Vec<u8>>, functions: &str) -> (String, Option<Vec<u8>>) {
        let before = before.cloned().unwrap_or_default();
        let store = Functions::of(before).expect("it was written here");
        let mut compiled = String::new();
        for letter in functions.chars() {
            let code = vec![letter as u8; 3 + usize::from(letter == 'c')];
            match store.get(&name(letter)) {
                Some(found) => assert_eq!(*found, code),
                None => {
                    compiled.push(letter);
                    assert!(store.insert(&name(letter), code));
                }
            }
        }
        (compiled, store.kept())
    }

    #[test]
    fn what_is_the_same_is_compiled_once() {
        let (compiled, first) = version(None, "abca");
        assert_eq!(compiled, "abc");
        let (compiled, same) = version(first.as_ref(), "abc");
        assert_eq!((compiled.as_str(), same), ("", None), "nothing to be written");
        let (compiled, second) = version(first.as_ref(), "adc");
        assert_eq!(compiled, "d");
        let (compiled, _) = version(second.as_ref(), "abcd");
        assert_eq!(compiled, "b", "what the version before did not have is gone");
    }

    /// A component of three functions, one of which returns this number.
    fn component(answer: i32) -> Vec<u8> {
        let text = format!(
            "(component (core module $m
               (func (export \"a\") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
               (func (export \"b\") (param i64) (result i64) (i64.rotl (local.get 0) (i64.const 7)))
               (func (export \"c\") (result i32) (i32.const {answer})))
             (core instance (instantiate $m)))"
        );
        wat::parse_str(text).expect("it is well formed")
    }

    /// Compiles a component with the functions that another version kept, to the same code as without. Returns the
    /// kept functions.
    fn compile(before: Option<&Vec<u8>>, component: &[u8]) -> Option<Vec<u8>> {
        let functions = Functions::of(before.cloned().unwrap_or_default());
        let functions = Arc::new(functions.expect("it was written here"));
        let compiled = |functions: Option<Arc<dyn CacheStore>>| {
            let engine = Engine::compiler(functions).expect("an engine");
            engine.precompile_component(component).expect("it is well formed")
        };
        assert!(compiled(Some(functions.clone())) == compiled(None), "it is other code");
        functions.kept()
    }

    #[test]
    fn cranelift_takes_its_functions_back() {
        let first = compile(None, &component(1)).expect("it was compiled");
        let names = |kept: &Vec<u8>| {
            let functions = Functions::of(kept.clone()).expect("it was written here");
            functions.places.into_keys().collect::<std::collections::HashSet<_>>()
        };
        let before = names(&first);
        // Names of the code that Cranelift makes around a guest's functions may differ.
        let check = |next: &[u8], new_max: usize| {
            let next = compile(Some(&first), next).map_or(before.clone(), |kept| names(&kept));
            assert_eq!(next.len(), before.len());
            let new = next.difference(&before).count();
            assert!(new <= new_max, "{new} of {} were compiled", next.len());
        };
        check(&component(1), before.len() / 2);
        check(&component(2), before.len() / 2 + 1);
    }

    #[test]
    fn other_bytes_are_none() {
        let (_, kept) = version(None, "abc");
        let kept = kept.expect("three functions");
        // A cut at these places leaves one or two whole functions, in either order: of 39 and 40 bytes with their
        // heads.
        let whole = [0, 39, 40, 78, 79];
        for length in (0..kept.len()).filter(|length| !whole.contains(length)) {
            assert!(Functions::of(kept[..length].to_vec()).is_none(), "{length}");
        }
        assert!(Functions::of(vec![0xff; 200]).is_none());
        assert!(Functions::default().get(b"no hash").is_none());
    }
}
