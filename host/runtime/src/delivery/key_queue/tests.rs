//! The queue of keys step by step, and in random order against a model.

use super::*;
use informant_cache::workqueue::exponential;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const GIVEN_UP: Worked<'static> = Worked::GivenUp { error: "no\nway", at: Timestamp::UNIX_EPOCH };

const WAITS: Waits = Waits {
    base: Duration::from_millis(5),
    max: Duration::from_secs(30),
    interval: Duration::ZERO,
    burst: 1,
};

fn plain() -> AddOptions {
    AddOptions::default()
}

/// Checks the output of a row of steps, with room for three keys. `a+` adds a key, `a+5` adds it after 5 ms, `a!`
/// adds it rate-limited, `a~` forgets it, and `a#` shows how often it failed. `*` takes the next key and shows the
/// attempt. `ok`, `ok5` (again after 5 ms), `no` (backoff), `no5`, `ended` (with its instance), `full` and `never`
/// settle the key. `9` lets as many ms pass. `hold1000` holds failed keys for as many ms, and `hold` releases them.
/// `?` shows the number of known keys, and `w` the number that wait for a call.
#[track_caller]
fn check(steps: &str, expect: &str) {
    let bytes = 2 * (KEY_BYTES_MAX + KEY_COST_BYTES);
    let mut keys = KeyQueue::new(Bounds { keys: 3, bytes }, WAITS);
    let mut now = Instant::now();
    let ms = |text: &str| Duration::from_millis(text.parse().expect("a number of ms"));
    let after = |text: &str| (!text.is_empty()).then(|| ms(text));
    let mut shown = Vec::new();
    for step in steps.split(' ') {
        let worked = match step {
            _ if step.starts_with("ok") => Some(Worked::Done { again: after(&step[2..]) }),
            _ if step.starts_with("no") => {
                Some(Worked::Failed { after: after(&step[2..]), crashed: false })
            }
            "ended" => Some(Worked::Failed { after: None, crashed: true }),
            "full" => Some(Worked::NoRoom),
            "never" => Some(GIVEN_UP),
            _ => None,
        };
        if let Some(worked) = worked {
            keys.settle(0, worked, now);
            continue;
        }
        if let Some(time) = step.strip_prefix("hold") {
            keys.hold_retries(after(time).map(|time| now + time), now);
            continue;
        }
        match step.find(['+', '!', '~', '#']).map(|at| (&step[..at], &step[at..])) {
            Some((key, how)) if how.starts_with(['+', '!']) => {
                let after = after(&how[1..]).unwrap_or_default();
                let options = AddOptions { after, rate_limited: how == "!", ..plain() };
                if let Err(error) = keys.add(key, options, now) {
                    shown.push(error.to_string());
                }
            }
            Some((key, "~")) => _ = keys.forget(key),
            Some((key, _)) => shown.push(keys.num_requeues(key).to_string()),
            None if step == "*" => {
                let work = keys.take(0, now);
                shown.push(work.map_or("-".to_owned(), |work| {
                    let crashes = "c".repeat(work.crashes as usize);
                    format!("{}{}{crashes}", work.key, work.attempt)
                }));
            }
            None if step == "?" => shown.push(keys.snapshot(now).keys.to_string()),
            None if step == "w" => shown.push(keys.snapshot(now).waiting.to_string()),
            None => now += ms(step),
        }
    }
    assert_eq!(shown.join(" "), expect, "{steps}");
}

#[test]
fn a_key_comes_once_for_what_was_added_before_and_again_for_what_was_added_since() {
    check("a+ a+ b+ * ok * ok * ?", "a1 b1 - 0");
    check("a+ * a+ ok * ok *", "a1 a1 -");
    check("a+5 * 5 * ok ?", "- a1 0");
}

#[test]
fn a_key_that_is_done_for_now_comes_again() {
    check("a+ * ok5 * 5 * ok * ?", "a1 - a1 - 0");
    check("a+ * ok0 * ok ?", "a1 a1 0");
}

#[test]
fn a_key_that_failed_waits_longer_each_time_until_it_succeeds() {
    check("a+ * no 4 * 1 * no 9 * 1 * ok a# ?", "a1 - a2 - a3 0 0");
    check("a+ * no7 a# 6 * 1 * ok ?", "a1 0 - a2 0");
    check("a+ * ended 5 * ended 10 *", "a1 a2c a3cc");
}

