//! What a plugin's queue of events costs by itself: `cargo bench -p informant-runtime --bench queue`.
//!
//! A thousand updates of a thousand Pods; times of one are those divided by the number of items.

use divan::Bencher;
use divan::counter::ItemsCount;
use informant_cache::Object;
use informant_runtime::bench_parts::{Deliveries, Events};
use std::time::Instant;

#[path = "../../cache/benches/pods/mod.rs"]
mod pods;

use pods::Pods;

const PODS: u64 = 1_000;
/// Updates of each Pod that merge into its first one.
const MERGED: u64 = 4;

fn main() {
    divan::main();
}

/// The states of all Pods before an update and after it.
fn updates() -> Vec<(Object, Object)> {
    let pods = Pods::new(30);
    let state = |number, version| {
        let json = pods.json(number, version);
        Object::decode(json.as_bytes(), None).expect("it is a Pod").at_rest()
    };
    (0..PODS).map(|number| (state(number, 1), state(number, 2))).collect()
}

fn filled(mark: usize, updates: &[(Object, Object)]) -> Events {
    let mut events = Events::new(mark, Instant::now());
    for (old, object) in updates {
        events.push(old, object);
    }
    events
}

/// Below the mark every event is kept.
#[divan::bench]
fn push(bencher: Bencher<'_, '_>) {
    let updates = updates();
    bencher.counter(ItemsCount::new(PODS)).bench_local(|| filled(usize::MAX, &updates));
}

#[divan::bench]
fn pop_and_finish(bencher: Bencher<'_, '_>) {
    let updates = updates();
    bencher
        .counter(ItemsCount::new(PODS))
        .with_inputs(|| filled(usize::MAX, &updates))
        .bench_local_refs(|events| while events.pop() {});
}

/// What a delivery costs for the history, where it is kept and where it is not. The history is full.
#[divan::bench(args = [0, 64 << 10])]
fn history(bencher: Bencher<'_, '_>, bytes: usize) {
    let updates = updates();
    let mut deliveries = Deliveries::new(bytes, Instant::now());
    let mut push_all = || updates.iter().for_each(|(_, object)| deliveries.push(object));
    push_all();
    bencher.counter(ItemsCount::new(PODS)).bench_local(push_all);
}

/// Above the mark an event is merged into the one of its object that waits.
#[divan::bench]
fn merge(bencher: Bencher<'_, '_>) {
    let updates = updates();
    bencher
        .counter(ItemsCount::new(PODS * MERGED))
        .with_inputs(|| filled(1, &updates))
        .bench_local_refs(|events| {
            for _ in 0..MERGED {
                for (old, object) in &updates {
                    events.push(old, object);
                }
            }
            assert_eq!(events.depth() as u64, PODS, "every object has one event");
        });
}
