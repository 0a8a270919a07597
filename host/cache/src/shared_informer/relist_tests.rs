//! The view of readers and handlers during a relist (client-go `Replace`, `ReplacedAll`): the old state or the new
//! one.

use super::tests::{Bench, back_off, pod};
use crate::indexer::Indexer;
use crate::resource_event_handler::{Cause, FinalState, ResourceEventHandler};
use crate::testing::{FakeControllerSource, WatchLists};
use crate::{HandlerOptions, Object};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// One state of the cache: the number of objects, the number that the relist changed, and the resourceVersion.
type Seen = (usize, usize, Option<Box<str>>);

fn look(indexer: &Indexer) -> Seen {
    let snapshot = indexer.snapshot();
    let is_new =
        |object: &&Object| object.resource_version().parse::<usize>().is_ok_and(|v| v > OLD);
    let new = snapshot.objects(None).filter(is_new).count();
    (snapshot.count(None), new, snapshot.resource_version().map(Into::into))
}

/// Objects before the relist. It changes one in three, removes one in three and adds as many.
const OLD: usize = 1200;

/// Notes each state of the cache at a notification by the relist.
struct Looking {
    indexer: Indexer,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Looking {
    fn note(&self, what: Cause) {
        if what.reason == crate::Reason::Relist {
            self.seen.lock().push(look(&self.indexer));
        }
    }
}

impl ResourceEventHandler for Looking {
    fn on_add(&self, _: &Object, cause: Cause) {
        self.note(cause);
    }

    fn on_update(&self, _: &Object, _: &Object, cause: Cause) {
        self.note(cause);
    }

    fn on_delete(&self, _: &Object, _: FinalState, cause: Cause) {
        self.note(cause);
    }
}

/// Reads the cache whenever other tasks have their turn.
fn look_all_the_time(indexer: Indexer, seen: Arc<Mutex<Vec<Seen>>>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut last = indexer.snapshot();
        loop {
            // The relist begins on a millisecond, as this does; paused time goes on only when all tasks wait.
            for _ in 0..100 {
                let now = indexer.snapshot();
                if !now.same_state(&last) {
                    seen.lock().push(look(&indexer));
                    last = now;
                }
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// The relist's changes; each object has so many bytes more.
fn change(source: &FakeControllerSource, bytes: usize) {
    let text = "x".repeat(bytes);
    for number in 0..OLD {
        let name = format!("p{number:04}");
        let changed = format!(r#"{{"metadata":{{"name":"{name}"}},"data":"{text}"}}"#);
        match number % 3 {
            0 => drop(source.modify_drop_watch(&changed)),
            1 => drop(source.delete_drop_watch(&pod(&name))),
            _ => drop(source.add_drop_watch(&pod(&format!("q{number:04}")))),
        }
    }
    source.reset_watch();
}

/// The seen states, each once, when lists in pages or a watch-list show the change.
async fn seen(watch_lists: WatchLists, bytes: usize) -> Vec<Seen> {
    let bench = Bench::start(|source| {
        source.set_watch_lists(watch_lists);
        for number in 0..OLD {
            source.add(&pod(&format!("p{number:04}")));
        }
    })
    .await;
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let looking = Looking { indexer: bench.informer.indexer(), seen: seen.clone() };
    let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
    let _registration = bench.informer.add_inline_handler(Arc::new(looking), options);
    back_off().await;
    seen.lock().push(look(&bench.informer.indexer()));
    change(&bench.source, bytes);
    let reader = look_all_the_time(bench.informer.indexer(), seen.clone());
    tokio::time::sleep(Duration::from_secs(2)).await;
    reader.abort();
    let told = bench.recorder.take().into_iter().filter(|line| line.ends_with("Relist"));
    let deletions: Vec<bool> = told.map(|line| line.starts_with("delete ")).collect();
    assert_eq!(deletions.len(), OLD);
    if bytes == 0 {
        assert!(deletions[..OLD / 3].iter().all(|deletion| *deletion), "deletions come first");
    }
    let mut seen = std::mem::take(&mut *seen.lock());
    seen.dedup();
    seen
}

fn old() -> Seen {
    (OLD, 0, Some(OLD.to_string().into()))
}

fn new() -> Seen {
    (OLD, OLD * 2 / 3, Some((OLD * 2 + 1).to_string().into()))
}

/// Invariant 6.
#[tokio::test(start_paused = true)]
async fn readers_and_handlers_see_the_old_state_or_the_new_one() {
    assert_eq!(seen(WatchLists::Served, 0).await, [old(), new()]);
    assert_eq!(seen(WatchLists::Refused, 0).await, [old(), new()]);
}

/// Invariant 6.
#[tokio::test(start_paused = true)]
async fn a_relist_that_changes_more_than_is_held_is_seen_as_it_comes() {
    // 400 changed objects of 64 KiB.
    let seen = seen(WatchLists::Refused, 64 << 10).await;
    assert_eq!((seen.first(), seen.last()), (Some(&old()), Some(&new())));
    let between = &seen[1..seen.len() - 1];
    assert!(!between.is_empty(), "16 MiB are held");
    let version = |seen: &Seen| seen.2 == old().2;
    assert!(between.iter().all(version), "the resourceVersion moves with the deletions");
    assert!(between.iter().all(|(count, ..)| *count >= OLD), "deletions come at the end");
}
