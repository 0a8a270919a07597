//! Whether a plugin's calls hold its thread for long. A plugin with such calls moves to a thread for slow plugins.
//!
//! A guest yields at every tick of the engine. Each guest that spins makes the other plugins of the thread wait for
//! one tick in each round. So a plugin whose call lasts for some ticks moves from within that call. Every further tick
//! keeps it there for a while. It comes back with the first call after that; if it is long again soon, after a minute.
//! A guest does not yield within one instruction, which may touch hundreds of megabytes: the processor time of a whole
//! turn counts too. A plugin also moves after a series of shorter calls that hold the thread for a millisecond or more,
//! and after long turns of all its shards together: each of them ends its turn at a tick, long before it alone is found
//! slow.
//!
//! Many plugins may have their first such instruction at the same moment. So the first one raises the host's alarm:
//! for a second, plugins with huge memory are slow from the start of their calls, or from the growth of their memory.
//! That is enough for the calls of one event. A plugin whose instructions are long again and again stays slow for up to
//! an hour, so that its alarms are rare.

mod memory;

use crate::account::Ledger;
use crate::token_bucket::TokenBucket;
use memory::LargeInstances;
#[cfg(test)]
pub(crate) use memory::{LARGE_MEMORY_MAX, SMALL_MEMORY_MAX};
pub(crate) use memory::{LargeInstance, MemorySize};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A call that lasts so many ticks is slow: a little more than 20 ms.
const SLOW_TICKS: u32 = 3;
/// A turn ends at a tick, or after a millisecond's worth of calls. So one that takes more processor time than this had a
/// slow call, and the plugin stays slow for so many times as long.
const SLOW: Duration = Duration::from_millis(30);
const STAY_FACTOR: u32 = 100;
/// A plugin that is long again within [`AGAIN`], or within as long as it was slow, stays slow for [`STAY_MAX`], then twice
/// as long each time, up to this.
const LONG_INSTRUCTION_STAY_MAX: Duration = Duration::from_secs(3600);
/// How long a plugin stays slow for each tick of a slow call, with the ticks before it was found slow. So its
/// neighbours lose at most a hundredth of their time to it.
const STAY: Duration = Duration::from_secs(1);
const STAY_MAX: Duration = Duration::from_secs(60);
/// A plugin that is found slow by ticks again within this time stays slow for [`STAY_MAX`]. Many plugins that come
/// back together and are long at the same event hold the others up once a minute.
const AGAIN: Duration = Duration::from_secs(600);
/// How long an alarm lasts.
const ALARM: Duration = Duration::from_secs(1);
/// A call of at most this length delays no other plugin. So many of them in a row allow lent turns. More would not bound
/// the time of long calls among short ones: a few plugins of this kind take what may be lent, however many calls are
/// short. And a thousand plugins with one event a second would wait for longer until waking their threads is saved.
const SHORT: Duration = Duration::from_micros(250);
pub(crate) const SHORT_CALLS: u32 = 4;
/// A call that holds its thread for so long is long. So many more long calls than others make the plugin slow.
const LONG: Duration = Duration::from_millis(1);
const LONG_CALLS: u32 = 8;
/// How long the plugin stays slow after another long call.
const LONG_STAY: Duration = Duration::from_secs(10);
/// A turn of short calls ends after a millisecond, and a new instance takes some. Longer turns may hold the threads of
/// quick plugins for these seconds in each second, and at once: a tick and some more.
const LONG_TURN: Duration = Duration::from_millis(5);
const HELD_PER_SECOND: f64 = 0.01;
const HELD_AT_ONCE: f64 = 0.015;
/// How long a plugin stays slow from the begin of a load on. A longer load keeps it slow by its ticks.
const LOAD_STAY: Duration = Duration::from_secs(1);
/// A longer lent turn has made an informer wait. Turns end by themselves after a millisecond.
const LENT_MAX: Duration = Duration::from_millis(4);
/// How long a plugin that made an informer wait gets no lent turn: a minute, then two, four, up to an hour.
const DISTRUST_BASE: Duration = Duration::from_secs(60);
const DISTRUST_MAX: Duration = Duration::from_secs(3600);

/// The pace of one plugin's name, as one of its shards has it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    shared: Arc<PaceState>,
    call: Arc<ShardCalls>,
    /// The ledger for the processor time of its turns.
    ledger: Arc<Ledger>,
    alarm: Alarm,
}

