//! What handlers are told, and when they have been told everything (client-go `tools/cache/shared_informer_test.go`,
//! `processor_listener_test.go`, `controller_test.go`).

use crate::bench::{Bench, Recorder, back_off, pod, pull, settle};
use informant_cache::{
    Cause, FinalState, HandlerOptions, Object, ResourceEventHandler, SharedIndexInformer,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

/// Notes whether its informer said that it has synced while the first list was being told.
struct Early {
    informer: SharedIndexInformer,
    early: Arc<Mutex<Vec<bool>>>,
}

impl ResourceEventHandler for Early {
    fn on_add(&self, _: &Object, _: Cause) {
        self.early.lock().expect("nobody panics").push(self.informer.has_synced());
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

/// TestDeltaFIFO_HasSyncedCorrectOnDeletion, TestController_HasSynced: not before everything of the first list.
#[tokio::test(start_paused = true)]
async fn has_synced_is_false_until_everything_of_the_first_list_is_told() {
    let bench = Bench::new(|source| {
        for name in ["a", "b", "c"] {
            source.add(&pod(name));
        }
    });
    let early = Arc::new(Mutex::new(Vec::new()));
    let handler = Early { informer: bench.informer.clone(), early: early.clone() };
    let _registration =
        bench.informer.add_inline_handler(Arc::new(handler), HandlerOptions::default());
    assert!(!bench.informer.has_synced(), "not before it is started");
    bench.factory.start();
    settle().await;
    assert_eq!(*early.lock().expect("nobody panics"), [false; 3]);
    assert!(bench.informer.has_synced());
}

/// TestAddWhileActive: a registration has synced when its last initial object was handled, not when it was queued.
#[tokio::test(start_paused = true)]
async fn a_registration_has_synced_when_its_initial_objects_were_handled() {
    let bench = Bench::synced(|source| {
        source.add(&pod("pod1"));
    })
    .await;
    let mut late = bench.pulling();
    settle().await;
    assert!(!late.registration().has_synced(), "nothing was taken");
    bench.source.add(&pod("pod2"));
    settle().await;
    let first = late.next().await.and_then(|one| Some(one.object()?.key().to_string()));
    assert_eq!(first.as_deref(), Some("pod1"));
    assert!(!late.registration().has_synced(), "the first object is in hand");
    assert_eq!(pull(&mut late), ["synced", "add pod2@2 Watch"]);
    assert!(late.registration().has_synced());
    bench.check(&["add pod2@2 Watch"]);
}

/// TestListenerResyncPeriods: only those are told again whose time has come.
#[tokio::test(start_paused = true)]
async fn a_resync_is_told_to_those_that_are_due_and_to_nobody_else() {
    let bench = Bench::synced(|source| {
        source.add(&pod("pod1"));
        source.add(&pod("pod2"));
    })
    .await;
    let recorders = [Recorder::default(), Recorder::default()];
    let mut registrations = Vec::new();
    for (recorder, seconds) in recorders.iter().zip([2, 3]) {
        let period = Duration::from_secs(seconds);
        let handler = Arc::new(recorder.clone());
        registrations.push(bench.informer.add_event_handler_with_resync_period(handler, period));
    }
    settle().await;
    let initial = ["add pod1@1 Initial", "add pod2@2 Initial", "synced"];
    let again = ["update pod1@1 from 1 Resync", "update pod2@2 from 2 Resync"];
    let none: [&str; 0] = [];
    let [two, three] = &recorders;
    assert_eq!(
        (two.take(), three.take()),
        (initial.map(str::to_owned).to_vec(), initial.map(str::to_owned).to_vec())
    );
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!((two.take(), three.take()), (again.map(str::to_owned).to_vec(), Vec::new()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((two.take(), three.take()), (Vec::new(), again.map(str::to_owned).to_vec()));
    bench.check(&none);
}

/// TestDeltaFIFO_ResyncNonExisting: what is gone is not told again.
#[tokio::test(start_paused = true)]
async fn a_resync_says_nothing_of_what_was_deleted() {
    let bench = Bench::synced(|source| {
        source.add(&pod("a"));
        source.add(&pod("b"));
    })
    .await;
    let recorder = Recorder::default();
    let period = Duration::from_secs(2);
    let _registration =
        bench.informer.add_event_handler_with_resync_period(Arc::new(recorder.clone()), period);
    settle().await;
    recorder.take();
    bench.source.delete(&pod("a"));
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(recorder.take(), ["delete a@3 Known Watch", "update b@2 from 2 Resync"]);
}

/// TestSharedInformerWatchDisruption: a relist tells what changed; client-go tells everything again to handlers with a
/// resync period, here a relist is no resync.
#[tokio::test(start_paused = true)]
async fn a_disrupted_watch_tells_what_changed_and_resyncs_only_who_is_due() {
    let bench = Bench::synced(|source| {
        source.add(&pod("pod1"));
        source.add(&pod("pod2"));
    })
    .await;
    let resynced = Recorder::default();
    let period = Duration::from_secs(60);
    let _registration =
        bench.informer.add_event_handler_with_resync_period(Arc::new(resynced.clone()), period);
    settle().await;
    resynced.take();
    bench.source.add_drop_watch(&pod("pod3"));
    bench.source.modify_drop_watch(&pod("pod2"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    bench.source.reset_watch();
    back_off().await;
    let expect = ["update pod2@4 from 2 Relist", "add pod3@3 Relist"];
    bench.check(&expect);
    assert_eq!(resynced.take(), expect);
    tokio::time::sleep(period).await;
    assert_eq!(resynced.take().len(), 3, "each of the three, once, in its time");
    bench.check(&[]);
}

/// Panics at every object.
struct Panicking {
    called: Arc<AtomicUsize>,
}

impl ResourceEventHandler for Panicking {
    fn on_add(&self, object: &Object, _: Cause) {
        self.called.fetch_add(1, Ordering::Relaxed);
        panic!("a handler that fails at {}", object.key());
    }

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

/// TestSharedInformerEventPanics: every object comes once. client-go's registration then never has synced
/// (k/k#129024); here it has, for what was delivered was delivered.
#[tokio::test(start_paused = true)]
async fn a_handler_that_always_panics_is_told_everything_once_and_has_synced() {
    let bench = Bench::new(|source| {
        for number in 0..5 {
            source.add(&pod(&format!("pod{number}")));
        }
    });
    let called = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let registrations = called.each_ref().map(|called| {
        bench.informer.add_event_handler(Arc::new(Panicking { called: called.clone() }))
    });
    bench.factory.start();
    settle().await;
    assert_eq!(called.each_ref().map(|called| called.load(Ordering::Relaxed)), [5, 5]);
    assert!(bench.informer.has_synced());
    assert!(registrations.iter().all(|registration| registration.has_synced()));
    assert_eq!(bench.recorder.take().len(), 6, "the others are told as ever");
}

/// A handler that lags by 30,000 changes of one object: client-go keeps every one of them (k/k#122067).
#[tokio::test(start_paused = true)]
async fn a_handler_that_lags_costs_no_more_than_its_objects() {
    let bench = Bench::synced(|source| {
        source.add(&pod("busy"));
    })
    .await;
    let mut slow = bench.pulling();
    settle().await;
    for _ in 0..300 {
        for _ in 0..100 {
            bench.source.modify(&pod("busy"));
        }
        settle().await;
    }
    let depth = slow.registration().queue_stats().depth;
    assert!(depth <= 10_002, "{depth} notifications wait");
    let told = pull(&mut slow);
    assert_eq!(told.first().map(String::as_str), Some("add busy@1 Initial"));
    let last = told.last().expect("something was told");
    assert!(last.starts_with("update busy@30001"), "the last word is the truth: {last}");
}

/// TestSharedInformerInitializationRace: handlers are added while the informer starts, on other threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_is_added_while_the_informer_starts_is_told_everything() {
    for _ in 0..50 {
        let bench = Bench::new(|source| {
            source.add(&pod("a"));
        });
        let (informer, recorder) = (bench.informer.clone(), Recorder::default());
        let handler = Arc::new(recorder.clone());
        let adding = tokio::spawn(async move { informer.add_event_handler(handler) });
        bench.factory.start();
        let registration = adding.await.expect("it is added");
        let synced = tokio::time::timeout(Duration::from_secs(30), registration.synced()).await;
        assert_eq!(synced, Ok(true), "neither hangs");
        assert_eq!(recorder.take(), ["add a@1 Initial", "synced"]);
        bench.factory.shutdown().await;
    }
}

/// TestSharedInformerListenerResyncPeriodsDelayed: objects come before anybody is told, and periods count from the handler's start.
#[tokio::test(start_paused = true)]
async fn resync_periods_count_from_when_a_handler_starts() {
    let bench = Bench::synced(|source| {
        source.add(&pod("a"));
    })
    .await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    let late = Recorder::default();
    let period = Duration::from_secs(2);
    let handler = Arc::new(late.clone());
    let _registration = bench.informer.add_event_handler_with_resync_period(handler, period);
    tokio::time::sleep(Duration::from_millis(1900)).await;
    assert_eq!(late.take(), ["add a@1 Initial", "synced"]);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(late.take(), ["update a@1 from 1 Resync"]);
}

/// Does nothing with what it is told.
struct Silent;

impl ResourceEventHandler for Silent {
    fn on_add(&self, _: &Object, _: Cause) {}

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

/// TestSharedInformerHandlerAbuse: handlers come and go while everything changes, and the informer stops first.
#[tokio::test(start_paused = true)]
async fn handlers_that_come_and_go_while_the_informer_stops_hang_nobody() {
    let bench = Bench::synced(|_| {}).await;
    let mut users = JoinSet::new();
    for user in 0..100 {
        let informer = bench.informer.clone();
        users.spawn(async move {
            let mut random = fastrand::Rng::with_seed(user);
            let mut registration = None;
            for _ in 0..100 {
                registration = match registration {
                    None => Some(informer.add_event_handler(Arc::new(Silent))),
                    Some(_) => None,
                };
                tokio::time::sleep(Duration::from_millis(random.u64(1..20))).await;
            }
        });
    }
    for number in 0..5_000_u32 {
        let name = pod(&format!("p{}", number * 7 % 100));
        match number % 7 {
            0..3 => bench.source.add(&name),
            3..6 => bench.source.modify(&name),
            _ => bench.source.delete(&name),
        };
        if number % 20 == 0 {
            settle().await;
        }
    }
    bench.factory.shutdown().await;
    let all =
        async { while users.join_next().await.transpose().expect("no user panics").is_some() {} };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("nobody hangs");
    let late = Recorder::default();
    let registration = bench.informer.add_event_handler(Arc::new(late.clone()));
    bench.source.add(&pod("late"));
    settle().await;
    assert!(!late.take().iter().any(|line| line.contains("late@")), "it has stopped");
    registration.remove();
}
