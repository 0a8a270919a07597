use super::*;

use Lane::{Background, Live};

/// Adds (`a`), gets (`get`, with the expected key) and dones (`done a`) in order: `add a`, `get a`, `get -`.
#[track_caller]
fn check(steps: &str) -> Queue<String> {
    let now = Instant::now();
    let mut queue = Queue::new(LaneRule::default());
    for step in steps.split(',').map(str::trim) {
        let (what, key) = step.split_once(' ').expect("a verb and a key");
        match what {
            "add" => drop(queue.add(key.to_owned(), Live, now)),
            "low" => drop(queue.add(key.to_owned(), Background, now)),
            "done" => drop(queue.done(&key.to_owned(), now)),
            "get" => {
                let taken = queue.get(now).map_or("-".to_owned(), |taken| taken.key);
                assert_eq!(taken, key, "{step} of {steps}");
            }
            "len" => assert_eq!(queue.waiting().to_string(), key, "{step} of {steps}"),
            "working" => assert_eq!(queue.working().to_string(), key, "{step} of {steps}"),
            _ => panic!("{what} is not a step"),
        }
    }
    queue
}

#[test]
fn keys_come_in_the_order_of_their_adding() {
    check("add a, add b, add c, get a, get b, get c, get -");
}

#[test]
fn a_key_that_waits_is_not_added_twice() {
    check("add a, add a, add b, add a, len 2, get a, get b, get -");
}

#[test]
fn a_key_in_work_is_not_handed_out() {
    check("add a, get a, add a, len 0, get -, add b, get b, get -");
}

#[test]
fn what_is_added_during_work_comes_after_done() {
    check("add a, get a, add a, add a, add b, done a, len 2, get b, get a, get -");
}

#[test]
fn done_without_an_add_is_the_end() {
    let queue = check("add a, get a, working 1, done a, working 0, get -");
    assert!(queue.is_idle());
}

#[test]
fn a_key_can_be_added_again_after_done() {
    check("add a, get a, done a, add a, get a, done a, get -");
}

#[test]
fn done_of_a_key_that_is_not_in_work_does_nothing() {
    check("add a, done a, len 1, get a, done a, done a, done b, len 0");
}

#[test]
fn len_counts_only_what_waits() {
    check("add a, add b, len 2, get a, len 1, add a, len 1, done a, len 2");
}

#[test]
fn an_urgent_add_lifts_a_key_that_waits_in_the_background() {
    check("low a, low b, low c, add c, len 3, get c, get a, get b");
}

#[test]
fn a_leisurely_add_does_not_lower_a_live_key() {
    check("low b, add a, low a, len 2, get a, get b, get -");
}

#[test]
fn the_most_urgent_add_during_work_decides() {
    check("add a, get a, low a, low b, add a, done a, get a, get b");
    check("add a, get a, low a, low b, done a, get b, get a");
}

#[test]
fn times_are_measured_from_the_first_add_and_from_the_get() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut queue = Queue::new(LaneRule::default());
    queue.add("a", Background, at(0));
    queue.add("a", Live, at(2));
    let taken = queue.get(at(5)).expect("a key");
    assert_eq!((taken.lane, taken.waited), (Live, Duration::from_secs(5)));
    queue.add("a", Live, at(6));
    let worked: Vec<_> = queue.worked_for(at(7)).collect();
    assert_eq!(worked, [Duration::from_secs(2)]);
    let ended = queue.done(&"a", at(9)).expect("it was in work");
    assert_eq!(ended, EndedWork { worked: Duration::from_secs(4), again: true });
    let taken = queue.get(at(10)).expect("a key");
    assert_eq!(taken.waited, Duration::from_secs(4));
}

#[test]
fn keys_that_come_and_go_leave_nothing_behind() {
    let now = Instant::now();
    let mut queue = Queue::new(LaneRule::default());
    for key in 0..10_000 {
        queue.add(key, Background, now);
        queue.add(key, Live, now);
        let taken = queue.get(now).expect("a key");
        queue.done(&taken.key, now);
    }
    assert!(queue.is_idle() && queue.waiting() == 0 && queue.working() == 0);
}
