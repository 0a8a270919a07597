//! No reader waits for a writer, under many schedules of the threads' steps.
//!
//! A writer stops for good in the middle of its work, until every reader has finished. If a read took the writers'
//! mutex, readers and writer would wait for each other, and the schedule would exceed its steps. With `get` changed to
//! lock `shared.writer` first, each of these tests fails within its first few schedules.

use super::*;
use crate::sync::schedule;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

const READERS: usize = 2;
const SCHEDULES: usize = 100;
/// A successful schedule takes some hundred.
const STEPS_MAX: usize = 20_000;

fn object(name: &str, version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"n","name":"{name}","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

/// Runs the writer against readers. The writer gets the count of finished readers, and waits for all of them at each
/// call of `wait_for_readers`.
fn check(writer: impl Fn(&Indexer, &Arc<AtomicUsize>) + Send + Sync + 'static) {
    let writer = Arc::new(writer);
    let run = move || {
        let indexer = Indexer::default();
        let name = |object: &Object| vec![object.key().name().to_owned()];
        indexer.add_index("name", IndexFunc::new(name)).expect("it is new");
        for name in ["a", "b"] {
            indexer.write().put(object(name, 1), Write::Watched);
        }
        let finished = Arc::new(AtomicUsize::new(0));
        let writing = thread::spawn({
            let (indexer, finished, writer) = (indexer.clone(), finished.clone(), writer.clone());
            move || writer(&indexer, &finished)
        });
        let reading: Vec<_> = (0..READERS)
            .map(|_| {
                let (indexer, finished) = (indexer.clone(), finished.clone());
                thread::spawn(move || {
                    read(&indexer);
                    finished.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        for thread in reading.into_iter().chain([writing]) {
            thread.join().expect("it ends");
        }
    };
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::FailAfter(STEPS_MAX);
    let scheduler = shuttle::scheduler::RandomScheduler::new_from_seed(1, SCHEDULES);
    schedule::with(thread::yield_now, || {
        shuttle::Runner::new(scheduler, config).run(run);
    });
}

fn wait_for_readers(finished: &AtomicUsize) {
    while finished.load(Ordering::SeqCst) < READERS {
        thread::yield_now();
    }
}

/// Makes every kind of read. Both objects exist in one version, whatever the writer does.
fn read(indexer: &Indexer) {
    let everything = LabelSelector::default();
    assert!(indexer.get(&ObjectKey::new("n", "a")).is_some());
    assert_eq!((indexer.count(None), indexer.count(Some("n"))), (2, 2));
    assert!(indexer.bytes() > 0);
    let list = indexer.list(Some("n"), &everything, 0, None).expect("a page").items;
    assert_eq!(list[0].resource_version(), list[1].resource_version(), "one state");
    assert_eq!(indexer.by_index("name", "a", 1, None).expect("a page").items.len(), 1);
    assert_eq!(indexer.index_keys("name", "b", 0, None).expect("a page").items.len(), 1);
    assert_eq!(indexer.index_values("name", 0, None).expect("a page").items, ["a", "b"]);
    let _ = (indexer.resource_version(), indexer.index_panics());
    assert_eq!(indexer.chunk(None, 9).len(), 2);
    let snapshot = indexer.snapshot();
    let versions: Vec<_> = snapshot.objects(None).map(Object::resource_version).collect();
    assert_eq!(versions[0], versions[1], "one state");
}

/// Invariant 3.
#[test]
fn no_reader_waits_for_a_writer_in_the_middle_of_a_batch() {
    check(|indexer, finished| {
        let mut write = indexer.write();
        write.put(object("a", 2), Write::Watched);
        wait_for_readers(finished);
        write.put(object("b", 2), Write::Watched);
        write.publish();
    });
}

#[test]
fn no_reader_waits_for_a_writer_in_an_index_function() {
    check(|indexer, finished| {
        let waits = Arc::new(AtomicBool::new(false));
        let wait = {
            let (finished, waits) = (finished.clone(), waits.clone());
            move |_: &Object| {
                if waits.load(Ordering::SeqCst) {
                    wait_for_readers(&finished);
                }
                Vec::new()
            }
        };
        indexer.add_index("waits", IndexFunc::new(wait)).expect("it is new");
        waits.store(true, Ordering::SeqCst);
        let mut write = indexer.write();
        write.put(object("a", 2), Write::Watched);
        write.put(object("b", 2), Write::Watched);
    });
}

/// Invariant 3.
#[test]
fn no_reader_waits_for_writers_that_publish_and_wait_with_the_lock() {
    check(|indexer, finished| {
        for version in 2..5 {
            let mut write = indexer.write();
            write.put(object("a", version), Write::Watched);
            write.put(object("b", version), Write::Watched);
        }
        let _write = indexer.write();
        wait_for_readers(finished);
    });
}
