//! Random calls against a model of plain sets: the expected keys and their times.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
enum Call {
    Add(u8, Lane),
    AddAfter(u8, u16),
    AddRateLimited(u8),
    Forget(u8),
    Get,
    /// The n-th key in work.
    Done(u8),
    Pass(u16),
    ShutDown,
    TakeLeftovers,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = 0u8..6;
    let lane = prop_oneof![Just(Lane::Live), Just(Lane::Background)];
    let call = prop_oneof![
        20 => (key.clone(), lane).prop_map(|(key, lane)| Call::Add(key, lane)),
        10 => (key.clone(), 0u16..500).prop_map(|(key, ms)| Call::AddAfter(key, ms)),
        10 => key.clone().prop_map(Call::AddRateLimited),
        5 => key.prop_map(Call::Forget),
        30 => Just(Call::Get),
        25 => any::<u8>().prop_map(Call::Done),
        15 => (0u16..300).prop_map(Call::Pass),
        1 => Just(Call::ShutDown),
        1 => Just(Call::TakeLeftovers),
    ];
    proptest::collection::vec(call, 0..250)
}

#[derive(Default)]
struct Model {
    /// Must be worked on: client-go's set of that name.
    dirty: BTreeSet<u8>,
    processing: BTreeSet<u8>,
    delayed: BTreeMap<u8, Instant>,
    late: BTreeSet<u8>,
    failures: BTreeMap<u8, u32>,
    shut_down: bool,
}

impl Model {
    fn add(&mut self, key: u8) {
        if self.shut_down {
            self.late.insert(key)
        } else {
            self.dirty.insert(key)
        };
    }

    fn delay(&mut self, key: u8, at: Instant) {
        let old = self.delayed.get(&key).copied().unwrap_or(at);
        self.delayed.insert(key, old.min(at));
    }

    fn ripen(&mut self, now: Instant) {
        if !self.shut_down {
            let ripe = self.delayed.iter().filter(|(_, at)| **at <= now);
            let ripe: Vec<u8> = ripe.map(|(key, _)| *key).collect();
            for key in ripe {
                self.delayed.remove(&key);
                self.dirty.insert(key);
            }
        }
    }

    fn queued(&self) -> Vec<u8> {
        self.dirty.difference(&self.processing).copied().collect()
    }
}

struct Test {
    queue: WorkQueue<u8>,
    model: Model,
}

impl Test {
    async fn call(&mut self, call: Call) -> Result<(), TestCaseError> {
        let (queue, model) = (&self.queue, &mut self.model);
        match call {
            Call::Add(key, lane) => {
                queue.add_with(key, AddOptions { lane, ..AddOptions::default() });
                model.add(key);
            }
            Call::AddAfter(key, 0) => {
                queue.add_after(key, Duration::ZERO);
                model.add(key);
            }
            Call::AddAfter(key, ms) => {
                let after = Duration::from_millis(ms.into());
                queue.add_after(key, after);
                model.delay(key, now() + after);
            }
            Call::AddRateLimited(key) => {
                queue.add_rate_limited(key);
                let failures = model.failures.entry(key).or_default();
                let wait =
                    exponential(Duration::from_millis(1), *failures, 1000 * Duration::from_secs(1));
                *failures += 1;
                model.delay(key, now() + wait);
            }
            Call::Forget(key) => {
                queue.forget(&key);
                model.failures.remove(&key);
            }
            Call::Get => self.get()?,
            Call::Done(nth) => self.done(nth),
            Call::Pass(ms) => tokio::time::advance(Duration::from_millis(ms.into())).await,
            Call::ShutDown => {
                model.ripen(now());
                queue.shut_down();
                model.shut_down = true;
            }
            Call::TakeLeftovers => self.take_leftovers()?,
        }
        self.compare()
    }

    fn get(&mut self) -> Result<(), TestCaseError> {
        self.model.ripen(now());
        let queued = self.model.queued();
        match self.queue.try_get() {
            None => prop_assert!(queued.is_empty(), "{queued:?} wait"),
            Some(item) => {
                let key = item.into_key();
                prop_assert!(queued.contains(&key), "{key} is to be worked on, and nobody has it");
                self.model.dirty.remove(&key);
                self.model.processing.insert(key);
            }
        }
        Ok(())
    }

    fn done(&mut self, nth: u8) {
        let processing: Vec<u8> = self.model.processing.iter().copied().collect();
        if let Some(key) = processing.get(usize::from(nth) % processing.len().max(1)) {
            self.queue.done(key);
            self.model.processing.remove(key);
        }
    }

    fn take_leftovers(&mut self) -> Result<(), TestCaseError> {
        let leftovers = self.queue.take_leftovers();
        if !self.model.shut_down {
            prop_assert_eq!(leftovers, []);
            return Ok(());
        }
        let (delayed, ready): (Vec<_>, Vec<_>) =
            leftovers.iter().partition(|leftover| leftover.ready_at.is_some());
        let delayed: BTreeMap<u8, Instant> =
            delayed.iter().filter_map(|one| Some((one.key, one.ready_at?))).collect();
        prop_assert_eq!(delayed, std::mem::take(&mut self.model.delayed));
        let mut expect = self.model.queued();
        self.model.dirty.retain(|key| !expect.contains(key));
        expect.extend(std::mem::take(&mut self.model.late));
        expect.sort_unstable();
        let mut ready: Vec<u8> = ready.iter().map(|one| one.key).collect();
        ready.sort_unstable();
        prop_assert_eq!(ready, expect);
        Ok(())
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        self.model.ripen(now());
        let metrics = self.queue.metrics();
        prop_assert_eq!(self.queue.len(), self.model.queued().len());
        prop_assert_eq!(metrics.working, self.model.processing.len());
        prop_assert_eq!(metrics.delayed, self.model.delayed.len());
        prop_assert_eq!(self.queue.is_shutting_down(), self.model.shut_down);
        for key in 0..6 {
            let failures = self.model.failures.get(&key).copied().unwrap_or_default();
            prop_assert_eq!(self.queue.num_requeues(&key), failures);
        }
        Ok(())
    }

    /// In the end all added keys are worked on.
    async fn finish(&mut self) -> Result<(), TestCaseError> {
        while !self.model.processing.is_empty() {
            self.done(0);
        }
        if self.model.shut_down {
            return self.take_leftovers();
        }
        tokio::time::advance(Duration::from_secs(2000)).await;
        self.model.ripen(now());
        while !self.queue.is_empty() {
            self.get()?;
            self.done(0);
        }
        prop_assert!(self.model.queued().is_empty());
        self.compare()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn queue_agrees_with_its_model(calls in calls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let rate_limiter = Box::new(default_item_based_rate_limiter());
            let options = WorkQueueOptions { rate_limiter, lanes: LaneRule::default() };
            let mut test = Test { queue: WorkQueue::new("model", options), model: Model::default() };
            for call in calls {
                test.call(call).await?;
            }
            test.finish().await
        })?;
    }
}