/// The alarm of a host. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarm(Arc<Mutex<Option<Instant>>>);

#[derive(Debug, Default)]
struct PaceState {
    is_slow: AtomicBool,
    instances: Arc<LargeInstances>,
    /// Whether turns may be in a pause, which hardly any plugin has: a lock is dearer than a look.
    is_distrusted: AtomicBool,
    /// The number of short calls in a row.
    short: AtomicU32,
    /// The number of long calls minus the others, up to twice the number that makes the plugin slow.
    long: AtomicU32,
    times: Mutex<Times>,
}

/// The calls of one shard.
#[derive(Debug, Default)]
struct ShardCalls {
    /// Whether a call of the guest is under way.
    is_in_call: AtomicBool,
    /// Since when the shard is to stop.
    stopped: OnceLock<Instant>,
    /// Microseconds that the current call has waited while its thread ran other plugins.
    waited: AtomicU64,
}

#[derive(Debug, Default)]
struct Times {
    /// The end of the plugin's slow time; `None` if it is not slow.
    slow_until: Option<Instant>,
    /// Long turns until then may be of a load, and say nothing of the plugin's calls.
    loads_until: Option<Instant>,
    /// When ticks found the plugin slow for the last time.
    ticked_slow: Option<Instant>,
    /// The end of the slow time after the last long instruction, and its length when the plugin was quick before.
    long_instruction: Option<(Instant, Duration)>,
    /// No turn is lent until then.
    lent_again: Option<Instant>,
    /// The pause in lent turns after the last turn that took too long.
    distrust: Duration,
    /// The seconds that long turns may still hold; `None` before the first one.
    held: Option<TokenBucket>,
}

impl Alarm {
    /// Raises it. A later end stays.
    fn raise(&self, now: Instant) {
        let mut end = self.0.lock();
        *end = (*end).max(Some(now + ALARM));
    }

    /// The end of the alarm that lasts now.
    fn end(&self, now: Instant) -> Option<Instant> {
        self.0.lock().filter(|end| now < *end)
    }
}

impl Times {
    /// Notes a long instruction. Returns the end of the slow time after it.
    fn after_long_instruction(&mut self, time: Duration, now: Instant, was_slow: bool) -> Instant {
        let short = (time * STAY_FACTOR).min(STAY_MAX);
        let (end, stay) = match self.long_instruction {
            // A load, or a call on a thread for slow plugins, says nothing of the next call on a quick one.
            None if was_slow => return now + short,
            None => (now + short, short),
            // On a thread for slow plugins, or another shard was long at the same event.
            Some((end, stay)) if was_slow || now < end => (end.max(now + short), stay),
            Some((end, stay)) if now < end + stay.max(AGAIN) => {
                let stay = (stay * 2).clamp(STAY_MAX, LONG_INSTRUCTION_STAY_MAX);
                (now + stay, stay)
            }
            Some(_) => (now + short, short),
        };
        self.long_instruction = Some((end, stay));
        end
    }
}

impl Pace {
    /// A pace on a host with this alarm, with this ledger for the processor time of turns.
    pub(crate) fn new(alarm: Alarm, ledger: Arc<Ledger>) -> Self {
        Self { ledger, alarm, ..Self::default() }
    }

    /// The pace of another shard of the plugin.
    pub(crate) fn of_shard(&self) -> Self {
        Self { call: Arc::default(), ..self.clone() }
    }

    /// Notes the processor time of a turn, on any thread.
    pub(crate) fn computed(&self, time: Duration, now: Instant) {
        self.ledger.computed(time);
        if time <= LONG_TURN {
            return;
        }
        let was_slow = self.is_slow();
        self.held_turn(time, now);
        if time <= SLOW {
            return;
        }
        if !was_slow {
            self.alarm.raise(now);
        }
        let end = self.shared.times.lock().after_long_instruction(time, now, was_slow);
        self.stay_slow_until(end);
    }

    /// Notes a turn that held its thread for long. The turns of a slow plugin hold no quick plugin up, and keep it slow.
    fn held_turn(&self, time: Duration, now: Instant) {
        let mut times = self.shared.times.lock();
        if times.loads_until.is_some_and(|until| now < until) {
            return;
        }
        if !self.is_slow() {
            let full = || TokenBucket::new(HELD_PER_SECOND, HELD_AT_ONCE, now);
            let held = times.held.get_or_insert_with(full);
            held.refill(now);
            held.spend(time.as_secs_f64());
            if held.tokens() >= 0.0 {
                return;
            }
        }
        drop(times);
        self.stay_slow_until(now + LONG_STAY);
    }