#[test]
fn what_somebody_adds_does_not_wait_and_what_failed_counts() {
    check("a+ * no a+ * ok 5 * ok ?", "a1 a2 a1 0");
    check("a+ * a+ no * ok 5 * ok ?", "a1 a2 a1 0");
    check("a+ * a+ ended * a+ ended *", "a1 a2c a3cc");
    check("a+ * never * ? a+ * ok", "a1 - 0 a1");
    check("a+ * no 5 * never a# ? a+ *", "a1 a2 0 0 a1");
}

#[test]
fn what_a_call_adds_does_not_put_off_its_own_retry() {
    check("a+ * a+1000 no 5 * ok 1000 * ?", "a1 a2 - 0");
    check("a+ * a! no 9 * ok", "a1 a2");
}

#[test]
fn a_key_that_waits_for_room_has_not_failed() {
    check("a+ * full 29999 * 1 * ok ?", "a1 - a1 0");
    check("a+ * no 5 * full 30000 * no 9 * 1 *", "a1 a2 a2 - a3");
}

#[test]
fn keys_that_have_failed_are_held_and_others_are_not() {
    check("a+ * no b+ hold1000 5 * ok * 994 * 1 * ok ?", "a1 b1 - - a2 0");
    // Held keys come when they are released, even if they were added meanwhile.
    check("a+ * no hold1000 5 * a+ * hold * ok * ?", "a1 - - a2 - 0");
    check("a+ * no hold1000 5 * hold2000 999 * 1 * 1000 * ok ?", "a1 - - - a2 0");
    // A key that waits for its own time goes on waiting.
    check("a+ * no7 hold1000 5 hold * 2 * ok", "a1 - a2");
    check("a+ * no hold1000 5 * a~ 1000 * never hold * ?", "a1 - a2 - 0");
}

/// Whether events wait in a queue for two keys that has these keys, delayed by so many seconds.
#[track_caller]
fn check_held(delays: &[u64], expect: bool) {
    let mut keys = KeyQueue::new(Bounds { keys: 2, bytes: 1 << 20 }, WAITS);
    let now = Instant::now();
    for (number, seconds) in delays.iter().enumerate() {
        keys.add_of_event(&number.to_string(), (Lane::Live, None), now).expect("it fits");
        keys.take(0, now).expect("it waits");
        keys.settle(0, Worked::Done { again: Some(Duration::from_secs(*seconds)) }, now);
    }
    assert_eq!(keys.holds_events(now), expect, "{delays:?}");
}

#[test]
fn events_wait_where_there_may_be_room_soon_or_nowhere_is_any() {
    check_held(&[0], false);
    check_held(&[0, 86_400], true);
    check_held(&[30, 86_400], true);
    check_held(&[31, 86_400], false);
    check_held(&[86_400, u64::MAX, 86_400], false);
    check_held(&[86_400; 4], true);
}

#[test]
fn what_many_keys_stood_in_is_given_back() {
    let mut keys = KeyQueue::new(Bounds { keys: 10_000, bytes: 1 << 30 }, WAITS);
    let now = Instant::now();
    for number in 0..5_000 {
        keys.add(&number.to_string(), plain(), now).expect("there is room");
    }
    assert!(keys.texts.capacity() >= EMPTIED_MIN);
    while keys.take(0, now).is_some() {
        keys.settle(0, Worked::Done { again: None }, now);
    }
    assert_eq!((keys.texts.capacity(), keys.bytes), (0, 0));
    keys.add("a", plain(), now).expect("there is room");
    assert_eq!(keys.take(0, now).map(|work| work.attempt), Some(1));
}

#[test]
fn another_version_begins_anew() {
    let mut keys = KeyQueue::new(Bounds { keys: 3, bytes: 1 << 20 }, WAITS);
    let now = Instant::now();
    keys.add("a", plain(), now).expect("there is room");
    for attempt in [1, 2, 1] {
        let due = keys.next_due(0, now).expect("it comes again");
        assert_eq!(keys.take(0, due.max(now)).map(|work| work.attempt), Some(attempt));
        keys.settle(0, Worked::Failed { after: None, crashed: true }, now);
        if attempt == 2 {
            keys.forgive();
        }
    }
    assert_eq!(keys.num_requeues("a"), 1);
    assert_eq!(keys.snapshot(now).keys, 1);
}

