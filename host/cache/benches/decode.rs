//! What it costs to read one Pod of 6.7 KB, as an API server writes it: `cargo bench -p informant-cache --bench decode`.
//!
//! Beside it, for scale: serde_json that only looks where the object ends, and serde_json that builds a tree.

use divan::{Bencher, black_box};
use informant_cache::Object;
use serde::de::IgnoredAny;
use serde_json::Value;

const POD: &str = include_str!("pod.json");

fn main() {
    divan::main();
}

#[divan::bench]
fn object() -> Object {
    Object::decode(black_box(POD.as_bytes()), None).expect("it is an object")
}

/// White space makes it unusual: serde_json reads it.
#[divan::bench]
fn object_with_white_space(bencher: Bencher<'_, '_>) {
    let spaced = POD.replacen(':', ": ", 1);
    bencher.bench_local(|| Object::decode(black_box(spaced.as_bytes()), None));
}

#[divan::bench]
fn serde_json_skips() -> IgnoredAny {
    serde_json::from_str(black_box(POD)).expect("it is JSON")
}

#[divan::bench]
fn serde_json_builds_a_tree() -> Value {
    serde_json::from_str(black_box(POD)).expect("it is JSON")
}
