//! The workqueue of a test's plugin. A delayed key stays delayed until the test lets its time pass, or works on it.

use crate::{Failure, Result, Retry};
use std::collections::BTreeMap;
use std::time::Duration;

/// The same bound as in the host.
const KEY_BYTES_MAX: usize = 512;
/// The wait after the first failure. It doubles with each further one.
const RATE_LIMIT_BASE: Duration = Duration::from_millis(5);
const RATE_LIMIT_MAX: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Keys {
    /// The waiting keys, in the order in which they were added.
    waiting: Vec<String>,
    delayed: BTreeMap<String, Duration>,
    requeues: BTreeMap<String, u32>,
    /// The key of the present call, and whether that call has added it rate limited.
    working: Option<(String, bool)>,
    /// The present call that may add keys. An error if it could not add one.
    call: Option<Result<(), Failure>>,
}

impl Keys {
    pub(crate) fn begin(&mut self) {
        self.call = Some(Ok(()));
    }

    /// Ends the call. An error if a key could not be added.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        self.call.take().unwrap_or(Ok(()))
    }

    /// Panics outside of a call that may add keys. The real host ends the instance there.
    fn at_work(&mut self, function: &str) -> &mut Result<(), Failure> {
        let text = "keys are added in `handle`, `reconcile`, `fire` and `synced` only";
        self.call.as_mut().unwrap_or_else(|| panic!("workqueue.{function}: {text}"))
    }

    pub(crate) fn add(&mut self, function: &str, key: &str, after: Duration) {
        if !self.is_sound(function, key) {
            return;
        }
        if after.is_zero() {
            self.add_due(key.to_owned());
        } else {
            self.delay(key, after);
        }
    }

    fn add_due(&mut self, key: String) {
        if !self.waiting.contains(&key) {
            self.waiting.push(key);
        }
    }

    /// Whether the key is valid. If not, the call fails.
    fn is_sound(&mut self, function: &str, key: &str) -> bool {
        let call = self.at_work(function);
        let is_sound = (1..=KEY_BYTES_MAX).contains(&key.len());
        if !is_sound {
            let found = key.len();
            let text = format!("a key of {found} bytes: keys have 1 to {KEY_BYTES_MAX}");
            *call = Err(Failure::new(format!("workqueue.{function}: {text}")).never_retry());
        }
        is_sound
    }

    fn delay(&mut self, key: &str, after: Duration) {
        let earliest = self.delayed.get(key).map_or(after, |known| after.min(*known));
        self.delayed.insert(key.to_owned(), earliest);
    }

    pub(crate) fn add_rate_limited(&mut self, key: &str) {
        if !self.is_sound("add-rate-limited", key) {
            return;
        }
        if let Some((_, limited)) = self.working.as_mut().filter(|(working, _)| working == key) {
            *limited = true;
        }
        self.delay_rate_limited(key);
    }

    fn delay_rate_limited(&mut self, key: &str) {
        let requeues = self.requeues.entry(key.to_owned()).or_default();
        let wait = RATE_LIMIT_BASE.saturating_mul(2u32.saturating_pow(*requeues));
        *requeues += 1;
        self.delay(key, wait.min(RATE_LIMIT_MAX));
    }

    pub(crate) fn forget(&mut self, key: &str) {
        self.requeues.remove(key);
    }

    pub(crate) fn num_requeues(&self, key: &str) -> u32 {
        self.requeues.get(key).copied().unwrap_or_default()
    }

    /// Takes a waiting or delayed key for a call.
    pub(crate) fn take(&mut self, key: &str) {
        match self.waiting.iter().position(|waiting| waiting == key) {
            Some(place) => drop(self.waiting.remove(place)),
            None => drop(self.delayed.remove(key)),
        }
        self.working = Some((key.to_owned(), false));
    }

    /// Records the result of the call for the key.
    pub(crate) fn settle(&mut self, key: &str, result: &Result<Option<Duration>>) {
        let limited = self.working.take().is_some_and(|(_, limited)| limited);
        match result {
            Ok(again) => {
                if !limited {
                    self.forget(key);
                }
                again.iter().for_each(|after| self.delay(key, *after));
            }
            Err(failure) => match failure.retry() {
                Retry::Backoff => self.delay_rate_limited(key),
                Retry::After(wait) => self.delay(key, wait),
                Retry::Never => self.forget(key),
            },
        }
    }

    /// Lets time pass. The keys that are due by then wait, in the order of their times.
    pub(crate) fn wait(&mut self, passes: Duration) {
        let delayed = std::mem::take(&mut self.delayed).into_iter();
        let (mut due, later): (Vec<_>, Vec<_>) = delayed.partition(|(_, after)| *after <= passes);
        self.delayed = later.into_iter().map(|(key, after)| (key, after - passes)).collect();
        due.sort_by_key(|(_, after)| *after);
        for (key, _) in due {
            self.add_due(key);
        }
    }

    pub(crate) fn waiting(&self) -> &[String] {
        &self.waiting
    }

    pub(crate) fn delayed(&self) -> &BTreeMap<String, Duration> {
        &self.delayed
    }
}