#[test]
fn a_key_that_comes_again_after_a_failure_waits_and_one_that_is_for_later_does_not() {
    check("a+ b+5 w * w no1000 w 5 w 1000 w", "1 a1 0 1 2 2");
    check("a+ * ok1000 w 1000 w", "a1 0 1");
    check("a+ * no1000 hold9000 1000 w * hold * w", "a1 1 - a2 0");
    check("a+ * never w", "a1 0");
}

#[test]
fn keys_are_through_once_none_waits_but_for_later() {
    let mut keys = KeyQueue::new(Bounds { keys: 9, bytes: 1 << 20 }, WAITS);
    let now = Instant::now();
    let later = AddOptions { after: Duration::from_secs(3_600), ..plain() };
    keys.add("later", later, now).expect("there is room");
    assert!(keys.is_drained(now));
    keys.add("a", plain(), now).expect("there is room");
    assert!(!keys.is_drained(now), "it waits");
    keys.take(0, now).expect("it waits");
    assert!(!keys.is_drained(now), "it is being worked on");
    let failed = Worked::Failed { after: Some(Duration::from_secs(60)), crashed: false };
    keys.settle(0, failed, now);
    assert!(!keys.is_drained(now), "it comes again");
    let then = now + Duration::from_secs(60);
    assert_eq!(keys.take(0, then).map(|work| work.attempt), Some(2));
    keys.settle(0, Worked::Done { again: Some(Duration::from_secs(1)) }, then);
    assert!(keys.is_drained(then), "it comes again later, and not because it failed");
}

#[test]
fn waits_that_the_guest_asked_for_grow_until_it_forgets() {
    check("a+ * a! ok a# 5 * a! ok a# 9 * 1 *", "a1 1 a1 2 - a1");
    check("a! a# a~ a# ? 5 * ok ?", "1 0 1 a1 0");
    check("a! 5 * a~ ok ?", "a1 0");
    check("b~ ?", "0");
}

/// Invariant 19.
#[test]
fn more_keys_or_bytes_than_fit_are_refused() {
    let full = "the workqueue is full: it has 3 keys of 771 bytes";
    check("a+ b+9 c! d+ a+ ? * ok d+ ?", &format!("{full} 3 a1 3"));
    let long = "k".repeat(KEY_BYTES_MAX);
    let full = "the workqueue is full: it has 2 keys of 1536 bytes";
    check(&format!("{long}+ l{}+ x+", &long[1..]), full);
    let length = |bytes| format!("a key of {bytes} bytes: keys have 1 to 512");
    check(&format!("k{long}+ +"), &[length(513), length(0)].join(" "));
}

#[test]
fn an_events_keys_go_in_whole_and_it_is_full_then() {
    let mut keys = KeyQueue::new(Bounds { keys: 2, bytes: 1 << 20 }, WAITS);
    let now = Instant::now();
    for (key, is_full) in [("a", false), ("b", true), ("c", true)] {
        assert_eq!(keys.add_of_event(key, (Lane::Background, None), now), Ok(0));
        assert_eq!(keys.is_full(), is_full, "{key}");
    }
    assert_eq!(keys.add("d", plain(), now), Err(AddError::Full { keys: 3, bytes: 771 }));
    assert_eq!(keys.add("c", plain(), now), Ok(0), "it is there already");
    assert_eq!(keys.take(0, now).map(|work| work.key), Some("c".into()), "it is lifted");
    keys.settle(0, Worked::Done { again: None }, now);
    assert_eq!((keys.clear(), keys.clear()), (2, 0));
    assert_eq!(keys.next_due(0, now), None);
}