    /// Whether the plugin belongs on a thread for slow plugins.
    pub(crate) fn is_slow(&self) -> bool {
        self.shared.is_slow.load(Relaxed)
    }

    /// Whether a call of the guest is under way.
    pub(crate) fn is_in_call(&self) -> bool {
        self.call.is_in_call.load(Relaxed)
    }

    /// The shard is to stop: from now on, a call has the rest of its time by the clock.
    pub(crate) fn stop(&self, now: Instant) {
        // Only the first moment counts.
        let _ = self.call.stopped.set(now);
    }

    /// Since when the shard is to stop.
    pub(crate) fn stopped(&self) -> Option<Instant> {
        self.call.stopped.get().copied()
    }

    /// The call has ended.
    pub(crate) fn call_ended(&self) {
        self.call.is_in_call.store(false, Relaxed);
    }

    /// A call begins. Returns whether the plugin must move before its guest runs.
    pub(crate) fn call(&self, now: Instant) -> bool {
        self.call.is_in_call.store(true, Relaxed);
        if self.is_slow() {
            let until = &mut self.shared.times.lock().slow_until;
            if until.is_none_or(|until| now >= until) {
                *until = None;
                self.shared.is_slow.store(false, Relaxed);
            }
        }
        self.shared.instances.has_huge() && self.slow_if_alarmed(now)
    }

    /// The memory of an instance has grown to this size, which is not small.
    pub(crate) fn grew(&self, size: MemorySize) -> LargeInstance {
        LargeInstance::new(&self.shared.instances, size)
    }

    /// A load begins, which is slow: many plugins may load again and again. Their neighbours wait for none of it.
    pub(crate) fn loads(&self, now: Instant) {
        let until = now + LOAD_STAY;
        self.shared.times.lock().loads_until = Some(until);
        self.stay_slow_until(until);
    }

    /// Makes a quick plugin with a huge instance slow during an alarm. Returns whether it did.
    pub(crate) fn slow_if_alarmed(&self, now: Instant) -> bool {
        let end = if self.is_slow() { None } else { self.alarm.end(now) };
        if let Some(end) = end {
            self.stay_slow_until(end);
        }
        end.is_some()
    }

    /// Notes that the current call has waited for so long, while its thread ran other plugins.
    pub(crate) fn waited(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.call.waited.fetch_add(micros, Relaxed);
    }

    /// Notes the time of an event, with the host's work for it. Calls of all shards count together.
    pub(crate) fn took(&self, time: Duration, now: Instant) {
        // Hardly any call waits, and a load is cheaper.
        let waited = match self.call.waited.load(Relaxed) {
            0 => 0,
            _ => self.call.waited.swap(0, Relaxed),
        };
        let waited = Duration::from_micros(waited);
        self.held(time.saturating_sub(waited), now);
        let short = &self.shared.short;
        let before = short.load(Relaxed);
        match time <= SHORT {
            true if before < SHORT_CALLS => short.store(before + 1, Relaxed),
            true => {}
            false => short.store(0, Relaxed),
        }
    }

    /// Notes how long a call has held its thread.
    fn held(&self, time: Duration, now: Instant) {
        let before = self.shared.long.load(Relaxed);
        if time < LONG {
            // Shards on several threads have short calls all the time.
            if before > 0 {
                self.shared.long.store(before - 1, Relaxed);
            }
            return;
        }
        let long = (before + 1).min(2 * LONG_CALLS);
        self.shared.long.store(long, Relaxed);
        if long < LONG_CALLS {
            return;
        }
        self.stay_slow_until(now + LONG_STAY);
    }

    fn stay_slow_until(&self, end: Instant) {
        let until = &mut self.shared.times.lock().slow_until;
        *until = (*until).max(Some(end));
        self.shared.is_slow.store(true, Relaxed);
    }

    /// Notes the time of an event without a call. It says nothing about the plugin's calls.
    pub(crate) fn passed_over(&self, time: Duration) {
        if time > SHORT {
            self.shared.short.store(0, Relaxed);
        }
    }

    /// A new version begins: the short calls of the version before do not count.
    pub(crate) fn begin_version(&self) {
        self.shared.short.store(0, Relaxed);
    }

