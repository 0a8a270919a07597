//! Shares of a bound, so that one holder leaves room for others. Synchronous.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// How much each holder has taken.
pub(super) struct Shares<K> {
    of_one_max: usize,
    in_all_max: usize,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

/// One unit, which is given back when this is dropped.
pub(super) struct Share<K: Eq + Hash> {
    holder: K,
    taken: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(super) fn new(of_one_max: usize, in_all_max: usize) -> Self {
        Self { of_one_max, in_all_max, taken: Arc::default() }
    }

    /// One unit for a holder. None where the holder, or all of them, have as much as they may.
    pub(super) fn take(&self, holder: &K) -> Option<Share<K>> {
        let mut taken = self.taken.lock();
        let of_one = taken.get(holder).copied().unwrap_or_default();
        if of_one >= self.of_one_max || taken.values().sum::<usize>() >= self.in_all_max {
            return None;
        }
        taken.insert(holder.clone(), of_one + 1);
        Some(Share { holder: holder.clone(), taken: self.taken.clone() })
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        if let Some(count) = taken.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a unit for each letter, and gives back those of a capital letter. A dot is a refusal.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let shares = Shares::new(2, 3);
        let mut held: Vec<(char, Share<char>)> = Vec::new();
        let mut outcomes = String::new();
        for step in steps.chars() {
            let holder = step.to_ascii_lowercase();
            if step.is_ascii_uppercase() {
                held.retain(|(other, _)| *other != holder);
                outcomes.push(step);
                continue;
            }
            match shares.take(&holder) {
                Some(share) => {
                    held.push((holder, share));
                    outcomes.push(step);
                }
                None => outcomes.push('.'),
            }
        }
        assert_eq!(outcomes, expect, "{steps}");
        held.clear();
        assert!(shares.taken.lock().is_empty());
    }

    #[test]
    fn one_holder_and_all_of_them_have_a_maximum() {
        check("aaab", "aa.b");
        check("aabbc", "aab..");
        check("aabAbc", "aabAbc");
        check("aaAaa", "aaAaa");
    }
}