#[test]
fn the_last_that_were_given_up_are_shown() {
    let mut keys = KeyQueue::new(Bounds { keys: 100, bytes: 1 << 20 }, WAITS);
    let now = Instant::now();
    for number in 0..GIVEN_UP_MAX + 2 {
        keys.add(&number.to_string(), plain(), now).expect("there is room");
        keys.take(0, now).expect("it waits");
        keys.settle(0, GIVEN_UP, now);
    }
    let shown = keys.snapshot(now).given_up;
    assert_eq!((shown.len(), &*shown[0].key, &*shown[0].error), (GIVEN_UP_MAX, "2", "no\\nway"));
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Add(u8, u16),
    AddRateLimited(u8),
    Forget(u8),
    Take,
    Settle(Worked<'static>),
    Recover,
    Pass(u16),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = 0u8..6;
    let wait = proptest::option::of((0u64..50).prop_map(Duration::from_millis));
    let worked = prop_oneof![
        wait.clone().prop_map(|again| Worked::Done { again }),
        (wait, any::<bool>()).prop_map(|(after, crashed)| Worked::Failed { after, crashed }),
        Just(GIVEN_UP),
        Just(Worked::NoRoom),
    ];
    let call = prop_oneof![
        20 => (key.clone(), 0u16..50).prop_map(|(key, ms)| Call::Add(key, ms)),
        5 => key.clone().prop_map(Call::AddRateLimited),
        5 => key.prop_map(Call::Forget),
        30 => Just(Call::Take),
        30 => worked.prop_map(Call::Settle),
        1 => Just(Call::Recover),
        15 => (0u16..60).prop_map(Call::Pass),
    ];
    proptest::collection::vec(call, 0..200)
}

/// A model of a queue with one worker, too simple to be wrong: when each key is due, and its failures so far.
#[derive(Default)]
struct Model {
    waiting: BTreeSet<String>,
    delayed: BTreeMap<String, Instant>,
    /// Attempts and crashes.
    failed: BTreeMap<String, (u32, u32)>,
}

impl Model {
    fn add(&mut self, key: &str, after: Duration, now: Instant) {
        if after.is_zero() {
            self.waiting.insert(key.to_owned());
            return;
        }
        let due = self.delayed.entry(key.to_owned()).or_insert(now + after);
        *due = (now + after).min(*due);
    }

    fn ripen(&mut self, now: Instant) {
        let ripe = self.delayed.extract_if(.., |_, due| *due <= now).map(|(key, _)| key);
        self.waiting.extend(ripe);
    }

    fn settle(&mut self, work: &KeyWork, worked: Worked<'_>, backoff: Duration, now: Instant) {
        let (key, before) = (&*work.key, self.failed.remove(&*work.key));
        match worked {
            Worked::Done { again: Some(after) } => self.add(key, after, now),
            Worked::Done { again: None } | Worked::GivenUp { .. } => {}
            Worked::NoRoom => {
                self.failed.extend(before.map(|before| (key.to_owned(), before)));
                self.add(key, WAITS.max, now);
            }
            Worked::Failed { after, crashed } => {
                let failures = (work.attempt, work.crashes + u32::from(crashed));
                self.failed.insert(key.to_owned(), failures);
                self.add(key, after.unwrap_or(backoff), now);
            }
        }
    }
}

/// The expected wait of the rate limiter after one more failure.
fn backoff(keys: &KeyQueue, key: &str) -> Duration {
    exponential(WAITS.base, keys.num_requeues(key), WAITS.max)
}

proptest! {
    /// Every key comes when it is due, with its failures. The counts are right, and in the end no key is left.
    #[test]
    fn every_key_that_was_added_is_worked_on_and_nothing_stays(calls in calls()) {
        let mut keys = KeyQueue::new(Bounds { keys: 4, bytes: 1 << 20 }, WAITS);
        let (mut now, mut model) = (Instant::now(), Model::default());
        let mut holding: Option<KeyWork> = None;
        let recovered = Worked::Failed { after: Some(Duration::ZERO), crashed: true };
        for call in calls {
            match call {
                Call::Add(key, ms) => {
                    let (key, after) = (key.to_string(), Duration::from_millis(ms.into()));
                    if keys.add(&key, AddOptions { after, ..plain() }, now).is_ok() {
                        model.add(&key, after, now);
                    }
                }
                Call::AddRateLimited(key) => {
                    let (key, options) = (key.to_string(), AddOptions { rate_limited: true, ..plain() });
                    let after = backoff(&keys, &key);
                    if keys.add(&key, options, now).is_ok() {
                        model.add(&key, after, now);
                    }
                }
                Call::Forget(key) => _ = keys.forget(&key.to_string()),
                Call::Take if holding.is_none() => {
                    model.ripen(now);
                    holding = keys.take(0, now);
                    prop_assert_eq!(holding.is_some(), !model.waiting.is_empty());
                    if let Some(work) = &holding {
                        prop_assert!(model.waiting.remove(&*work.key), "{} is not due", work.key);
                        let (attempts, crashes) = model.failed.get(&*work.key).copied().unwrap_or_default();
                        prop_assert_eq!((work.attempt, work.crashes), (attempts + 1, crashes));
                    }
                }
                Call::Settle(worked) => {
                    if let Some(work) = holding.take() {
                        model.settle(&work, worked, backoff(&keys, &work.key), now);
                    }
                    keys.settle(0, worked, now);
                }
                Call::Recover => {
                    if let Some(work) = holding.take() {
                        model.settle(&work, recovered, Duration::ZERO, now);
                    }
                    keys.recover(0, now);
                }
                Call::Pass(ms) => now += Duration::from_millis(ms.into()),
                Call::Take => {}
            }
            let kept = (0..6u8).filter(|key| keys.is_kept(&HashedKey::from(&key.to_string()))).count();
            prop_assert_eq!(keys.texts.len(), kept);
            prop_assert!(kept <= 4);
        }
        keys.settle(0, Worked::Done { again: None }, now);
        now += Duration::from_secs(60);
        model.ripen(now);
        while let Some(work) = keys.take(0, now) {
            model.waiting.remove(&*work.key);
            keys.settle(0, Worked::Done { again: None }, now);
        }
        prop_assert!(model.waiting.is_empty(), "{:?} never came", model.waiting);
        for key in 0..6u8 {
            keys.forget(&key.to_string());
        }
        prop_assert_eq!((keys.texts.len(), keys.bytes), (0, 0));
    }
}

/// Random keys of several shards whose number changes. Each key comes in its shard when it is due, with its
/// failures. No key is in flight twice, and no key is lost.
#[test]
fn keys_of_several_shards_come_each_in_its_own() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut keys = KeyQueue::new(Bounds { keys: 100, bytes: 1 << 20 }, WAITS);
        let (mut now, mut model) = (Instant::now(), Model::default());
        let mut at_work: BTreeMap<usize, KeyWork> = BTreeMap::new();
        for _ in 0..300 {
            now += Duration::from_millis(random.u64(0..5));
            let (key, wait) =
                (random.u8(0..12).to_string(), Duration::from_millis(random.u64(0..20)));
            let shard = random.usize(0..keys.shards());
            // A line looks at its delays only in a call, the model at all of them.
            keys.len(now);
            model.ripen(now);
            match random.u8(0..100) {
                0..35 => {
                    let options = AddOptions { after: wait, ..plain() };
                    keys.add(&key, options, now).expect("there is room");
                    model.add(&key, wait, now);
                }
                35..65 if !at_work.contains_key(&shard) => {
                    let taken = keys.take(shard, now);
                    let is_its = |key: &String| crate::shard::of_key(key, keys.shards()) == shard;
                    assert_eq!(taken.is_some(), model.waiting.iter().any(is_its));
                    let Some(work) = taken else { continue };
                    assert!(model.waiting.remove(&*work.key), "{} is not due", work.key);
                    let failed = model.failed.get(&*work.key).copied().unwrap_or_default();
                    assert_eq!((work.attempt, work.crashes), (failed.0 + 1, failed.1));
                    assert!(!at_work.values().any(|other| other.key == work.key));
                    at_work.insert(shard, work);
                }
                65..96 => {
                    let Some(work) = at_work.remove(&shard) else { continue };
                    let worked = match random.u8(0..4) {
                        0 => Worked::Failed { after: None, crashed: random.bool() },
                        1 => Worked::Done { again: Some(wait) },
                        _ => Worked::Done { again: None },
                    };
                    model.settle(&work, worked, backoff(&keys, &work.key), now);
                    keys.settle(shard, worked, now);
                }
                96..100 => {
                    for (shard, work) in std::mem::take(&mut at_work) {
                        let worked = Worked::Done { again: None };
                        model.settle(&work, worked, Duration::ZERO, now);
                        keys.settle(shard, worked, now);
                    }
                    let former = keys.reshard(random.usize(1..6), now);
                    let Some(mut former) = former.map(|it| it.into_keys(now)) else { continue };
                    while keys.regroup(&mut former, now) {}
                }
                _ => {}
            }
        }
        now += Duration::from_secs(60);
        at_work.keys().for_each(|shard| _ = keys.settle(*shard, Worked::Done { again: None }, now));
        model.ripen(now);
        for shard in 0..keys.shards() {
            while let Some(work) = keys.take(shard, now) {
                model.waiting.remove(&*work.key);
                keys.settle(shard, Worked::Done { again: None }, now);
            }
        }
        assert!(model.waiting.is_empty(), "seed {seed}: {:?} never came", model.waiting);
        assert_eq!((keys.texts.len(), keys.bytes), (0, 0), "seed {seed}");
    }
}

