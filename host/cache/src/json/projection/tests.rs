//! The results of projections, with serde_json's tree as the oracle.

use super::*;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

const POD: &str = r#" {"metadata":{"name":"web","labels":{"a/b":"1","c~d":"2"}},
    "spec":{"containers":[{"image":"x"},{"image":"y"}],"n":null,"\u006fdd":1, "q\"": [ ] },
    "metadata":{"name":"late","labels":{"a/b":"1","c~d":"2"}}} "#;

/// Each value as text, `-` for a missing one.
#[track_caller]
fn check(json: &str, pointers: &[&str], expect: &str) {
    let found = Projection::new(pointers).values(json.as_bytes());
    let found = found.into_iter().map(|value| value.map_or("-".into(), String::from_utf8_lossy));
    assert_eq!(found.collect::<Vec<_>>().join(" "), expect, "{pointers:?}");
}

#[test]
fn pointers_find_members_and_elements_in_one_pass() {
    check(POD, &["/metadata/name", "/metadata/labels/a~1b"], r#""late" "1""#);
    check(POD, &["/metadata/labels/c~0d", "/spec/n"], r#""2" null"#);
    check(POD, &["/spec/containers/1/image", "/spec/containers/0"], r#""y" {"image":"x"}"#);
    check(POD, &["/spec/odd", "/spec/q\""], "1 [ ]");
    check(POD, &[""], POD.trim());
    check(POD, &[], "");
}

#[test]
fn a_place_and_what_is_in_it_are_both_found() {
    let json = r#"{"a":{"b":[1,{"c":2}]}}"#;
    let pointers = ["/a/b/1/c", "/a", "/a/b", "/a", "/a/b/0"];
    check(json, &pointers, r#"2 {"b":[1,{"c":2}]} [1,{"c":2}] {"b":[1,{"c":2}]} 1"#);
}

#[test]
fn nothing_is_found_where_nothing_is() {
    let pointers = ["/metadata/uid", "/metadata/name/first", "/spec/containers/2", "spec"];
    check(POD, &pointers, "- - - -");
    check(POD, &["/spec/containers/01", "/spec/containers/image", "/spec/containers/+1"], "- - -");
    check("{\"a\":", &["/a", ""], "- -");
}

#[test]
fn of_a_key_that_comes_twice_the_last_one_counts() {
    check(r#"{"a":{"b":1},"a":{"c":2}}"#, &["/a/b", "/a/c", "/a"], r#"- 2 {"c":2}"#);
    check(r#"{"a":{"b":1},"a":3}"#, &["/a/b"], "-");
    check(r#"{"a":{"b":1},"\u0061":{}}"#, &["/a/b"], "-");
}

#[test]
fn nesting_is_bounded_by_the_pointer_alone() {
    let json = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let at = |steps: usize| "/a".repeat(steps);
    let found = Projection::new([at(Projection::STEPS_MAX), at(Projection::STEPS_MAX + 1)])
        .values(json.as_bytes());
    assert_eq!(found[0].map(<[u8]>::len), Some(json.len() - Projection::STEPS_MAX * 6));
    assert_eq!(found[1], None);
    let long = "/a".repeat(1_000_000);
    assert_eq!(Projection::new([long]).values(json.as_bytes()), [None]);
}

/// Unusual JSON: duplicate keys with and without escapes, huge numbers, white space anywhere.
pub(in crate::json) fn json() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "null",
        "true",
        "-0",
        "123456789012345678901234567890",
        "1e308",
        "0.10",
        "\"\"",
        "\"a\"",
        r#""\"\\\u00e9\ud83d\ude00""#,
        "\"{[,:\"",
    ]);
    word.prop_map(str::to_owned).prop_recursive(5, 40, 5, |inner| {
        let key = prop::sample::select(vec!["a", "b", "0", "a/b", "\\u0061", "c~d", ""]);
        let space = prop::sample::select(vec!["", "", " ", "\n\t"]);
        let entry = (key, inner.clone(), space.clone())
            .prop_map(|(key, value, space)| format!("{space}\"{key}\"{space}:{space}{value}"));
        let item =
            (inner, space.clone()).prop_map(|(value, space)| format!("{space}{value}{space}"));
        prop_oneof![
            (prop::collection::vec(entry, 0..5), space)
                .prop_map(|(entries, space)| format!("{{{}{space}}}", entries.join(","))),
            prop::collection::vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

/// A pointer to every place of the tree.
pub(in crate::json) fn places(tree: &Value, at: &str, all: &mut BTreeSet<String>) {
    all.insert(at.to_owned());
    match tree {
        Value::Object(map) => {
            for (name, value) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{position}"), all);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_found_is_what_a_tree_holds(json in json(), more in "(/[ab0~1]{0,2}){0,3}") {
        let tree: Value = serde_json::from_str(&json).expect("the test's JSON is JSON");
        let mut all = BTreeSet::from([more, "/nowhere".to_owned(), "/a/b/0".to_owned()]);
        places(&tree, "", &mut all);
        let found = Projection::new(&all).values(json.as_bytes());
        for (pointer, found) in all.iter().zip(found) {
            let value = found.map(|text| serde_json::from_slice::<Value>(text).expect("JSON"));
            prop_assert_eq!(value.as_ref(), tree.pointer(pointer), "{} of {}", pointer, json);
        }
    }
}

#[test]
fn a_step_is_a_node_and_its_name() {
    let pointers = (0..32).map(|number| format!("/{number:02}{}", "/a".repeat(126)));
    let projection = Projection::new(pointers);
    assert_eq!(projection.nodes.len(), 1 + 32 * 127);
    assert_eq!(projection.names.len(), 32 * (2 + 126));
    assert_eq!(Projection::STEP_BYTES, 28);
}

#[test]
fn of_many_steps_from_one_place_each_leads_on() {
    let pointers: Vec<_> = (0..100).rev().map(|number| format!("/a/{number}/b")).collect();
    let items: Vec<_> = (0..100).map(|number| format!(r#"{{"b":{number}}}"#)).collect();
    let members: Vec<_> =
        (0..100).map(|number| format!(r#""{number}":{{"b":{number}}}"#)).collect();
    let expect: Vec<_> = (0..100).rev().map(|number| number.to_string()).collect();
    for json in [format!("[{}]", items.join(",")), format!("{{{}}}", members.join(","))] {
        let pointers: Vec<_> = pointers.iter().map(String::as_str).collect();
        check(&format!(r#"{{"a":{json}}}"#), &pointers, &expect.join(" "));
    }
}
