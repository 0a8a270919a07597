//! Reads, pages and indexes, while the store changes.

use super::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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
    indexer.write().put(object, Write::Watched)
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
    indexer.write().remove(&ObjectKey::new("b", "one"));
    indexer.write().remove(&ObjectKey::new("b", "two"));
    indexer.write().remove(&ObjectKey::new("b", "two"));
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
        found.extend(page.items.iter().map(|object| object.key().name().to_owned()));
        // Changes around the cursor: one object is removed, one is added, one is written again.
        indexer.write().remove(&ObjectKey::new("n", format!("x{}", version - 1)));
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
    indexer.write().remove(&ObjectKey::new("", "k3"));
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
    for _ in 0..4 {
        let indexer = Indexer::default();
        for number in 0..2000 {
            put(&indexer, filed(&format!("p{number}"), 1, "old"));
        }
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 0..2000 {
                    if number % 3 == 0 {
                        indexer.write().remove(&ObjectKey::new("", format!("p{number}")));
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
fn an_index_is_filled_beside_the_writer_and_visible_once_complete() {
    let indexer = Indexer::default();
    let many = |object: &Object| {
        let number = |value: usize| format!("{} {value}", object.key().name());
        (0..1000).map(number).collect()
    };
    for number in 0..10 {
        put(&indexer, filed(&format!("p{number}"), 1, "old"));
    }
    indexer.declare_index("words", IndexFunc::new(many)).expect("it is new");
    put(&indexer, filed("late", 1, "new"));
    let unknown = IndexerError::UnknownIndex("words".into());
    assert_eq!(indexer.index_values("words", 0, None), Err(unknown));
    // The second one has nothing to do, and so has one for no index.
    assert!(["words", "words", "none"].iter().all(|name| indexer.fill_index(name, || true)));
    let values = indexer.index_values("words", 0, None).expect("it is visible").items;
    assert_eq!(values.len(), 11 * 1000);
    check_index(&indexer, "late 999", &["late"]);
}

#[test]
fn a_fill_ends_when_its_caller_does_not_go_on_and_continues() {
    let indexer = Indexer::default();
    for number in 0..2000 {
        put(&indexer, filed(&format!("p{number}"), 1, "x"));
    }
    let (calls, words) = (Arc::new(AtomicUsize::new(0)), by_words());
    let of_function = calls.clone();
    let counted = IndexFunc::new(move |object| {
        of_function.fetch_add(1, Relaxed);
        words.values(object).unwrap_or_default()
    });
    indexer.declare_index("words", counted).expect("it is new");
    for turns in [0, 2] {
        let mut left = turns;
        indexer.fill_index("words", || {
            left > 0 && {
                left -= 1;
                true
            }
        });
        assert!(indexer.index_keys("words", "x", 0, None).is_err(), "after {turns} turns");
    }
    indexer.fill_index("words", || true);
    assert_eq!(indexer.index_keys("words", "x", 0, None).expect("visible").items.len(), 2000);
    assert_eq!(calls.load(Relaxed), 2000, "no object is looked at twice");
}

#[test]
fn the_time_of_entries_is_charged() {
    let indexer = Indexer::default();
    let charges = Arc::new(AtomicUsize::new(0));
    let counted = charges.clone();
    let function = by_words().charged_to(move |_| {
        counted.fetch_add(1, Relaxed);
    });
    indexer.add_index("words", function).expect("it is new");
    let check = |expect: usize| assert_eq!(charges.swap(0, Relaxed), expect);
    put(&indexer, filed("a", 1, "x"));
    check(2);
    // Its values are found, and nothing is written.
    put(&indexer, filed("a", 2, "x"));
    check(1);
    put(&indexer, filed("a", 3, "y"));
    check(2);
    indexer.write().remove(&ObjectKey::new("", "a"));
    check(1);
}

#[test]
fn the_entries_of_a_removed_index_are_freed_where_they_are_dropped() {
    let (indexer, held) = (Indexer::default(), Arc::new(()));
    let of_function = held.clone();
    let function = IndexFunc::new(move |_| vec![format!("{:?}", *of_function)]);
    indexer.add_index("words", function).expect("it is new");
    let write = |version| (0..10).for_each(|_| drop(put(&indexer, filed("a", version, "x"))));
    write(1);
    let detached = indexer.detach_index("words").expect("it was there");
    assert_eq!(indexer.detach_index("words").map(drop), None);
    // Neither the writer nor a reader has them any more.
    write(2);
    assert_eq!(Arc::strong_count(&held), 2);
    drop(detached);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_panicking_index_function_files_nothing_and_harms_nobody() {
    let indexer = Indexer::default();
    put(&indexer, filed("a", 1, "x"));
    indexer.add_index("words", IndexFunc::new(|_| panic!("on purpose"))).expect("it is new");
    put(&indexer, filed("b", 1, "x"));
    check_index(&indexer, "x", &[]);
    assert_eq!((indexer.count(None), indexer.index_panics()), (2, 2));
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
fn an_edition_is_one_content() {
    let (one, other) = (Indexer::default(), Indexer::default());
    let mut seen = BTreeSet::from([one.edition()]);
    let mut check = |indexer: &Indexer, is_new: bool| {
        assert_eq!(seen.insert(indexer.edition()), is_new, "{}", indexer.edition());
    };
    check(&other, false);
    for (version, is_new) in [(1, true), (1, false), (2, true)] {
        put(&one, filed("a", version, ""));
        check(&one, is_new);
    }
    one.write().set_resource_version("9");
    check(&one, false);
    put(&other, filed("a", 2, ""));
    check(&other, true);
    one.write().remove(&ObjectKey::new("", "a"));
    check(&one, true);
    one.write().remove(&ObjectKey::new("", "a"));
    check(&one, false);
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
    let outcome = format!("{:?}", indexer.write().put(object(new), write));
    assert!(outcome.starts_with(expect), "{old:?} then {new:?} by {write:?}: {outcome}");
}

/// Invariant 5.
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

const LISTED: Write = Write::Listed { consistent: false };

#[track_caller]
fn check_sweep(
    indexer: &Indexer,
    mark: &mut ListMark,
    part: impl Fn(&Object) -> bool + Copy,
    expect: &[&str],
) {
    let mut gone = Vec::new();
    loop {
        let batch = indexer.write().sweep(mark, part, 2);
        gone.extend(batch.iter().map(|object| object.key().to_string()));
        if batch.len() < 2 {
            break;
        }
    }
    assert_eq!(gone, expect);
}

#[test]
fn a_complete_list_removes_what_it_did_not_show() {
    let indexer = Indexer::default();
    for name in ["a", "b", "c", "d", "e", "f"] {
        put(&indexer, filed(name, 1, ""));
    }
    let mut mark = indexer.write().begin_list();
    indexer.write().put(filed("b", 1, ""), LISTED);
    put(&indexer, filed("g", 5, ""));
    put(&indexer, filed("e", 5, ""));
    check_sweep(&indexer, &mut mark, |_| true, &["a", "c", "d", "f"]);
    check_list(&indexer, None, "", &["b", "e", "g"]);
}

/// Invariant 5.
#[test]
fn an_interrupted_list_removes_nothing_and_counts_for_nothing() {
    let indexer = Indexer::default();
    for name in ["a", "b", "c"] {
        put(&indexer, filed(name, 1, ""));
    }
    let interrupted = indexer.write().begin_list();
    indexer.write().put(filed("a", 1, ""), LISTED);
    drop(interrupted);
    let mut mark = indexer.write().begin_list();
    check_list(&indexer, None, "", &["a", "b", "c"]);
    indexer.write().put(filed("b", 1, ""), LISTED);
    check_sweep(&indexer, &mut mark, |_| true, &["a", "c"]);
}

#[test]
fn lists_of_several_parts_go_on_at_once() {
    let indexer = Indexer::default();
    for (namespace, name) in [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("c", "1")] {
        put(&indexer, object(namespace, name, 1, ""));
    }
    let of = |namespace: &'static str| move |o: &Object| o.key().namespace() == namespace;
    let mut a = indexer.write().begin_list();
    indexer.write().put(object("a", "1", 1, ""), LISTED);
    let mut b = indexer.write().begin_list();
    indexer.write().put(object("b", "2", 1, ""), LISTED);
    check_sweep(&indexer, &mut a, of("a"), &["a/2"]);
    check_sweep(&indexer, &mut b, of("b"), &["b/1"]);
    check_list(&indexer, None, "", &["a/1", "b/2", "c/1"]);
}

#[test]
fn a_slot_used_again_is_not_the_old_object() {
    let indexer = Indexer::default();
    put(&indexer, filed("a", 1, ""));
    put(&indexer, filed("b", 1, ""));
    let mut mark = indexer.write().begin_list();
    indexer.write().remove(&ObjectKey::new("", "a"));
    put(&indexer, filed("c", 2, ""));
    check_sweep(&indexer, &mut mark, |_| true, &["b"]);
    check_list(&indexer, None, "", &["c"]);
}

#[test]
fn no_reader_sees_a_batch_before_its_end() {
    let indexer = Indexer::default();
    indexer.add_index("words", by_words()).expect("it is new");
    let empty = indexer.snapshot();
    let mut write = indexer.write();
    write.put(filed("a", 1, "x"), Write::Watched);
    write.put(filed("b", 2, "x"), Write::Watched);
    write.set_resource_version("2");
    check_list(&indexer, None, "", &[]);
    check_index(&indexer, "x", &[]);
    assert_eq!(write.get(&ObjectKey::new("", "a")).map(Object::resource_version), Some("1"));
    write.publish();
    check_list(&indexer, None, "", &["a", "b"]);
    check_index(&indexer, "x", &["a", "b"]);
    assert_eq!(indexer.resource_version().as_deref(), Some("2"));
    assert_eq!((empty.count(None), empty.resource_version()), (0, None), "a snapshot stays");
}

#[test]
fn what_did_not_change_is_not_written() {
    let indexer = Indexer::default();
    put(&indexer, filed("a", 1, ""));
    let before = indexer.snapshot();
    indexer.write().put(filed("a", 1, ""), LISTED);
    put(&indexer, filed("a", 0, ""));
    indexer.write().remove(&ObjectKey::new("", "x"));
    assert!(indexer.snapshot().same_state(&before), "nothing was published");
}

#[test]
fn the_namespace_index_is_always_there() {
    let indexer = three_namespaces();
    let taken = indexer.add_index(NAMESPACE_INDEX, by_words());
    assert_eq!(taken, Err(IndexerError::IndexExists("namespace".to_owned())));
    let page = indexer.index_values(NAMESPACE_INDEX, 2, Some("")).expect("a page");
    assert_eq!((page.items, page.next.as_deref()), (vec!["a".into(), "b".into()], Some("b")));
    let keys = indexer.index_keys(NAMESPACE_INDEX, "b", 1, None).expect("a page");
    assert_eq!(
        (keys.items, keys.next.as_deref()),
        (vec![ObjectKey::new("b", "one")], Some("b/one"))
    );
    let objects = indexer.by_index(NAMESPACE_INDEX, "b", 1, Some("b/one")).expect("a page");
    assert_eq!((objects.items[0].key().name(), objects.next), ("two", None));
}

#[test]
fn a_function_that_answers_differently_each_time_leaves_nothing_behind() {
    let indexer = Indexer::default();
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let fickle = move |_: &Object| {
        vec![calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string()]
    };
    indexer.add_index("words", IndexFunc::new(fickle)).expect("it is new");
    for version in 1..4 {
        put(&indexer, filed("a", version, ""));
    }
    check_index(&indexer, "2", &["a"]);
    indexer.write().remove(&ObjectKey::new("", "a"));
    assert_eq!(indexer.index_values("words", 0, None).expect("there").items, Vec::<String>::new());
}

/// client-go's `TestMultiIndexKeys` (`tools/cache/index_test.go`).
#[test]
fn several_values_lead_to_the_same_objects_and_leave_with_them() {
    let indexer = Indexer::default();
    indexer.add_index("words", by_words()).expect("it is new");
    for (name, words) in [("one", "ernie,bert"), ("tre", "ernie,elmo"), ("two", "bert,oscar")] {
        put(&indexer, filed(name, 1, words));
    }
    check_index(&indexer, "ernie", &["one", "tre"]);
    check_index(&indexer, "bert", &["one", "two"]);
    check_index(&indexer, "elmo", &["tre"]);
    check_index(&indexer, "unknown", &[]);
    indexer.write().remove(&ObjectKey::new("", "tre"));
    check_index(&indexer, "elmo", &[]);
    check_index(&indexer, "ernie", &["one"]);
    put(&indexer, filed("two", 2, "oscar"));
    check_index(&indexer, "bert", &["one"]);
    check_index(&indexer, "oscar", &["two"]);
}

#[test]
fn an_index_takes_what_is_filed_in_it() {
    let indexer = Indexer::default();
    indexer.add_index("words", by_words()).expect("it is new");
    let check = |expect: usize| assert_eq!(indexer.index_bytes("words"), expect);
    check(0);
    put(&indexer, filed("a", 1, "long,x"));
    check(2 * 96 + 5);
    put(&indexer, filed("b", 1, "x"));
    put(&indexer, filed("a", 2, "x"));
    check(2 * 96 + 2);
    indexer.write().remove(&ObjectKey::new("", "a"));
    indexer.write().remove(&ObjectKey::new("", "b"));
    check(0);
    assert_eq!(indexer.index_bytes("no such"), 0);
}

/// client-go's `TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex` (`thread_safe_store_test.go`).
#[test]
fn a_value_stays_while_one_key_has_it() {
    let indexer = Indexer::default();
    indexer.add_index("words", by_words()).expect("it is new");
    put(&indexer, filed("a", 1, "x"));
    put(&indexer, filed("b", 1, "x"));
    let values = || indexer.index_values("words", 0, None).expect("it is there").items;
    indexer.write().remove(&ObjectKey::new("", "a"));
    assert_eq!(values(), ["x"]);
    indexer.write().remove(&ObjectKey::new("", "b"));
    assert_eq!(values(), Vec::<String>::new());
}