#[test]
fn keys_whose_time_has_come_become_due_in_steps() {
    let bounds = Bounds { keys: 1_000, bytes: 1 << 20 };
    let (mut keys, now) = (KeyQueue::new(bounds, WAITS), Instant::now());
    let options = AddOptions { after: Duration::from_secs(1), ..plain() };
    for number in 0..300 {
        keys.add(&format!("{number:03}"), options, now).expect("there is room");
    }
    let delayed = |keys: &KeyQueue| keys.lines[0].queue.delayed();
    assert!(!keys.ripen(now) && delayed(&keys) == 300, "no time has come");
    let now = now + Duration::from_secs(1);
    assert!(keys.take(0, now).is_some() && delayed(&keys) == 172, "a take moves as many");
    let mut steps = Vec::new();
    while keys.ripen(now) {
        steps.push(delayed(&keys));
    }
    assert_eq!(steps, [44]);
    assert_eq!((delayed(&keys), keys.len(now)), (0, 299));
}

/// The changes of the next key, by their last byte. It is settled like this.
#[track_caller]
fn check_changes(keys: &mut KeyQueue, worked: Worked<'_>, expect: &[u8]) {
    let now = Instant::now();
    let work = keys.take(0, now).expect("a key waits");
    let found: Vec<u8> = work.changes.iter().map(|change| change.0[15]).collect();
    assert_eq!(found, expect);
    keys.settle(0, worked, now);
}

