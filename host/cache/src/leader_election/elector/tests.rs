use super::super::leadership::LeaseOverdue;
use super::super::record::LeaderElectionRecord;
use super::super::testing::Call::{Create, Get, Update};
use super::super::testing::{Call, FakeLock, Fault};
use super::*;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

struct Running {
    leadership: Leadership,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(lock: &FakeLock, identity: &str) -> Self {
        let config = LeaderElectionConfig { seed: 1, ..LeaderElectionConfig::new(identity) };
        let elector = LeaderElector::new(Arc::new(lock.clone()), config).expect("it is valid");
        let leadership = elector.leadership();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(elector.run(async { drop(stopped.await) }));
        Self { leadership, stop, task }
    }

    async fn stop(self) {
        drop(self.stop);
        timeout(11 * SECOND, self.task).await.expect("in time").expect("it does not panic");
    }
}

fn record(holder: &str) -> LeaderElectionRecord {
    LeaderElectionRecord {
        holder_identity: holder.to_owned(),
        lease_duration: 15 * SECOND,
        ..LeaderElectionRecord::default()
    }
}

fn holder(lock: &FakeLock) -> String {
    lock.record().map(|record| record.holder_identity).unwrap_or_default()
}

fn error(error: LockError) -> Fault {
    Fault { error: Some(error), ..Fault::default() }
}

fn unavailable() -> Fault {
    error(LockError::Unavailable { message: "it is gone".to_owned() })
}

