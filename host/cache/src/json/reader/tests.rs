//! The results of readers, with projections and serde_json's tree as the oracles.

use super::places::{MEMBERS_MAX, PASSES_MAX};
use super::*;
use crate::json::projection::tests::{json, places};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

/// Reads every pointer by itself, twice, with one reader. Then reads all at once, with it and with a new one.
#[track_caller]
fn check(json: &str, pointers: &[&str]) {
    let bytes = Bytes::copy_from_slice(json.as_bytes());
    let expect = Projection::new(pointers).values(json.as_bytes());
    let mut reader = JsonReader::new(bytes.clone());
    for (pointer, expect) in pointers.iter().zip(&expect).chain(pointers.iter().zip(&expect)) {
        assert_eq!(reader.values(&[pointer]), [*expect], "{pointer} of {json}");
    }
    assert_eq!(reader.values(pointers), expect, "{pointers:?} of {json}");
    assert_eq!(JsonReader::new(bytes).values(pointers), expect, "{pointers:?} of {json}");
}

/// The number of pointers that were found without a read from the beginning.
fn remembered(places: &mut Places, json: &str, pointers: &[String]) -> usize {
    let found = pointers.iter().filter(|pointer| places.find(json.as_bytes(), pointer).is_ok());
    found.count()
}

#[test]
fn what_is_read_after_something_else_is_the_same() {
    let pod = r#" {"metadata":{"name":"web","labels":{"a/b":"1","c~d":"2"}},
        "spec":{"containers":[{"image":"x"},{"image":"y"}],"n":null,"\u006fdd":1, "q\"": [ ], "":7 },
        "metadata":{"name":"late","labels":{"a/b":"1","c~d":"2"}}} "#;
    let pointers = [
        "/spec/containers/1/image",
        "/spec/containers/0",
        "/spec/containers/2",
        "/spec/containers/01",
        "/spec/containers/image",
        "/spec/odd",
        "/spec/q\"",
        "/spec/q\"/0",
        "/spec/n",
        "/spec/n/deeper",
        "/spec/",
        "/spec",
        "/metadata/name",
        "/metadata/labels/a~1b",
        "/metadata/labels/c~0d",
        "/metadata/uid",
        "/absent/0/more",
        "",
        "spec",
        "/",
    ];
    check(pod, &pointers);
    check("[1,[2]]", &["/1/0", "/0", "/1/0/0", "/2"]);
    check("7", &["/a", "", "/0"]);
    check("", &["/a", ""]);
    check("{\"a\":", &["/a", "", "/a/b"]);
}

#[test]
fn of_a_name_that_comes_twice_the_last_one_counts() {
    check(r#"{"a":{"b":1},"a":{"c":2}}"#, &["/a/b", "/a/c", "/a"]);
    check(r#"{"a":{"b":1},"a":3}"#, &["/a/b", "/a"]);
    check(r#"{"a":{"b":1},"\u0061":{}}"#, &["/a/b", "/a"]);
    check(r#"{"\u0061":{"b":1},"a":{"b":2}}"#, &["/a/b", "/a/b/c"]);
}

#[test]
fn what_is_remembered_is_bounded() {
    for (items, is_remembered) in [(MEMBERS_MAX - 3, true), (MEMBERS_MAX - 2, false)] {
        let json = format!(r#"{{"a":[{}],"b":{{"c":2}}}}"#, vec!["1"; items].join(","));
        let last = format!("/a/{}", items - 1);
        check(&json, &[&last, "/b/c", "/a/0", &last]);
        check(&json, &["/b/c", &last, "/b/c", "/b/d"]);
        // The whole text, `a`, `b` and the items.
        let places = &mut Places::new(json.len());
        assert_eq!(
            remembered(places, &json, std::slice::from_ref(&last)),
            usize::from(is_remembered)
        );
        // There is no room for `c`; known places stay.
        assert_eq!(places.find(json.as_bytes(), "/b/c"), Err(NoRoom));
        assert_eq!(remembered(places, &json, &[last]), usize::from(is_remembered));
    }
}

#[test]
fn what_is_read_to_remember_is_bounded() {
    // Each depth is entered by itself, and reads nearly the whole text.
    let filling = "1".repeat(100_000);
    let deep = PASSES_MAX * 4;
    let json = format!("{}{filling}{}", "{\"a\":".repeat(deep), "}".repeat(deep));
    let pointers: Vec<String> = (1..deep).map(|steps| "/a".repeat(steps)).collect();
    let places = &mut Places::new(json.len());
    assert_eq!(remembered(places, &json, &pointers), PASSES_MAX + 1);
    check(&json, &pointers.iter().map(String::as_str).collect::<Vec<_>>());
    // One read enters all of them.
    let places = &mut Places::new(json.len());
    let deepest: Vec<String> = pointers.into_iter().rev().collect();
    assert_eq!(remembered(places, &json, &deepest), deepest.len());
}

#[test]
fn steps_are_bounded() {
    let json = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let at = |steps: usize| "/a".repeat(steps);
    let (most, more) = (at(Projection::STEPS_MAX), at(Projection::STEPS_MAX + 1));
    check(&json, &[&most, &more]);
    let mut reader = JsonReader::new(Bytes::from(json));
    assert!(reader.values(&[most])[0].is_some());
    assert_eq!(reader.values(&[more, at(1_000_000)]), [None, None]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_found_is_what_a_tree_holds(
        json in json(),
        more in prop::collection::vec("(/[ab0~1]{0,2}){0,3}", 0..4),
        seed: u64,
    ) {
        let tree: Value = serde_json::from_str(&json).expect("the test's JSON is JSON");
        let mut all = BTreeSet::from_iter(more);
        places(&tree, "", &mut all);
        let mut all: Vec<String> = all.into_iter().collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut all);
        let expect = Projection::new(&all).values(json.as_bytes());
        let mut reader = JsonReader::new(Bytes::copy_from_slice(json.as_bytes()));
        for (pointer, expect) in all.iter().zip(expect) {
            let found = reader.values(&[pointer])[0];
            prop_assert_eq!(found, expect, "{} of {}", pointer, json);
            let value = found.map(|text| serde_json::from_slice::<Value>(text).expect("JSON"));
            prop_assert_eq!(value.as_ref(), tree.pointer(pointer), "{} of {}", pointer, json);
        }
    }
}