#[test]
fn keys_of_former_shards_come_beside_those_that_are_added_meanwhile() {
    let mut keys = KeyQueue::new(Bounds { keys: 1_000, bytes: 1 << 20 }, WAITS);
    let (now, later) = (Instant::now(), AddOptions { after: Duration::from_secs(9), ..plain() });
    (0..500)
        .for_each(|key| _ = keys.add(key.to_string().as_str(), later, now).expect("there is room"));
    let bytes = keys.bytes();
    let mut former = keys.reshard(3, now).expect("another number").into_keys(now);
    assert!(keys.regroup(&mut former, now), "a few at a time");
    assert!((1..500).contains(&former.len()));
    let key = former.as_slice()[0].key.to_string();
    let shard = keys.add(key.as_str(), plain(), now).expect("it is known");
    assert!(keys.take(shard, now).is_some(), "a key that is on its way is due now");
    keys.settle(shard, Worked::Done { again: None }, now);
    while keys.regroup(&mut former, now) {}
    assert_eq!((keys.count(), keys.bytes()), (500, bytes));
    let all = now + Duration::from_secs(9);
    assert_eq!((keys.len(now), keys.len(all)), (0, 500), "none came early, and each once");
}

#[test]
fn a_key_keeps_the_changes_that_added_it_until_it_is_done() {
    let now = Instant::now();
    let mut keys = KeyQueue::new(Bounds { keys: 2, bytes: 9_000 }, Waits::default());
    let add = |keys: &mut KeyQueue, change: u8| {
        let change = Some(TraceId([change; 16]));
        keys.add_of_event("a", (Lane::Live, change), now).expect("it fits");
    };
    let failed = Worked::Failed { after: Some(Duration::ZERO), crashed: false };
    [1, 2].into_iter().for_each(|change| add(&mut keys, change));
    check_changes(&mut keys, failed, &[1, 2]);
    add(&mut keys, 3);
    check_changes(&mut keys, Worked::Done { again: Some(Duration::ZERO) }, &[1, 2, 3]);
    check_changes(&mut keys, Worked::Done { again: None }, &[]);
    add(&mut keys, 4);
    keys.clear();
    keys.add("a", AddOptions::default(), now).expect("it fits");
    check_changes(&mut keys, Worked::Done { again: None }, &[]);
}
