use super::super::{Lane, WorkQueueOptions};
use super::*;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn queue() -> WorkQueue<&'static str> {
    WorkQueue::new("test", WorkQueueOptions::default())
}

/// The reconciled keys, with milliseconds since the start.
#[derive(Clone)]
struct Journal {
    start: Instant,
    entries: Arc<Mutex<Vec<(&'static str, u128)>>>,
}

impl Journal {
    fn new() -> Self {
        Self { start: Instant::now(), entries: Arc::default() }
    }

    fn note(&self, key: &'static str) -> usize {
        let mut entries = self.entries.lock();
        entries.push((key, self.start.elapsed().as_millis()));
        entries.iter().filter(|(noted, _)| *noted == key).count()
    }

    #[track_caller]
    fn check(&self, expect: &[(&str, u128)]) {
        assert_eq!(*self.entries.lock(), expect);
    }
}

/// Runs one worker for ten seconds.
async fn run<R>(
    queue: &WorkQueue<&'static str>,
    options: ControllerOptions,
    reconcile: impl Fn(&'static str) -> R + Send + Sync + 'static,
) -> Stopped<&'static str>
where
    R: Future<Output = Result<Action, String>> + Send + 'static,
{
    Controller::new(queue.clone(), options).run(reconcile, sleep(10 * SECOND)).await
}

#[tokio::test(start_paused = true)]
async fn a_key_is_reconciled_once_for_an_add() {
    let (queue, journal) = (queue(), Journal::new());
    queue.add("a");
    queue.add("b");
    let noted = journal.clone();
    let stopped = run(&queue, ControllerOptions::default(), move |key| {
        noted.note(key);
        async { Ok(Action::await_change()) }
    });
    assert_eq!(stopped.await, Stopped { leftovers: Vec::new(), broken_off: 0 });
    journal.check(&[("a", 0), ("b", 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_comes_again_until_it_succeeds_and_is_then_forgotten() {
    let (queue, journal) = (queue(), Journal::new());
    queue.add("a");
    let noted = journal.clone();
    run(&queue, ControllerOptions::default(), move |key| {
        let times = noted.note(key);
        async move { if times < 4 { Err("no".to_owned()) } else { Ok(Action::await_change()) } }
    })
    .await;
    journal.check(&[("a", 0), ("a", 5), ("a", 15), ("a", 35)]);
    assert_eq!(queue.num_requeues(&"a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_like_another() {
    let (queue, journal) = (queue(), Journal::new());
    queue.add("in the call");
    queue.add("in the future");
    let noted = journal.clone();
    run(&queue, ControllerOptions::default(), move |key| {
        let first = noted.note(key) == 1;
        assert!(!first || key != "in the call", "the first call panics");
        async move {
            assert!(!first, "the first one panics");
            Ok(Action::await_change())
        }
    })
    .await;
    let expect =
        [("in the call", 0), ("in the future", 0), ("in the call", 5), ("in the future", 5)];
    journal.check(&expect);
}

/// The log as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("pod cannot be read")]
struct Unread(#[source] std::io::Error);

#[tokio::test(start_paused = true)]
async fn an_error_is_logged_with_its_causes() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    let _logging = tracing::subscriber::set_default(subscriber.finish());
    let queue = queue();
    queue.add("a");
    let fail = |_| async { Err(Unread(std::io::Error::other("connection refused"))) };
    Controller::new(queue, ControllerOptions::default()).run(fail, sleep(SECOND / 1000)).await;
    let logged = String::from_utf8(log.0.lock().clone()).expect("a log is text");
    assert!(logged.contains("pod cannot be read: connection refused"), "{logged}");
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_again_when_it_asks_for_it() {
    let (queue, journal) = (queue(), Journal::new());
    queue.add("a");
    let noted = journal.clone();
    let stopped = run(&queue, ControllerOptions::default(), move |key| {
        noted.note(key);
        async { Ok(Action::requeue(4 * SECOND)) }
    });
    let stopped = stopped.await;
    journal.check(&[("a", 0), ("a", 4000), ("a", 8000)]);
    let left: Vec<_> = stopped.leftovers.iter().map(|one| (one.key, one.ready_at)).collect();
    let due = journal.start + 12 * SECOND;
    assert_eq!(left, [("a", Some(due.into_std()))]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_fails_too_often_is_given_up_until_it_is_added() {
    let (queue, journal) = (queue(), Journal::new());
    queue.add("a");
    queue.add_after("a", SECOND);
    let noted = journal.clone();
    let options = ControllerOptions { retries_max: Some(1), ..ControllerOptions::default() };
    let stopped = run(&queue, options, move |key| {
        noted.note(key);
        async { Err("no".to_owned()) }
    });
    let stopped = stopped.await;
    // The earlier delayed add is also the first retry's: the earlier time counts.
    journal.check(&[("a", 0), ("a", 5)]);
    assert_eq!((stopped.leftovers, queue.num_requeues(&"a")), (Vec::new(), 0));
}

#[tokio::test(start_paused = true)]
async fn a_retry_keeps_its_lane() {
    let queue = queue();
    queue.add_with("a", AddOptions { lane: Lane::Background, ..AddOptions::default() });
    let stopped = run(&queue, ControllerOptions::default(), |_| async { Err("no".to_owned()) });
    let lanes: Vec<_> = stopped.await.leftovers.iter().map(|one| one.lane).collect();
    assert_eq!(lanes, [Lane::Background]);
}

#[tokio::test(start_paused = true)]
async fn workers_work_at_once_but_never_on_the_same_key() {
    let queue = queue();
    let in_work: Arc<Mutex<BTreeMap<&str, usize>>> = Arc::default();
    let most = Arc::new(AtomicUsize::new(0));
    for key in ["a", "b", "c", "d"] {
        queue.add(key);
        queue.add_after(key, SECOND / 2);
    }
    let options = ControllerOptions { workers: 4, ..ControllerOptions::default() };
    let seen = most.clone();
    run(&queue, options, move |key| {
        let (in_work, seen) = (in_work.clone(), seen.clone());
        async move {
            {
                let mut in_work = in_work.lock();
                *in_work.entry(key).or_default() += 1;
                assert_eq!(in_work[key], 1, "{key} is in work already");
                seen.fetch_max(in_work.values().sum(), Ordering::SeqCst);
            }
            sleep(SECOND).await;
            *in_work.lock().entry(key).or_default() -= 1;
            Ok(Action::await_change())
        }
    })
    .await;
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_finishes_what_is_queued() {
    let (queue, journal) = (queue(), Journal::new());
    let (stop, stopped) = oneshot::channel::<()>();
    queue.add("a");
    queue.add("b");
    let noted = journal.clone();
    let controller = Controller::new(queue.clone(), ControllerOptions::default());
    stop.send(()).expect("it is listened to");
    let shutdown = async move { drop(stopped.await) };
    let reconcile = move |key| {
        noted.note(key);
        async {
            sleep(SECOND).await;
            Ok::<_, String>(Action::await_change())
        }
    };
    assert_eq!(controller.run(reconcile, shutdown).await.leftovers, []);
    journal.check(&[("a", 0), ("b", 1000)]);
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_at_a_shutdown_is_broken_off_and_left_over() {
    let (queue, journal) = (queue(), Journal::new());
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    let options = ControllerOptions { workers: 2, ..ControllerOptions::default() };
    let stopped = run(&queue, options, |_| std::future::pending()).await;
    assert_eq!(journal.start.elapsed(), 30 * SECOND, "ten until the shutdown, twenty to drain");
    let mut keys: Vec<_> = stopped.leftovers.iter().map(|one| one.key).collect();
    keys.sort_unstable();
    assert_eq!((keys, stopped.broken_off), (vec!["a", "b", "c"], 2));
}
