//! The queue's answer about one key, for the question why the plugin was not called for it.

use super::{HashedKey, KeyQueue};

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// A call has it.
    InFlight { attempt: u32 },
    /// The key failed so often, and comes again.
    Failed { attempts: u32 },
    /// It was given up.
    GivenUp { attempts: u32, error: String },
    /// The key waits, or is delayed.
    Waits,
    /// There is nothing to do for the key.
    Done,
}

impl KeyQueue {
    pub(crate) fn place_of(&self, key: impl Into<HashedKey>) -> KeyPlace {
        let key = key.into();
        let line = &self.lines[self.shard_of(&key)];
        if let Some(in_flight) = line.in_flight.as_ref().filter(|it| it.work.key == key) {
            return KeyPlace::InFlight { attempt: in_flight.work.attempt };
        }
        if let Some(failed) = self.failed.get(&key) {
            return KeyPlace::Failed { attempts: failed.attempts };
        }
        let given_up = self.given_up.iter().find(|given_up| given_up.key == key);
        let text = self.texts.get(&key);
        match given_up {
            _ if text.is_some_and(|text| self.is_kept(text)) => KeyPlace::Waits,
            Some(given_up) => {
                let (attempts, error) = (given_up.attempts, given_up.error.clone());
                KeyPlace::GivenUp { attempts, error }
            }
            None => KeyPlace::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Waits, Worked};
    use super::*;
    use informant_cache::workqueue::AddOptions;
    use jiff::Timestamp;
    use std::time::{Duration, Instant};

    /// Checks the place of the key `a` after these steps: `+` adds it, `p` takes it, `f` fails it, `g` gives it up,
    /// and `.` ends its call with success.
    #[track_caller]
    fn check(steps: &str, expect: &KeyPlace) {
        let (bounds, second) = (Bounds { keys: 9, bytes: 9_999 }, Duration::from_secs(1));
        let waits = Waits { base: second, max: second, interval: second, burst: 9 };
        let (mut keys, now) = (KeyQueue::new(bounds, waits), Instant::now());
        for step in steps.chars() {
            match step {
                '+' => _ = keys.add("a", AddOptions::default(), now).expect("there is room"),
                'p' => _ = keys.take(0, now),
                'f' => _ = keys.settle(0, Worked::Failed { after: None, crashed: false }, now),
                'g' => {
                    let given_up = Worked::GivenUp { error: "no", at: Timestamp::UNIX_EPOCH };
                    keys.settle(0, given_up, now);
                }
                _ => _ = keys.settle(0, Worked::Done { again: None }, now),
            }
        }
        assert_eq!(&keys.place_of("a"), expect, "{steps}");
    }

    #[test]
    fn a_key_is_where_the_queue_has_it() {
        check("", &KeyPlace::Done);
        check("+", &KeyPlace::Waits);
        check("+p", &KeyPlace::InFlight { attempt: 1 });
        check("+pf", &KeyPlace::Failed { attempts: 1 });
        check("+p.", &KeyPlace::Done);
        check("+pg", &KeyPlace::GivenUp { attempts: 1, error: "no".to_owned() });
        check("+pg+", &KeyPlace::Waits);
    }
}