    /// Whether the plugin's calls are so short that an informer's thread may make them. One instruction of a large instance
    /// may be long. Invariant 1.
    pub(crate) fn may_be_lent(&self, now: Instant) -> bool {
        !self.is_slow()
            && self.shared.instances.are_small()
            && self.shared.short.load(Relaxed) >= SHORT_CALLS
            && (!self.shared.is_distrusted.load(Relaxed) || self.is_trusted_again(now))
    }

    fn is_trusted_again(&self, now: Instant) -> bool {
        self.shared.times.lock().lent_again.is_none_or(|again| now >= again)
    }

    /// Notes the processor time of a lent turn. A plugin that made an informer wait gets none for a while, longer each
    /// time.
    pub(crate) fn was_lent(&self, time: Duration, now: Instant) {
        // Invariant 2.
        if time <= LENT_MAX {
            return;
        }
        self.shared.short.store(0, Relaxed);
        let mut times = self.shared.times.lock();
        times.distrust = (times.distrust * 2).clamp(DISTRUST_BASE, DISTRUST_MAX);
        times.lent_again = Some(now + times.distrust);
        self.shared.is_distrusted.store(true, Relaxed);
    }

    /// Notes that a call has lasted for so many ticks.
    pub(crate) fn tick(&self, ticks: u32, now: Instant) {
        if ticks < SLOW_TICKS {
            return;
        }
        let was_slow = self.is_slow();
        let mut times = self.shared.times.lock();
        let stay = match ticks {
            // Ticks of a load say nothing of the plugin's calls.
            SLOW_TICKS if times.loads_until.is_none_or(|until| now >= until) => {
                let before = times.ticked_slow.replace(now);
                let is_again = before.is_some_and(|before| now < before + AGAIN);
                if is_again && !was_slow { STAY_MAX } else { STAY * SLOW_TICKS }
            }
            SLOW_TICKS => STAY * SLOW_TICKS,
            _ => STAY,
        };
        let until = times.slow_until.map_or(now, |until| until.max(now));
        times.slow_until = Some((until + stay).min(until.max(now + STAY_MAX)));
        drop(times);
        self.shared.is_slow.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls in sequence: `3@10` lasts for three ticks and begins at second 10. Shows the thread at the end of each:
    /// `s`low or `q`uick.
    #[track_caller]
    fn check(calls: &str, expect: &str) {
        let (pace, start) = (Pace::default(), Instant::now());
        let mut shown = String::new();
        for call in calls.split(' ') {
            let (ticks, at) = call.split_once('@').expect("ticks and a time");
            let now = start + Duration::from_secs(at.parse().expect("seconds"));
            pace.call(now);
            for tick in 1..=ticks.parse().expect("a count") {
                pace.tick(tick, now);
            }
            shown.push(if pace.is_slow() { 's' } else { 'q' });
        }
        assert_eq!(shown, expect, "{calls}");
    }

    #[test]
    fn a_load_is_slow() {
        let (pace, now) = (Pace::default(), Instant::now());
        pace.loads(now);
        let call = |after| {
            pace.call(now + after);
            pace.is_slow()
        };
        pace.computed(2 * LONG_TURN, now);
        assert!(call(Duration::ZERO) && call(LOAD_STAY - Duration::from_nanos(1)));
        assert!(!call(LOAD_STAY));
    }

    #[test]
    fn short_calls_are_quick_however_many() {
        check("0@0 1@0 2@0 2@0 2@1 2@2", "qqqqqq");
    }

    #[test]
    fn a_long_call_is_slow_for_a_second_for_each_tick() {
        check("3@0 0@2 0@3", "ssq");
        check("50@0 0@49 0@50", "ssq");
        check("3@0 3@0 0@5 0@6", "sssq");
    }

    #[test]
    fn a_plugin_that_comes_back_and_is_long_again_is_slow_for_a_minute() {
        check("3@0 0@3 3@4 0@63 0@64", "sqssq");
        check("3@0 0@3 3@599 0@658 0@659", "sqssq");
        check("3@0 0@3 3@600 0@602 0@603", "sqssq");
        let (pace, now) = (Pace::default(), Instant::now());
        let later = |seconds: u64| now + Duration::from_secs(seconds);
        pace.loads(now);
        pace.tick(SLOW_TICKS, now);
        pace.call(later(4));
        pace.tick(SLOW_TICKS, later(4));
        pace.call(later(7));
        assert!(!pace.is_slow(), "the load does not count");
    }

    #[test]
    fn nobody_stays_slow_for_ever() {
        check("60000@0 0@59 0@60", "ssq");
    }

    #[test]
    fn calls_that_hold_their_thread_again_and_again_are_slow() {
        let (pace, now) = (Pace::default(), Instant::now());
        let calls = |count: u32, time: Duration, now: Instant| {
            for _ in 0..count {
                pace.call(now);
                pace.took(time, now);
            }
            pace.is_slow()
        };
        assert!(!calls(7, LONG, now));
        assert!(!calls(1, SHORT, now));
        assert!(!calls(1, LONG, now));
        assert!(calls(1, LONG, now));
        let later = now + LONG_STAY;
        assert!(calls(7, SHORT, later - Duration::from_nanos(1)));
        assert!(!calls(1, SHORT, later));
        // A call that waits holds no thread.
        for _ in 0..100 {
            pace.waited(20 * LONG);
            assert!(!calls(1, 20 * LONG, later));
        }
    }

    /// Turns of the plugin's shards: `10@0` holds a thread for 10 ms and ends at millisecond 0. Shows the plugin's threads
    /// after each: `s`low or `q`uick.
    #[track_caller]
    fn check_turns(turns: &str, expect: &str) {
        let (first, start) = (Pace::default(), Instant::now());
        let mut shards = [first.of_shard(), first];
        let mut shown = String::new();
        for turn in turns.split(' ') {
            let (time, at) = turn.split_once('@').expect("two times");
            let [time, at] =
                [time, at].map(|it| Duration::from_millis(it.parse().expect("a time")));
            shards.reverse();
            shards[0].call(start + at);
            shards[0].computed(time, start + at);
            shown.push(if shards[1].is_slow() { 's' } else { 'q' });
        }
        assert_eq!(shown, expect, "{turns}");
    }

    #[test]
    fn long_turns_of_all_shards_together_make_a_plugin_slow() {
        check_turns("10@0 1@1 10@2 1@3", "qqss");
        check_turns("6@0 6@100 6@200 6@300", "qqss");
        // Turns of short calls, however many, and a long one now and then.
        check_turns("5@0 5@5 5@10 5@15 5@20 5@25 5@30 5@35 5@40 5@45", "qqqqqqqqqq");
        check_turns("10@0 10@1000 10@2000 10@3000", "qqqq");
        // A long turn keeps it slow, and short ones do not.
        check_turns("10@0 10@1 10@10000 1@19999 1@20000", "qsssq");
    }

    #[test]
    fn a_call_of_one_long_instruction_is_slow_by_its_time() {
        let (pace, now) = (Pace::default(), Instant::now());
        let call = |time: Duration, now: Instant| {
            pace.call(now);
            pace.computed(time, now);
            pace.is_slow()
        };
        assert!(!call(SLOW / 2, now));
        // One tick is seen, after the instruction.
        pace.tick(1, now);
        assert!(call(SLOW * 4, now));
        let again = now + SLOW * 4 * STAY_FACTOR;
        assert!(call(SHORT, again - Duration::from_nanos(1)));
        assert!(!call(SHORT, again));
        assert!(call(STAY_MAX, now));
        assert!(!call(SHORT, now + STAY_MAX));
        // By the clock it was long, because the thread waited for a processor.
        pace.took(STAY_MAX, now + STAY_MAX);
        assert!(!pace.is_slow());
    }

    #[test]
    fn a_plugin_of_long_instructions_stays_slow_for_longer_each_time() {
        let (alarm, mut now) = (Alarm::default(), Instant::now());
        let pace = Pace::new(alarm.clone(), Arc::default());
        let mut long = |pause: Duration| {
            now += pause;
            assert!(!pace.call(now) && !pace.is_slow(), "it is quick");
            pace.computed(2 * SLOW, now);
            assert!(alarm.end(now).is_some());
            // Neither ticks nor calls on the slow thread shorten the time.
            pace.tick(SLOW_TICKS, now);
            pace.computed(2 * SLOW, now);
            let stays = pace.shared.times.lock().slow_until.expect("it is slow") - now;
            pace.call(now + stays - Duration::from_nanos(1));
            assert!(pace.is_slow());
            now += stays;
            stays.as_secs() / 60
        };
        let minutes: Vec<u64> = (0..9).map(|_| long(Duration::from_secs(1))).collect();
        assert_eq!(minutes, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(long(AGAIN), 60, "an hour has to pass");
        assert_eq!(long(LONG_INSTRUCTION_STAY_MAX), 0);
    }

    #[test]
    fn shards_that_are_long_at_the_same_event_are_slow_once() {
        let (mut times, now) = (Times::default(), Instant::now());
        let ends = [0; 8].map(|_| times.after_long_instruction(2 * SLOW, now, false));
        assert_eq!(ends, [now + 2 * SLOW * STAY_FACTOR; 8]);
    }

    #[test]
    fn a_long_instruction_of_a_load_is_not_the_first_one() {
        let (pace, now) = (Pace::default(), Instant::now());
        pace.loads(now);
        pace.computed(2 * SLOW, now);
        let later = now + STAY_MAX;
        pace.call(later);
        assert!(!pace.is_slow());
        pace.computed(2 * SLOW, later);
        let until = pace.shared.times.lock().slow_until;
        assert_eq!(until, Some(later + LONG_STAY), "and not for a minute");
    }

    #[test]
    fn after_a_long_instruction_others_with_huge_memory_move_before_theirs() {
        let (alarm, now) = (Alarm::default(), Instant::now());
        let [first, huge, large, small] =
            [(); 4].map(|()| Pace::new(alarm.clone(), Arc::default()));
        let (instance, _of_large) = (huge.grew(MemorySize::Huge), large.grew(MemorySize::Large));
        assert!(!huge.call(now));
        first.computed(SLOW * 2, now);
        assert!(!small.call(now) && !large.call(now));
        assert!(huge.call(now));
        assert!(huge.is_slow());
        assert!(!huge.call(now), "it has moved");
        // The same when memory grows within a call.
        assert!(small.slow_if_alarmed(now));
        // Calls of a plugin that is slow already raise no alarm.
        first.computed(SLOW * 2, now + ALARM - Duration::from_nanos(1));
        assert!(!huge.call(now + ALARM));
        assert!(!huge.is_slow());
        assert!(!small.call(now + ALARM));
        small.computed(SLOW * 2, now + ALARM);
        assert!(huge.call(now + ALARM));
        drop(instance);
        assert!(!huge.call(now + ALARM * 2));
    }

    fn row_of_short_calls(pace: &Pace) {
        for _ in 0..SHORT_CALLS {
            pace.took(SHORT, Instant::now());
        }
    }

    /// Invariant 1.
    #[test]
    fn only_a_row_of_short_calls_promises_another() {
        let (pace, now) = (Pace::default(), Instant::now());
        let took = |times: u32, time: Duration| {
            for _ in 0..times {
                pace.took(time, now);
            }
            pace.may_be_lent(now)
        };
        assert!(!took(SHORT_CALLS - 1, SHORT));
        assert!(took(1, SHORT));
        assert!(!took(1, SHORT + Duration::from_nanos(1)));
        assert!(took(SHORT_CALLS, SHORT));
        pace.begin_version();
        assert!(!took(SHORT_CALLS - 1, SHORT));
        pace.passed_over(SHORT);
        assert!(!pace.may_be_lent(now));
        assert!(took(1, SHORT));
        pace.passed_over(2 * SHORT);
        assert!(!took(SHORT_CALLS - 1, SHORT));
        assert!(took(1, SHORT));
        let instance = pace.grew(MemorySize::Large);
        assert!(!pace.may_be_lent(now));
        drop(instance);
        assert!(pace.may_be_lent(now));
        pace.tick(3, now);
        assert!(!pace.may_be_lent(now));
    }

    /// Invariant 2.
    #[test]
    fn whoever_keeps_an_informer_waiting_is_trusted_less_each_time() {
        let (pace, mut now) = (Pace::default(), Instant::now());
        row_of_short_calls(&pace);
        pace.was_lent(LENT_MAX, now);
        assert!(pace.may_be_lent(now));
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            pace.was_lent(LENT_MAX + Duration::from_nanos(1), now);
            row_of_short_calls(&pace);
            let again = now + Duration::from_secs(60 * minutes);
            assert!(!pace.may_be_lent(again - Duration::from_nanos(1)), "{minutes}");
            assert!(pace.may_be_lent(again), "{minutes}");
            now = again;
        }
    }
}
