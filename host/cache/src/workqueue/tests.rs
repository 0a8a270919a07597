use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinHandle;
use tokio::time::{advance, timeout};

const SECOND: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::new("test", WorkQueueOptions::default())
}

/// The keys that can be handed out now, each done at once.
fn drained(queue: &WorkQueue<&'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.try_get().map(|item| *item)).collect()
}

fn waiting_get(queue: &WorkQueue<&'static str>) -> JoinHandle<Option<&'static str>> {
    let queue = queue.clone();
    tokio::spawn(async move { queue.get().await.map(|item| *item) })
}

#[tokio::test(start_paused = true)]
async fn get_waits_for_an_add() {
    let queue = queue();
    let got = waiting_get(&queue);
    tokio::task::yield_now().await;
    assert!(!got.is_finished());
    queue.add("a");
    assert_eq!(got.await.expect("it does not panic"), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn several_adds_wake_several_workers() {
    let queue = queue();
    let workers: Vec<_> = (0..3).map(|_| waiting_get(&queue)).collect();
    tokio::task::yield_now().await;
    for key in ["a", "b", "c"] {
        queue.add_after(key, SECOND);
    }
    let mut got = Vec::new();
    for worker in workers {
        let key = timeout(2 * SECOND, worker).await.expect("in time").expect("it does not panic");
        got.extend(key);
    }
    got.sort_unstable();
    assert_eq!(got, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_get_loses_no_key_and_no_wakeup() {
    let queue = queue();
    for _ in 0..20 {
        let first = waiting_get(&queue);
        let second = waiting_get(&queue);
        tokio::task::yield_now().await;
        queue.add("a");
        first.abort();
        let got = timeout(SECOND, second).await.expect("it was woken").expect("no panic");
        let first = first.await.unwrap_or(None);
        assert_eq!([got, first].into_iter().flatten().collect::<Vec<_>>().first(), Some(&"a"));
        queue.add("b");
        drained(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_get_does_not_take_the_earliest_delay_with_it() {
    let queue = queue();
    queue.add_after("late", 100 * SECOND);
    let (first, second) = (waiting_get(&queue), waiting_get(&queue));
    tokio::task::yield_now().await;
    queue.add_after("early", SECOND);
    tokio::task::yield_now().await;
    first.abort();
    let got = timeout(2 * SECOND, second).await.expect("at its time").expect("no panic");
    assert_eq!(got, Some("early"));
}

#[tokio::test(start_paused = true)]
async fn an_item_is_done_when_it_is_dropped_or_when_it_is_said() {
    let queue = queue();
    queue.add("a");
    let item = queue.try_get().expect("a key");
    queue.add("a");
    assert!(queue.try_get().is_none(), "it is in work");
    drop(item);
    let key = queue.try_get().expect("again").into_key();
    queue.add("a");
    assert!(queue.try_get().is_none(), "it is still in work");
    queue.done(&key);
    queue.try_get().expect("again").done();
    assert!(queue.try_get().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_at_its_time() {
    let queue = queue();
    queue.add_after("a", 50 * SOON);
    assert_eq!((queue.len(), queue.metrics().delayed), (0, 1));
    advance(49 * SOON).await;
    assert_eq!(drained(&queue), [""; 0]);
    advance(SOON).await;
    assert_eq!(drained(&queue), ["a"]);
    assert_eq!(queue.metrics().delayed, 0);
}

#[tokio::test(start_paused = true)]
async fn of_two_delays_the_earlier_counts_and_the_key_comes_once() {
    let queue = queue();
    queue.add_after("a", 50 * SOON);
    queue.add_after("a", 70 * SOON);
    advance(60 * SOON).await;
    assert_eq!(drained(&queue), ["a"]);
    advance(60 * SOON).await;
    assert_eq!(drained(&queue), [""; 0]);
    queue.add_after("a", 50 * SOON);
    queue.add_after("a", 30 * SOON);
    advance(40 * SOON).await;
    assert_eq!(drained(&queue), ["a"]);
    advance(60 * SOON).await;
    assert_eq!(drained(&queue), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_come_in_the_order_of_their_times() {
    let queue = queue();
    for (key, after) in [("a", 500), ("b", 300), ("c", 1000), ("d", 300)] {
        queue.add_after(key, after * SOON);
    }
    advance(2000 * SOON).await;
    assert_eq!(drained(&queue), ["b", "d", "a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn an_add_does_not_cancel_a_delay() {
    let queue = queue();
    queue.add_after("a", SECOND);
    queue.add("a");
    assert_eq!(drained(&queue), ["a"]);
    advance(SECOND).await;
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn no_delay_is_an_add_and_an_endless_one_never_comes() {
    let queue = queue();
    queue.add_after("a", Duration::ZERO);
    queue.add_after("b", Duration::MAX);
    assert_eq!(drained(&queue), ["a"]);
    advance(86_400 * 364 * SECOND).await;
    assert_eq!(drained(&queue), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn rate_limited_adds_wait_longer_each_time_until_forgotten() {
    let queue = queue();
    let mut waits = Vec::new();
    for _ in 0..3 {
        queue.add_rate_limited("a");
        let before = tokio::time::Instant::now();
        let item = queue.get().await.expect("a key");
        waits.push(before.elapsed().as_millis());
        drop(item);
    }
    assert_eq!((waits, queue.num_requeues(&"a")), (vec![5, 10, 20], 3));
    queue.forget(&"a");
    assert_eq!(queue.num_requeues(&"a"), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_ticks_while_nothing_happens() {
    let queue = queue();
    queue.add_after("a", 3600 * SECOND);
    let got = waiting_get(&queue);
    // Paused time jumps from timer to timer: a tick would come before.
    let before = tokio::time::Instant::now();
    assert_eq!(got.await.expect("no panic"), Some("a"));
    assert_eq!(before.elapsed(), 3600 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_what_is_queued_is_handed_out_and_then_nothing() {
    let queue = queue();
    queue.add("a");
    queue.add("b");
    queue.shut_down();
    queue.add("c");
    assert!(queue.is_shutting_down());
    assert_eq!(queue.get().await.map(|item| *item), Some("a"));
    assert_eq!(queue.get().await.map(|item| *item), Some("b"));
    assert!(queue.get().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_every_waiting_get() {
    let queue = queue();
    let workers: Vec<_> = (0..5).map(|_| waiting_get(&queue)).collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert_eq!(timeout(SECOND, worker).await.expect("in time").expect("no panic"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn leftovers_are_everything_that_was_not_handed_out() {
    let queue = queue();
    assert_eq!(queue.take_leftovers(), []);
    queue.add("queued");
    queue.add_with("low", AddOptions { lane: Lane::Background, ..AddOptions::default() });
    queue.add_after("delayed", 2 * SECOND);
    queue.add_rate_limited("failed");
    assert_eq!(queue.take_leftovers(), [], "it is open");
    let now = now();
    queue.shut_down();
    queue.add("late");
    queue.add_after("later", SECOND);
    let leftovers = queue.take_leftovers();
    let live = |key, after: Option<Duration>| Leftover {
        key,
        lane: Lane::Live,
        ready_at: after.map(|after| now + after),
    };
    let low = Leftover { lane: Lane::Background, ..live("low", None) };
    let expect = [
        live("queued", None),
        low,
        live("late", None),
        live("failed", Some(5 * SOON)),
        live("later", Some(SECOND)),
        live("delayed", Some(2 * SECOND)),
    ];
    assert_eq!(leftovers, expect);
    assert_eq!(queue.take_leftovers(), [], "they were taken");
    assert!(queue.get().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn another_queue_goes_on_with_leftovers() {
    let (old, new) = (queue(), queue());
    old.add("a");
    old.add_after("b", SECOND);
    old.shut_down();
    advance(SOON).await;
    new.restore(old.take_leftovers());
    assert_eq!(drained(&new), ["a"]);
    advance(SECOND - 2 * SOON).await;
    assert_eq!(drained(&new), [""; 0]);
    advance(SOON).await;
    assert_eq!(drained(&new), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_what_is_queued_and_for_what_is_in_work() {
    let queue = queue();
    queue.add("a");
    queue.add("b");
    queue.add_after("c", SECOND);
    let first = queue.try_get().expect("a key");
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    drop(first);
    tokio::task::yield_now().await;
    assert!(!drain.is_finished(), "b is still queued");
    let second = queue.get().await.expect("b");
    tokio::task::yield_now().await;
    assert!(!drain.is_finished(), "b is in work");
    drop(second);
    let leftovers = timeout(SECOND / 2, drain).await.expect("in time").expect("no panic");
    let keys: Vec<_> = leftovers.iter().map(|leftover| leftover.key).collect();
    assert_eq!(keys, ["c"]);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_a_key_that_was_added_while_it_was_in_work() {
    let queue = queue();
    queue.add("a");
    let item = queue.try_get().expect("a key");
    queue.add("a");
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    drop(item);
    tokio::task::yield_now().await;
    assert!(!drain.is_finished(), "it is queued again");
    drop(queue.get().await.expect("a again"));
    assert_eq!(drain.await.expect("no panic"), []);
    assert!(queue.get().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn drain_of_an_idle_queue_ends_at_once() {
    let queue = queue();
    assert_eq!(queue.shut_down_with_drain().await, []);
    assert_eq!(queue.shut_down_with_drain().await, [], "twice");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_drain() {
    let queue = queue();
    queue.add("a");
    queue.add("b");
    let item = queue.try_get().expect("a key");
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    queue.shut_down();
    let leftovers = timeout(SECOND, drain).await.expect("in time").expect("no panic");
    let keys: Vec<_> = leftovers.iter().map(|leftover| leftover.key).collect();
    assert_eq!(keys, ["b"], "a is still in work");
    drop(item);
}

#[tokio::test(start_paused = true)]
async fn a_failure_during_a_drain_is_left_over() {
    let queue = queue();
    queue.add("a");
    let item = queue.try_get().expect("a key");
    queue.shut_down();
    queue.add_rate_limited(*item);
    drop(item);
    let leftovers = queue.shut_down_with_drain().await;
    assert_eq!(leftovers.iter().map(|one| one.key).collect::<Vec<_>>(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn metrics_have_client_gos_names() {
    struct Lines(Vec<String>);
    impl MetricsSink for Lines {
        fn gauge(&mut self, metric: &'static str, queue: &str, lane: Option<Lane>, value: f64) {
            let lane = lane.map_or("", Lane::as_str);
            self.0.push(format!("{metric} {queue} {lane} {value}"));
        }
        fn counter(&mut self, metric: &'static str, queue: &str, value: u64) {
            self.0.push(format!("{metric} {queue} {value}"));
        }
        fn histogram(&mut self, metric: &'static str, queue: &str, value: &Histogram) {
            let buckets: Vec<_> = value.cumulative().map(|(_, count)| count).collect();
            self.0.push(format!("{metric} {queue} {buckets:?} {:?}", value.sum()));
        }
    }
    let queue = queue();
    queue.add("a");
    queue.add("b");
    queue.add("a");
    queue.add_after("c", 60 * SECOND);
    advance(2 * SECOND).await;
    let _a = queue.try_get().expect("a");
    advance(SECOND).await;
    queue.add_with("low", AddOptions { lane: Lane::Background, ..AddOptions::default() });
    let b = queue.try_get().expect("b");
    advance(20 * SECOND).await;
    drop(b);
    let metrics = queue.metrics();
    let mut lines = Lines(Vec::new());
    metrics.export(&mut lines);
    let expect = [
        "workqueue_depth test background 1",
        "workqueue_depth test live 0",
        "workqueue_adds_total test 3",
        "workqueue_queue_duration_seconds test [0, 0, 0, 0, 0, 0, 0, 0, 0, 2] 5s",
        "workqueue_work_duration_seconds test [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 20s",
        "workqueue_unfinished_work_seconds test  21",
        "workqueue_longest_running_processor_seconds test  21",
        "workqueue_retries_total test 1",
    ];
    assert_eq!(lines.0, expect);
    assert_eq!((metrics.work_duration.count(), metrics.depth_total()), (1, 1));
    assert_eq!((metrics.delayed, metrics.working), (1, 1));
}

/// Random producers and workers on several threads: every add is followed by work, and none twice at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_worked_on_twice_at_once_and_none_is_lost() {
    const KEYS: usize = 20;
    const ADDS: usize = 2_000;
    #[derive(Default)]
    struct Key {
        added: AtomicUsize,
        seen: AtomicUsize,
        in_work: AtomicUsize,
    }
    let queue = WorkQueue::<usize>::new("test", WorkQueueOptions::default());
    let keys: Arc<Vec<Key>> = Arc::new((0..KEYS).map(|_| Key::default()).collect());
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (queue, keys) = (queue.clone(), keys.clone());
        workers.spawn(async move {
            while let Some(item) = queue.get().await {
                let key = &keys[*item];
                assert_eq!(key.in_work.fetch_add(1, Ordering::SeqCst), 0, "nobody else has it");
                key.seen.store(key.added.load(Ordering::SeqCst), Ordering::SeqCst);
                tokio::task::yield_now().await;
                key.in_work.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }
    let mut producers = tokio::task::JoinSet::new();
    for seed in 0..4 {
        let (queue, keys) = (queue.clone(), keys.clone());
        producers.spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed);
            for _ in 0..ADDS {
                let key = random.usize(..KEYS);
                keys[key].added.fetch_add(1, Ordering::SeqCst);
                let lane = if random.bool() { Lane::Live } else { Lane::Background };
                queue.add_with(key, AddOptions { lane, ..AddOptions::default() });
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(ended) = producers.join_next().await {
        ended.expect("a producer does not panic");
    }
    assert_eq!(queue.shut_down_with_drain().await, []);
    while let Some(ended) = workers.join_next().await {
        ended.expect("a worker does not panic");
    }
    for key in keys.iter() {
        assert_eq!(key.seen.load(Ordering::SeqCst), key.added.load(Ordering::SeqCst));
    }
}
