//! How many allocations an event makes in a plugin's queue: counted, not timed, so that a change that adds one is noticed where it is made. What an update
//! allocates before, on its way into the store, is counted in the cache's test of this name; what follows, the actor and the call, is not: how many events
//! meet in a batch depends on the machine, and with it what each has of what is allocated for all of them.

use informant_cache::Object;
use informant_runtime::bench_parts::Events;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const EVENTS: usize = 50;

fn allocations(run: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    change.allocations + change.reallocations
}

fn pod(version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"team","uid":"1","resourceVersion":"{version}"}},"spec":{{"args":["{}"]}}}}"#,
        "--verbose ".repeat(150),
    );
    Object::decode(json.as_bytes(), None).expect("it is a Pod").at_rest()
}

#[test]
fn a_queue_that_has_grown_allocates_nothing_for_an_event() {
    let (old, object) = (pod(1), pod(2));
    let mut events = Events::new(usize::MAX, Instant::now());
    let mut turn = || {
        for _ in 0..EVENTS {
            events.push(&old, &object);
        }
        while events.pop() {}
    };
    assert!(allocations(&mut turn) > 0, "it grows at first");
    assert_eq!(allocations(turn), 0);
}
