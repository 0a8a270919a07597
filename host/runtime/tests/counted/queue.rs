//! How many allocations an event makes in a plugin's queue: counted, not timed, so that a change that adds one is noticed where it is made. What an update
//! allocates before, on its way into the store, is counted in the cache's test of this name; what follows, the actor and the call, is not: how many events
//! meet in a batch depends on the machine, and with it what each has of what is allocated for all of them.

use allocation_counter::measure;
use informant_cache::Object;
use informant_runtime::bench_parts::Events;
use std::time::Instant;

const EVENTS: usize = 50;

fn allocations(run: impl FnOnce()) -> u64 {
    measure(run).count_total
}

fn pod(version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"team","uid":"1","resourceVersion":"{version}"}},"spec":{{"args":["{}"]}}}}"#,
        "--verbose ".repeat(150),
    );
    Object::decode(json.as_bytes(), None).expect("it is a Pod").at_rest()
}

/// Invariant 17.
#[test]
fn a_queue_that_has_grown_allocates_the_event_alone() {
    let (old, object) = (pod(1), pod(2));
    let mut events = Events::new(usize::MAX, Instant::now());
    let mut turn = || {
        for _ in 0..EVENTS {
            events.push(&old, &object);
        }
        while events.pop() {}
    };
    assert!(allocations(&mut turn) > 0, "it grows at first");
    assert_eq!(allocations(turn), EVENTS as u64);
}