#[track_caller]
fn check(lock: &FakeLock, calls: &[Call]) {
    assert_eq!(lock.take_calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn the_first_to_come_leads_and_renews_without_reading() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    baz.leadership.acquired().await;
    sleep(5 * SECOND).await;
    check(&lock, &[Get, Create, Update, Update]);
    assert!(baz.leadership.is_leader());
    assert_eq!(baz.leadership.leader().as_deref(), Some("baz"));
    assert_eq!(lock.record().expect("a record").leader_transitions, 0);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_leads_back_to_reading_for_one_round() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    sleep(3 * SECOND).await;
    lock.fail_next(Update, error(LockError::Conflict));
    sleep(4 * SECOND).await;
    check(&lock, &[Get, Create, Update, Update, Get, Update, Update]);
    assert!(baz.leadership.is_leader());
}

#[tokio::test(start_paused = true)]
async fn a_crashed_leaders_lease_is_taken_once_it_has_run_out() {
    let lock = FakeLock::default();
    lock.put(record("bing"));
    let start = Instant::now();
    let baz = Running::start(&lock, "baz");
    let term = baz.leadership.acquired().await;
    let waited = start.elapsed();
    assert!(waited >= 15 * SECOND && waited < 15 * SECOND + SECOND.mul_f64(4.4), "{waited:?}");
    assert_eq!((term.transitions, holder(&lock).as_str()), (1, "baz"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_gives_the_lease_to_the_next() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    baz.leadership.acquired().await;
    let bing = Running::start(&lock, "bing");
    sleep(30 * SECOND).await;
    assert!(!bing.leadership.is_leader());
    assert_eq!(bing.leadership.leader().as_deref(), Some("baz"));
    let leadership = baz.leadership.clone();
    baz.stop().await;
    assert!(!leadership.is_leader());
    let start = Instant::now();
    let term = bing.leadership.acquired().await;
    assert!(start.elapsed() < SECOND.mul_f64(4.4), "{:?}", start.elapsed());
    assert_eq!(term.transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_during_a_renewal_that_hangs_still_releases_once() {
    for call in [Update, Get] {
        let lock = FakeLock::default();
        let baz = Running::start(&lock, "baz");
        sleep(SECOND).await;
        let hangs = Fault { answer_lost: true, error: unavailable().error, ..Fault::default() };
        if call == Get {
            // To read at all it has to meet a conflict.
            lock.fail_next(Update, error(LockError::Conflict));
        }
        lock.fail_next(call, hangs);
        sleep(2 * SECOND).await;
        lock.take_calls();
        baz.stop().await;
        check(&lock, &[Get, Update]);
        assert_eq!(holder(&lock), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_is_tried_again_after_a_conflict() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    sleep(SECOND).await;
    lock.fail_next(Update, error(LockError::Conflict));
    lock.take_calls();
    baz.stop().await;
    check(&lock, &[Get, Update, Get, Update]);
    assert_eq!(holder(&lock), "");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_released_where_that_was_not_asked() {
    let lock = FakeLock::default();
    let config =
        LeaderElectionConfig { release_on_cancel: false, ..LeaderElectionConfig::new("baz") };
    let elector = LeaderElector::new(Arc::new(lock.clone()), config).expect("it is valid");
    elector.run(sleep(SECOND)).await;
    check(&lock, &[Get, Create]);
    assert_eq!(holder(&lock), "baz");
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_stops_leading_before_another_begins() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    baz.leadership.acquired().await;
    let bing = Running::start(&lock, "bing");
    sleep(SECOND).await;
    // Only baz is cut off: its task does not run any more.
    baz.task.abort();
    let start = Instant::now();
    baz.leadership.lost().await;
    let lost = start.elapsed();
    assert!(lost <= 10 * SECOND, "{lost:?}");
    assert!(!bing.leadership.is_leader());
    bing.leadership.acquired().await;
    assert!(start.elapsed() >= lost + 4 * SECOND, "{:?} after {lost:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_is_lost_does_not_prolong_the_term() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    sleep(SECOND).await;
    let until = baz.leadership.term().expect("it leads").valid_until;
    for _ in 0..20 {
        lock.fail_next(Update, Fault { answer_lost: true, ..Fault::default() });
    }
    sleep(8 * SECOND).await;
    assert_eq!(baz.leadership.term().expect("it leads").valid_until, until);
    sleep(SECOND + SECOND / 100).await;
    assert!(!baz.leadership.is_leader(), "though the record says that it does");
    assert_eq!(holder(&lock), "baz");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_lost_leads_again_when_the_server_is_back() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    baz.leadership.acquired().await;
    for _ in 0..100 {
        lock.fail_next(Update, unavailable());
        lock.fail_next(Get, unavailable());
    }
    let start = Instant::now();
    baz.leadership.lost().await;
    assert_eq!(start.elapsed(), 10 * SECOND);
    baz.leadership.acquired().await;
}

#[tokio::test(start_paused = true)]
async fn work_begins_with_the_lead_and_is_dropped_with_it() {
    let lock = FakeLock::default();
    lock.put(record("bing"));
    let baz = Running::start(&lock, "baz");
    let early = baz.leadership.while_leading(async || ());
    assert!(timeout(SECOND, early).await.is_err(), "it does not begin before");
    assert_eq!(baz.leadership.while_leading(async || 7).await, Some(7));
    for _ in 0..100 {
        lock.fail_next(Update, unavailable());
    }
    let endless = baz.leadership.while_leading(async || std::future::pending::<()>().await);
    assert_eq!(timeout(12 * SECOND, endless).await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_loss_is_noticed_by_a_task_that_did_not_run_until_the_lead_was_back() {
    let lock = FakeLock::default();
    let baz = Running::start(&lock, "baz");
    baz.leadership.acquired().await;
    let mut lost = std::pin::pin!(baz.leadership.lost());
    assert!(futures::poll!(&mut lost).is_pending());
    lock.put(record("bing"));
    baz.leadership.lost().await;
    baz.leadership.acquired().await;
    assert!(futures::poll!(&mut lost).is_ready());
}

#[tokio::test(start_paused = true)]
async fn who_never_led_has_lost_nothing_and_releases_nothing() {
    let lock = FakeLock::default();
    lock.put(record("bing"));
    let baz = Running::start(&lock, "baz");
    sleep(SECOND / 2).await;
    assert_eq!(timeout(SECOND, baz.leadership.lost()).await, Ok(()));
    baz.stop().await;
    check(&lock, &[Get]);
    assert_eq!(holder(&lock), "bing");
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_leader_are_told() {
    let lock = FakeLock::default();
    lock.put(record("bing"));
    let baz = Running::start(&lock, "baz");
    let mut leaders = baz.leadership.subscribe();
    let mut seen = Vec::new();
    while seen.last() != Some(&Some("baz".into())) {
        leaders.changed().await.expect("the elector runs");
        seen.push(leaders.borrow_and_update().clone());
    }
    assert_eq!(seen, [Some("bing".into()), Some("baz".into())]);
    baz.stop().await;
    assert_eq!(*leaders.borrow_and_update(), None);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_hangs_is_unhealthy_and_everybody_else_is_not() {
    let lock = FakeLock::default();
    let config = LeaderElectionConfig {
        lease_duration: 60 * SECOND,
        renew_deadline: 40 * SECOND,
        ..LeaderElectionConfig::new("baz")
    };
    let elector = LeaderElector::new(Arc::new(lock.clone()), config).expect("it is valid");
    let leadership = elector.leadership();
    let tolerance = 20 * SECOND;
    assert_eq!(leadership.check(tolerance), Ok(()), "nothing runs");
    let task = tokio::spawn(elector.run(std::future::pending()));
    leadership.acquired().await;
    task.abort();
    assert_eq!(leadership.check(tolerance), Ok(()));
    advance(61 * SECOND).await;
    assert_eq!(leadership.check(tolerance), Ok(()));
    advance(3600 * SECOND).await;
    assert_eq!(leadership.check(tolerance), Err(LeaseOverdue { overdue: 3601 * SECOND }));

    let candidate = Running::start(&lock, "bing");
    sleep(SECOND).await;
    candidate.task.abort();
    advance(3600 * SECOND).await;
    assert_eq!(candidate.leadership.check(tolerance), Ok(()));
}

#[test]
fn a_bad_configuration_is_refused() {
    let lock = Arc::new(FakeLock::default());
    let error = LeaderElector::new(lock, LeaderElectionConfig::new("")).err();
    assert_eq!(error, Some(LeaderElectionConfigError::EmptyIdentity));
}
