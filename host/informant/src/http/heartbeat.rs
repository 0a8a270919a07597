//! Whether the host still does what is due: its async runtime beats, and a thread of its own looks at that, and at how far tasks have come.
//!
//! It counts looks and not time. The thread looks once a second while it runs. A process that was stopped, or a machine
//! that slept, makes no looks and has done nothing wrong. A runtime of several threads beats while one of them does.

use informant_cache::{Pulse, SharedInformerFactory};
use informant_runtime::Plugins;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const EVERY: Duration = Duration::from_secs(1);
/// Looks without a beat after which the runtime is said to be stuck. Nothing that the host does on it takes a second.
const MISSED_MAX: u32 = 30;

/// Looks at which a task had work and had not made a step since the one before. A call of a plugin may compute for a minute, and its thread has a low
/// priority on a machine where others want the processor.
const STALLED_MAX: u32 = 120;

#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// Looks since the last beat.
    missed: AtomicU32,
    stalls: Mutex<Stalls>,
}

/// Tasks that had work at the last look, by what they are.
#[derive(Debug, Default)]
struct Stalls(BTreeMap<String, Stall>);

#[derive(Debug)]
struct Stall {
    steps: u64,
    /// Looks since it had made so many.
    looks: u32,
}

impl Stalls {
    fn look(&mut self, pulses: Vec<(String, Pulse)>) {
        let mut before = std::mem::take(&mut self.0);
        let with_work = pulses.into_iter().filter(|(_, pulse)| pulse.has_work);
        let stalls = with_work.map(|(name, Pulse { steps, .. })| {
            let same = before.remove(&name).filter(|stall| stall.steps == steps);
            let looks = same.map_or(0, |stall| stall.looks.saturating_add(1));
            (name, Stall { steps, looks })
        });
        self.0 = stalls.collect();
    }

    fn check(&self) -> Result<(), String> {
        let stuck = self.0.iter().find(|(_, stall)| stall.looks >= STALLED_MAX);
        stuck.map_or(Ok(()), |(name, stall)| {
            Err(format!("{name} has work, and has not made a step for {} s", stall.looks))
        })
    }
}

impl Heartbeat {
    /// Beats, on the runtime that is looked at.
    pub(super) async fn beat(&self) {
        every_second(|| self.missed.store(0, Ordering::Relaxed)).await;
    }

    /// Looks, on another one, also at how far tasks have come.
    pub(super) async fn look(&self, pulses: impl Fn() -> Vec<(String, Pulse)>) {
        every_second(|| {
            self.miss();
            self.stalls.lock().look(pulses());
        })
        .await;
    }

    /// Why the host's tasks are not alive, if they are not.
    pub(super) fn check_tasks(&self) -> Result<(), String> {
        self.stalls.lock().check()
    }

    /// Why the host's async runtime is not alive, if it is not.
    pub(super) fn check_runtime(&self) -> Result<(), String> {
        match self.missed.load(Ordering::Relaxed) {
            missed if missed < MISSED_MAX => Ok(()),
            missed => Err(format!(
                "the host's async runtime has run no timer for {missed} s: something holds all of its threads"
            )),
        }
    }

    fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }
}

/// How far the tasks of informers and plugins have come.
pub(super) fn pulses(informers: &SharedInformerFactory, plugins: &Plugins) -> Vec<(String, Pulse)> {
    let informers = informers.informers();
    let informers = informers.iter();
    let informers = informers.map(|it| (format!("the informer of {}", it.resource()), it.pulse()));
    informers.chain(plugins.pulses(std::time::Instant::now())).collect()
}

async fn every_second(act: impl Fn()) {
    let mut seconds = interval_at(Instant::now() + EVERY, EVERY);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        act();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_misses_its_bound_of_beats_is_not_alive_until_it_beats() {
        let heartbeat = Heartbeat::default();
        for _ in 1..MISSED_MAX {
            heartbeat.miss();
        }
        assert_eq!(heartbeat.check_runtime(), Ok(()));
        heartbeat.miss();
        let problem = heartbeat.check_runtime().expect_err("it is stuck");
        assert!(problem.contains("for 30 s"), "{problem}");
        heartbeat.missed.store(0, Ordering::Relaxed);
        assert_eq!(heartbeat.check_runtime(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_alive_for_as_long_as_it_beats() {
        let heartbeat = Heartbeat::default();
        let both = async { tokio::join!(heartbeat.beat(), heartbeat.look(Vec::new)) };
        assert!(tokio::time::timeout(EVERY * 100, both).await.is_err());
        assert_eq!(heartbeat.check_runtime(), Ok(()));
        assert!(tokio::time::timeout(EVERY * 100, heartbeat.look(Vec::new)).await.is_err());
        assert!(heartbeat.check_runtime().is_err());
    }

    /// Whether a task is stuck that is looked at so often, after some looks at which it had made steps.
    #[track_caller]
    fn check(looks: &[(u64, bool, u32)], is_stuck: bool) {
        let mut stalls = Stalls::default();
        for (steps, has_work, times) in looks {
            for _ in 0..*times {
                let pulse = Pulse { steps: *steps, has_work: *has_work };
                stalls.look(vec![("the task".to_owned(), pulse)]);
            }
        }
        assert_eq!(stalls.check().is_err(), is_stuck, "{looks:?}");
    }

    #[test]
    fn a_task_is_stuck_that_has_work_and_makes_no_step() {
        check(&[(0, true, STALLED_MAX)], false);
        check(&[(0, true, STALLED_MAX + 1)], true);
        check(&[(0, false, 2 * STALLED_MAX)], false);
        check(&[(0, true, STALLED_MAX), (0, false, 1), (0, true, STALLED_MAX)], false);
        check(&[(0, true, STALLED_MAX), (1, true, STALLED_MAX)], false);
        check(&[(0, true, 2 * STALLED_MAX), (1, true, 1)], false);
    }
}
