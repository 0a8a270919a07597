use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

const WAIT: Duration = Duration::from_secs(1);

/// Adds `b1 l1 b2` at time zero, then checks the order of keys after `at`.
#[track_caller]
fn check(live_in_a_row: u32, pushed: &str, at: Duration, expect: &str) {
    let start = Instant::now();
    let mut lanes = Lanes::new(LaneRule { live_in_a_row, background_wait: WAIT });
    for key in pushed.split_whitespace() {
        let lane = if key.starts_with('b') { Lane::Background } else { Lane::Live };
        lanes.push(key, lane, start);
    }
    let popped = std::iter::from_fn(|| lanes.pop(start + at));
    assert_eq!(popped.map(|(key, _)| key).collect::<Vec<_>>().join(" "), expect);
}

#[test]
fn each_lane_is_first_in_first_out() {
    check(9, "l1 l2 l3", Duration::ZERO, "l1 l2 l3");
    check(9, "b1 b2 b3", Duration::ZERO, "b1 b2 b3");
}

#[test]
fn live_keys_go_first() {
    check(9, "b1 b2 l1 l2", Duration::ZERO, "l1 l2 b1 b2");
}

#[test]
fn a_background_key_gets_its_turn_after_so_many_live_ones() {
    check(2, "b1 b2 l1 l2 l3 l4 l5", Duration::ZERO, "l1 l2 b1 l3 l4 b2 l5");
    check(0, "b1 l1 l2", Duration::ZERO, "l1 b1 l2");
}

#[test]
fn lanes_take_turns_once_a_background_key_has_waited_long() {
    check(9, "b1 b2 l1 l2 l3", WAIT, "l1 b1 l2 b2 l3");
    check(9, "b1 l1 l2", WAIT - Duration::from_nanos(1), "l1 l2 b1");
}

#[test]
fn live_keys_that_went_while_no_other_waited_do_not_count() {
    let start = Instant::now();
    let mut lanes = Lanes::new(LaneRule { live_in_a_row: 2, background_wait: WAIT });
    for key in ["l1", "l2", "l3", "l4"] {
        lanes.push(key, Lane::Live, start);
    }
    let mut popped = vec![lanes.pop(start), lanes.pop(start)];
    lanes.push("b1", Lane::Background, start);
    popped.extend([lanes.pop(start), lanes.pop(start), lanes.pop(start)]);
    let popped: Vec<_> = popped.into_iter().flatten().map(|(key, _)| key).collect();
    assert_eq!(popped, ["l1", "l2", "l3", "l4", "b1"]);
}

#[test]
fn a_lifted_key_goes_to_the_end_of_the_live_lane() {
    let start = Instant::now();
    let mut lanes = Lanes::new(LaneRule::default());
    let place = lanes.push("b1", Lane::Background, start);
    let live = lanes.push("l1", Lane::Live, start);
    assert!(lanes.lift(place, start).is_some());
    assert!(lanes.lift(live, start).is_none(), "it is there already");
    let popped: Vec<_> = std::iter::from_fn(|| lanes.pop(start)).collect();
    assert_eq!(popped, [("l1", Lane::Live), ("b1", Lane::Live)]);
}

#[test]
fn only_what_a_watch_reports_is_live() {
    let lanes = [Reason::Watch, Reason::Initial, Reason::Relist, Reason::Resync].map(Lane::from);
    assert_eq!(lanes, [Lane::Live, Lane::Background, Lane::Background, Lane::Background]);
}

/// A key that waits.
struct Waiting {
    lane: Lane,
    /// Keys of its lane in front of it when it came.
    before: u64,
    /// Keys of the other lane that were handed out since.
    others: u64,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(Lane),
    Pop,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Push(Lane::Live)),
        2 => Just(Step::Push(Lane::Background)),
        4 => Just(Step::Pop),
        1 => (0u64..1500).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..400)
}

/// Plays the steps and compares each turn with the guarantees of [`LaneRule`].
fn play(steps: Vec<Step>, live_in_a_row: u32) -> Result<(), TestCaseError> {
    let mut now = Instant::now();
    let mut lanes = Lanes::new(LaneRule { live_in_a_row, background_wait: WAIT });
    let mut waiting: HashMap<u64, Waiting> = HashMap::new();
    // Turns of each lane since the oldest background key is old.
    let (mut live_turns, mut background_turns) = (0u64, 0u64);
    for (number, step) in (0u64..).zip(steps) {
        match step {
            Step::Pass(ms) => now += Duration::from_millis(ms),
            Step::Push(lane) => {
                let before = lanes.len(lane) as u64;
                lanes.push(number, lane, now);
                waiting.insert(number, Waiting { lane, before, others: 0 });
            }
            Step::Pop => {
                let oldest = lanes.background.first_key_value();
                let old = oldest.is_some_and(|(_, (_, since))| now - *since >= WAIT);
                let Some((key, lane)) = lanes.pop(now) else { continue };
                let popped = waiting.remove(&key).expect("it was pushed and not popped");
                let most = match lane {
                    Lane::Live => popped.before + 1,
                    Lane::Background => (popped.before + 1) * u64::from(live_in_a_row),
                };
                prop_assert!(popped.others <= most, "{lane:?} after {} others", popped.others);
                match (old, lane) {
                    (false, _) => (live_turns, background_turns) = (0, 0),
                    (true, Lane::Live) => live_turns += 1,
                    (true, Lane::Background) => background_turns += 1,
                }
                prop_assert!(live_turns <= background_turns + 1, "the lanes take turns");
                for one in waiting.values_mut().filter(|one| one.lane != lane) {
                    one.others += 1;
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn neither_lane_starves(steps in steps(), live_in_a_row in 1u32..20) {
        play(steps, live_in_a_row)?;
    }
}
