//! Reads, pages and indexes, while the store changes.

use super::*;
use std::collections::BTreeSet;

fn object(namespace: &str, name: &str, version: u64, extra: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"{name}","resourceVersion":"{version}","labels":{{{extra}}}}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

/// An object `name` that the test index files under each word of `words`.
fn filed(name: &str, version: u64, words: &str) -> Object {
    object("", name, version, &format!(r#""words":"{words}""#))
}

fn put(indexer: &Indexer, object: Object) -> Put {
    indexer.put(object, Write::Watched)
}

fn by_words() -> IndexFunc {
    IndexFunc::new(|object| {
        let words = object.label("words").unwrap_or_default();
        words.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    })
}

#[track_caller]
fn check_index(indexer: &Indexer, value: &str, expect: &[&str]) {
    let keys = indexer.index_keys("words", value, 0, None).expect("the index is there");
    let keys: Vec<_> = keys.items.iter().map(ToString::to_string).collect();
    assert_eq!(keys, expect, "filed under {value}");
}

#[track_caller]
fn check_list(indexer: &Indexer, namespace: Option<&str>, selector: &str, expect: &[&str]) {
    let selector: LabelSelector = selector.parse().expect("a selector");
    for limit in 0..5 {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let page =
                indexer.list(namespace, &selector, limit, cursor.as_deref()).expect("a page");
            assert!(limit == 0 || page.items.len() <= limit);
            found.extend(page.items.iter().map(|object| object.key().to_string()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expect, "in pages of {limit}");
    }
}

fn three_namespaces() -> Indexer {
    let indexer = Indexer::default();
    for (namespace, name, labels) in [
        ("b", "two", r#""app":"x""#),
        ("", "cluster", ""),
        ("b", "one", r#""app":"y""#),
        ("a", "z", r#""app":"x""#),
        ("c", "a", r#""app":"x""#),
        ("b-b", "a", ""),
    ] {
        put(&indexer, object(namespace, name, 1, labels));
    }
    indexer
}

#[test]
fn lists_go_by_key_and_namespace_and_selector() {
    let indexer = three_namespaces();
    check_list(&indexer, None, "", &["cluster", "a/z", "b/one", "b/two", "b-b/a", "c/a"]);
    check_list(&indexer, Some("b"), "", &["b/one", "b/two"]);
    check_list(&indexer, Some(""), "", &["cluster"]);
    check_list(&indexer, Some("none"), "", &[]);
    check_list(&indexer, None, "app=x", &["a/z", "b/two", "c/a"]);
    check_list(&indexer, Some("b"), "app!=x", &["b/one"]);
}

#[test]
fn counts_follow_the_namespaces() {
    let indexer = three_namespaces();
    let counts = |indexer: &Indexer| {
        [None, Some(""), Some("b"), Some("none")].map(|namespace| indexer.count(namespace))
    };
    assert_eq!(counts(&indexer), [6, 1, 2, 0]);
    indexer.remove(&ObjectKey::new("b", "one"));
    indexer.remove(&ObjectKey::new("b", "two"));
    indexer.remove(&ObjectKey::new("b", "two"));
    assert_eq!(counts(&indexer), [4, 1, 0, 0]);
}

#[test]
fn what_is_there_throughout_comes_exactly_once_over_pages() {
    let indexer = Indexer::default();
    for number in 0..100 {
        put(&indexer, object("n", &format!("p{number:03}"), 1, ""));
    }
    let (mut found, mut cursor, mut version) = (Vec::new(), None, 2);
    loop {
        let everything = LabelSelector::default();
        let page = indexer.list(None, &everything, 7, cursor.as_deref()).expect("a page");
        found.extend(page.items.iter().map(|object| object.key().name.to_string()));
        // Changes around the cursor: one goes, one comes, one is written again.
        indexer.remove(&ObjectKey::new("n", format!("x{}", version - 1)));
        put(&indexer, object("n", &format!("x{version}"), version, ""));
        put(&indexer, object("n", &format!("p{:03}", version), version, ""));
        version += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    found.retain(|name| name.starts_with('p'));
    let unique: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!((found.len(), unique.len()), (100, 100));
}

#[test]
fn an_object_is_filed_under_every_value_and_leaves_them() {
    let indexer = Indexer::default();
    indexer.add_index("words", by_words()).expect("it is new");
    let steps: [(&str, &str, &[&str], &[&str]); 6] = [
        ("k1", "foo", &["k1"], &[]),
        ("k2", "bar", &["k1"], &["k2"]),
        ("k2", "foo,bar", &["k1", "k2"], &["k2"]),
        ("k1", "foo,bar", &["k1", "k2"], &["k1", "k2"]),
        ("k3", "foo,bar,baz", &["k1", "k2", "k3"], &["k1", "k2", "k3"]),
        ("k1", "foo", &["k1", "k2", "k3"], &["k2", "k3"]),
    ];
    for (version, (name, words, foo, bar)) in (1..).zip(steps) {
        put(&indexer, filed(name, version, words));
        check_index(&indexer, "foo", foo);
        check_index(&indexer, "bar", bar);
    }
    indexer.remove(&ObjectKey::new("", "k3"));
    check_index(&indexer, "baz", &[]);
    let values = indexer.index_values("words", 0, None).expect("it is there").items;
    assert_eq!(values, ["bar", "foo"], "a value goes with its last key");
}

#[test]
fn index_values_and_objects_come_in_pages() {
    let indexer = Indexer::default();
    for name in ["a", "b", "c"] {
        put(&indexer, filed(name, 1, "x,y,z"));
    }
    indexer.add_index("words", by_words()).expect("it is new");
    let page = indexer.index_values("words", 2, None).expect("a page");
    assert_eq!((page.items, page.next.as_deref()), (vec!["x".into(), "y".into()], Some("y")));
    let page = indexer.index_values("words", 2, Some("y")).expect("a page");
    assert_eq!((page.items, page.next), (vec!["z".into()], None));
    let page = indexer.by_index("words", "y", 2, None).expect("a page");
    assert_eq!(page.items.len(), 2);
    let page = indexer.by_index("words", "y", 2, page.next.as_deref()).expect("a page");
    assert_eq!((page.items.len(), page.next), (1, None));
}

#[test]
fn indexes_come_and_go_while_objects_are_there() {
    let indexer = Indexer::default();
    put(&indexer, filed("a", 1, "x"));
    indexer.add_index("words", by_words()).expect("it is new");
    check_index(&indexer, "x", &["a"]);
    let again = indexer.add_index("words", by_words());
    assert_eq!(again, Err(IndexerError::IndexExists("words".to_owned())));
    assert!(indexer.remove_index("words"));
    assert!(!indexer.remove_index("words"));
    let gone = indexer.index_keys("words", "x", 0, None);
    assert_eq!(gone, Err(IndexerError::UnknownIndex("words".to_owned())));
    put(&indexer, filed("b", 1, "x"));
    indexer.add_index("words", by_words()).expect("it is new again");
    check_index(&indexer, "x", &["a", "b"]);
}

#[test]
fn an_index_added_while_the_writer_writes_misses_nothing() {
    for _ in 0..20 {
        let indexer = Indexer::default();
        for number in 0..2000 {
            put(&indexer, filed(&format!("p{number}"), 1, "old"));
        }
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..2000 {
                    if number % 3 == 0 {
                        indexer.remove(&ObjectKey::new("", format!("p{number}")));
                    } else {
                        put(&indexer, filed(&format!("p{number}"), 2, "new"));
                    }
                }
            });
            indexer.add_index("words", by_words()).expect("it is new");
            writer.join().expect("the writer ends");
        });
        let count = |value| indexer.index_keys("words", value, 0, None).expect("there").items.len();
        assert_eq!((count("old"), count("new")), (0, indexer.count(None)));
    }
}

#[test]
fn a_panicking_index_function_files_nothing_and_harms_nobody() {
    let indexer = Indexer::default();
    put(&indexer, filed("a", 1, "x"));
    indexer.add_index("words", IndexFunc::new(|_| panic!("on purpose"))).expect("it is new");
    put(&indexer, filed("b", 1, "x"));
    check_index(&indexer, "x", &[]);
    assert_eq!(indexer.count(None), 2);
}

#[test]
fn a_json_pointer_is_an_index() {
    let indexer = Indexer::default();
    let pointer = "/metadata/labels/*".parse().expect("a pointer");
    indexer.add_index("words", IndexFunc::json_pointer(pointer)).expect("it is new");
    put(&indexer, object("n", "a", 1, r#""p":"x","q":"y""#));
    check_index(&indexer, "y", &["n/a"]);
}

#[test]
fn a_foreign_cursor_is_refused() {
    let everything = LabelSelector::default();
    for cursor in ["", "x", "n/"] {
        let error = Indexer::default().list(None, &everything, 1, Some(cursor)).map(|_| ());
        assert_eq!(error, Err(IndexerError::InvalidCursor(cursor.to_owned())));
    }
}

#[track_caller]
fn check_put(old: (u64, &str), new: (u64, &str), write: Write, expect: &str) {
    let object = |(version, uid): (u64, &str)| {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}"}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("it decodes")
    };
    let indexer = Indexer::default();
    put(&indexer, object(old));
    let outcome = format!("{:?}", indexer.put(object(new), write));
    assert!(outcome.starts_with(expect), "{old:?} then {new:?} by {write:?}: {outcome}");
}

#[test]
fn an_older_version_never_overwrites_a_newer_one_but_in_a_consistent_list() {
    let consistent = Write::Listed { consistent: true };
    let listed = Write::Listed { consistent: false };
    for write in [Write::Watched, listed, consistent] {
        check_put((9, "u"), (10, "u"), write, "Updated");
        check_put((9, "u"), (10, "v"), write, "Replaced");
        check_put((9, "u"), (9, "u"), write, "Unchanged");
    }
    check_put((10, "u"), (9, "u"), Write::Watched, "Stale");
    check_put((10, "u"), (9, "v"), listed, "Stale");
    check_put((10, "u"), (9, "u"), consistent, "Updated");
    check_put((10, "u"), (9, "v"), consistent, "Replaced");
    check_put((10, "u"), (10, "v"), consistent, "Replaced");
}

#[test]
fn only_a_complete_list_says_what_is_gone() {
    let indexer = Indexer::default();
    for name in ["a", "b", "c"] {
        put(&indexer, filed(name, 1, ""));
    }
    let gone = |indexer: &Indexer| {
        let keys = indexer.not_listed(None, 10);
        keys.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    indexer.begin_list();
    let listed = Write::Listed { consistent: false };
    indexer.put(filed("a", 1, ""), listed);
    assert_eq!(gone(&indexer), ["b", "c"]);
    indexer.begin_list();
    indexer.put(filed("b", 1, ""), listed);
    put(&indexer, filed("d", 5, ""));
    assert_eq!(gone(&indexer), ["a", "c"], "what the list before showed does not count");
}
