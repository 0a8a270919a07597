use super::*;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Keys that fail in sequence at the same moment, with the expected waits.
#[track_caller]
fn check(limiter: &mut dyn RateLimiter<&'static str>, steps: &[(&'static str, Duration)]) {
    let now = Instant::now();
    for (number, (key, wait)) in steps.iter().enumerate() {
        assert_eq!(limiter.when(key, now), *wait, "step {number}, {key}");
    }
}

#[test]
fn exponential_waits_double_for_each_key_by_itself() {
    let mut limiter = ItemExponentialFailureRateLimiter::new(MS, SECOND);
    check(&mut limiter, &[("one", MS), ("one", 2 * MS), ("one", 4 * MS), ("one", 8 * MS)]);
    check(&mut limiter, &[("one", 16 * MS), ("two", MS), ("two", 2 * MS)]);
    assert_eq!((limiter.num_requeues(&"one"), limiter.num_requeues(&"two")), (5, 2));
    limiter.forget(&"one");
    assert_eq!((limiter.num_requeues(&"one"), limiter.num_requeues(&"two")), (0, 2));
    check(&mut limiter, &[("one", MS)]);
}

#[test]
fn exponential_waits_do_not_overflow() {
    let mut limiter = ItemExponentialFailureRateLimiter::new(MS, 1000 * SECOND);
    let now = Instant::now();
    let waits: Vec<_> = (0..2000).map(|_| limiter.when(&"one", now)).collect();
    assert!(waits.is_sorted(), "they only grow");
    assert_eq!((waits[5], waits[9], waits[1999]), (32 * MS, 512 * MS, 1000 * SECOND));
    assert_eq!(limiter.num_requeues(&"one"), 2000);
    assert_eq!(exponential(SECOND, u32::MAX, Duration::MAX), Duration::MAX);
    assert_eq!(exponential(Duration::ZERO, u32::MAX, SECOND), Duration::ZERO);
    assert_eq!(exponential(MS, 40, Duration::MAX), Duration::from_micros(1000 << 40));
}

#[test]
fn fast_slow_waits_are_long_after_so_many() {
    let mut limiter = ItemFastSlowRateLimiter::new(5 * MS, 10 * SECOND, 3);
    check(&mut limiter, &[("one", 5 * MS), ("one", 5 * MS), ("one", 5 * MS)]);
    check(&mut limiter, &[("one", 10 * SECOND), ("one", 10 * SECOND), ("two", 5 * MS)]);
    assert_eq!(limiter.num_requeues(&"one"), 5);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    check(&mut limiter, &[("one", 5 * MS)]);
}

#[test]
fn a_bucket_lets_a_burst_pass_and_then_one_at_a_time() {
    let mut limiter = BucketRateLimiter::new(100 * MS, 3);
    let zero = Duration::ZERO;
    let steps = [("a", zero), ("b", zero), ("a", zero), ("a", 100 * MS), ("b", 200 * MS)];
    check(&mut limiter, &steps);
    RateLimiter::<&str>::forget(&mut limiter, &"a");
    assert_eq!(RateLimiter::<&str>::num_requeues(&limiter, &"a"), 0);
}

#[test]
fn a_bucket_fills_again_but_not_above_its_burst() {
    let mut limiter = BucketRateLimiter::new(SECOND, 2);
    let start = Instant::now();
    let mut waits = |at: u64| -> Vec<u64> {
        let now = start + Duration::from_secs(at);
        (0..4).map(|_| limiter.when(&"a", now).as_secs()).collect()
    };
    assert_eq!(waits(0), [0, 0, 1, 2]);
    assert_eq!(waits(3), [0, 1, 2, 3], "one came back");
    assert_eq!(waits(60), [0, 0, 1, 2], "two came back and no more");
}

#[test]
fn a_bucket_that_nobody_waits_long_for_is_not_emptied_far_ahead() {
    let mut limiter = BucketRateLimiter::new(SECOND, 1).with_max_wait(2 * SECOND);
    let start = Instant::now();
    let waits: Vec<_> = (0..100).map(|_| limiter.when(&"a", start).as_secs()).collect();
    assert_eq!((&waits[..4], waits[99]), (&[0, 1, 2, 2][..], 2));
    assert_eq!(limiter.when(&"a", start + 3 * SECOND), Duration::ZERO);
}

#[test]
fn an_interval_of_zero_is_no_limit_and_a_burst_of_zero_is_one() {
    check(&mut BucketRateLimiter::new(Duration::ZERO, 1), &[("a", Duration::ZERO); 1000]);
    check(&mut BucketRateLimiter::new(SECOND, 0), &[("a", Duration::ZERO), ("a", SECOND)]);
    let forever = Duration::MAX;
    check(&mut BucketRateLimiter::new(forever, 1), &[("a", Duration::ZERO); 3]);
}

#[test]
fn the_longest_of_several_waits_counts_and_all_hear_of_it() {
    let mut limiter = MaxOfRateLimiter::new(vec![
        Box::new(ItemFastSlowRateLimiter::new(5 * MS, 3 * SECOND, 3)),
        Box::new(ItemExponentialFailureRateLimiter::new(MS, SECOND)),
    ]);
    check(&mut limiter, &[("one", 5 * MS), ("one", 5 * MS), ("one", 5 * MS)]);
    check(&mut limiter, &[("one", 3 * SECOND), ("two", 5 * MS)]);
    assert_eq!(limiter.num_requeues(&"one"), 4);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
    check(&mut limiter, &[("one", 5 * MS)]);
    check(&mut MaxOfRateLimiter::new(Vec::new()), &[("one", Duration::ZERO)]);
}

#[test]
fn a_wait_is_cut_at_its_maximum() {
    let inner = ItemFastSlowRateLimiter::new(5 * MS, 100 * SECOND, 1);
    let mut limiter = WithMaxWaitRateLimiter::new(inner, 10 * SECOND);
    check(&mut limiter, &[("one", 5 * MS), ("one", 10 * SECOND), ("one", 10 * SECOND)]);
    limiter.forget(&"one");
    assert_eq!(limiter.num_requeues(&"one"), 0);
}

#[test]
fn the_usual_limiter_is_client_gos() {
    let mut limiter = default_controller_rate_limiter();
    check(&mut limiter, &[("one", 5 * MS), ("one", 10 * MS), ("one", 20 * MS)]);
    let now = Instant::now();
    let waits: Vec<_> = (0..30).map(|_| limiter.when(&"one", now)).collect();
    assert_eq!(waits[29], 1000 * SECOND);
    let mut limiter = default_controller_rate_limiter();
    let keys: Vec<u32> = (0..102).collect();
    let waits: Vec<_> = keys.iter().map(|key| limiter.when(key, now)).collect();
    assert_eq!((waits[99], waits[100], waits[101]), (5 * MS, 100 * MS, 200 * MS));
    check(&mut default_item_based_rate_limiter(), &[("one", MS), ("one", 2 * MS)]);
}
