//! client-go's cases (`tools/cache/mutation_cache_test.go` and the tombstones of 0.37), and our own.

use super::*;
use crate::indexer::{IndexFunc, Write};

fn object(name: &str, uid: &str, version: u64, label: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"d","name":"{name}","uid":"{uid}","resourceVersion":"{version}","labels":{{"l":"{label}"}}}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

struct Bench {
    cache: MutationCache,
    start: Instant,
}

impl Bench {
    /// An informer that has reached version 10, with `a` at 5 and `b` at 10.
    fn new() -> Self {
        let indexer = Indexer::default();
        let by_label = |object: &Object| object.label("l").into_iter().map(str::to_owned).collect();
        indexer.add_index("l", IndexFunc::new(by_label)).expect("it is new");
        let start = tokio::time::Instant::now().into_std();
        let bench =
            Self { cache: MutationCache::with_bounds(indexer, Duration::from_secs(60), 3), start };
        bench.informer(5, Some(object("a", "ua", 5, "x")));
        bench.informer(10, Some(object("b", "ub", 10, "x")));
        bench
    }

    /// The informer reaches a version.
    fn informer(&self, version: u64, object: Option<Object>) {
        let mut write = self.cache.indexer.write();
        if let Some(object) = object {
            write.put(object, Write::Watched);
        }
        write.set_resource_version(&version.to_string());
        write.publish();
    }

    fn informer_removes(&self, name: &str, version: u64) {
        let mut write = self.cache.indexer.write();
        write.remove(&ObjectKey::new("d", name));
        write.set_resource_version(&version.to_string());
        write.publish();
    }

    fn mutated(&self, object: Object) {
        self.cache.mutated(object, self.start);
    }

    fn deleted(&self, object: Object) {
        self.cache.deleted(object, self.start);
    }

    /// Checks a get of each key, a list and reads of both values of the index: they agree.
    #[track_caller]
    fn check(&self, expect: &[&str]) {
        self.check_after(Duration::ZERO, expect);
    }

    #[track_caller]
    fn check_after(&self, time: Duration, expect: &[&str]) {
        let now = self.start + time;
        let show = |object: &Object| {
            let label = object.label("l").unwrap_or_default();
            format!("{}@{} {label}", object.key().name(), object.resource_version())
        };
        let list = self.cache.list(Some("d"), &LabelSelector::default(), now);
        assert_eq!(list.iter().map(show).collect::<Vec<_>>(), expect, "by list");
        let one = |name: &str| self.cache.get(&ObjectKey::new("d", name), now);
        let got: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().filter_map(one).collect();
        assert_eq!(got.iter().map(show).collect::<Vec<_>>(), expect, "by get");
        for value in ["x", "y"] {
            let filed = self.cache.by_index("l", value, now).expect("the index is there");
            let expect: Vec<_> = expect.iter().filter(|line| line.ends_with(value)).collect();
            assert_eq!(
                filed.iter().map(show).collect::<Vec<_>>().iter().collect::<Vec<_>>(),
                expect
            );
            let selector = format!("l={value}").parse().expect("a selector");
            assert_eq!(self.cache.list(None, &selector, now).len(), expect.len());
        }
    }
}

#[test]
fn an_own_update_is_seen_until_the_informer_has_it() {
    let bench = Bench::new();
    bench.mutated(object("a", "ua", 12, "y"));
    bench.check(&["a@12 y", "b@10 x"]);
    bench.informer(11, Some(object("a", "ua", 11, "x")));
    bench.check(&["a@12 y", "b@10 x"]);
    bench.informer(13, Some(object("a", "ua", 13, "x")));
    bench.check(&["a@13 x", "b@10 x"]);
    assert!(bench.cache.is_empty());
}

#[test]
fn an_own_creation_is_seen_until_the_informer_has_come_as_far() {
    let bench = Bench::new();
    bench.mutated(object("c", "uc", 12, "y"));
    bench.check(&["a@5 x", "b@10 x", "c@12 y"]);
    bench.informer(12, Some(object("c", "uc", 12, "y")));
    bench.check(&["a@5 x", "b@10 x", "c@12 y"]);
    assert!(bench.cache.is_empty());
}

#[test]
fn an_own_creation_that_was_deleted_meanwhile_does_not_come_back() {
    let bench = Bench::new();
    bench.informer(12, Some(object("c", "uc", 12, "y")));
    bench.informer_removes("c", 13);
    bench.mutated(object("c", "uc", 12, "y"));
    bench.check(&["a@5 x", "b@10 x"]);
}

#[test]
fn an_own_deletion_hides_what_was_deleted() {
    let bench = Bench::new();
    bench.deleted(object("a", "ua", 5, "x"));
    bench.check(&["b@10 x"]);
    bench.informer_removes("a", 11);
    bench.check(&["b@10 x"]);
    bench.informer(14, Some(object("a", "new", 14, "y")));
    bench.check(&["a@14 y", "b@10 x"]);
}

#[test]
fn what_was_made_and_deleted_before_the_informer_saw_it_is_never_seen() {
    let bench = Bench::new();
    let made = object("c", "uc", 12, "y");
    bench.mutated(made.clone());
    bench.deleted(made.clone());
    bench.check(&["a@5 x", "b@10 x"]);
    bench.informer(12, Some(made));
    bench.check(&["a@5 x", "b@10 x"]);
    bench.informer_removes("c", 13);
    bench.check(&["a@5 x", "b@10 x"]);
    assert!(bench.cache.is_empty());
}

#[test]
fn an_object_that_lives_on_after_its_deletion_is_seen() {
    let bench = Bench::new();
    bench.deleted(object("a", "ua", 5, "x"));
    bench.informer(11, Some(object("a", "ua", 11, "x")));
    bench.check(&["a@11 x", "b@10 x"]);
}

#[test]
fn a_recreation_after_an_own_deletion_is_seen() {
    let bench = Bench::new();
    bench.deleted(object("a", "ua", 11, "x"));
    bench.mutated(object("a", "new", 12, "y"));
    bench.check(&["a@12 y", "b@10 x"]);
}

#[test]
fn an_older_answer_never_hides_a_newer_one() {
    let bench = Bench::new();
    bench.mutated(object("a", "ua", 13, "y"));
    bench.mutated(object("a", "ua", 12, "x"));
    bench.mutated(object("b", "ub", 9, "y"));
    bench.check(&["a@13 y", "b@10 x"]);
}

#[test]
fn an_own_write_never_hides_another_object_of_the_same_name() {
    // Written before the other object was made, with the informer's notification before that or after it.
    for is_late in [false, true] {
        let bench = Bench::new();
        let write = || bench.mutated(object("a", "ua", 12, "y"));
        if !is_late {
            write();
        }
        bench.informer_removes("a", 13);
        bench.informer(14, Some(object("a", "new", 14, "x")));
        if is_late {
            write();
        }
        bench.check(&["a@14 x", "b@10 x"]);
        // Nor does an own deletion of the first.
        bench.deleted(object("a", "ua", 12, "y"));
        bench.check(&["a@14 x", "b@10 x"]);
    }
}

#[test]
fn the_end_of_another_object_of_the_name_says_nothing_of_a_later_own_write() {
    let bench = Bench::new();
    bench.mutated(object("a", "ua", 13, "y"));
    bench.informer(11, Some(object("a", "other", 11, "x")));
    bench.informer_removes("a", 12);
    bench.check(&["a@13 y", "b@10 x"]);
    bench.informer(14, None);
    bench.check(&["b@10 x"]);
}

#[test]
fn a_deletion_counts_although_its_maker_knew_an_older_version() {
    let bench = Bench::new();
    bench.mutated(object("a", "ua", 12, "y"));
    bench.deleted(object("a", "ua", 5, "x"));
    bench.check(&["b@10 x"]);
    bench.informer(12, Some(object("a", "ua", 12, "y")));
    bench.check(&["b@10 x"]);
}

#[test]
fn own_writes_expire() {
    let bench = Bench::new();
    bench.mutated(object("a", "ua", 12, "y"));
    bench.check_after(Duration::from_secs(59), &["a@12 y", "b@10 x"]);
    bench.check_after(Duration::from_secs(60), &["a@5 x", "b@10 x"]);
    assert!(bench.cache.is_empty());
}

#[test]
fn beyond_the_bound_the_oldest_own_write_is_forgotten() {
    let bench = Bench::new();
    bench.mutated(object("c", "uc", 12, "y"));
    bench.mutated(object("a", "ua", 13, "y"));
    bench.mutated(object("d", "ud", 14, "y"));
    bench.mutated(object("c", "uc", 15, "y"));
    bench.mutated(object("e", "ue", 16, "y"));
    bench.check(&["a@5 x", "b@10 x", "c@15 y", "d@14 y", "e@16 y"]);
    assert_eq!(bench.cache.len(), 3);
}

#[test]
fn versions_that_are_no_numbers_leave_the_cache_to_count() {
    let bench = Bench::new();
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":"a","resourceVersion":"x"}}"#;
    bench.mutated(Object::decode(json.as_bytes(), None).expect("it decodes"));
    bench.check(&["a@5 x", "b@10 x"]);
}

#[test]
fn a_time_to_live_beyond_all_time_never_ends() {
    let mut bench = Bench::new();
    bench.cache = MutationCache::with_bounds(bench.cache.indexer.clone(), Duration::MAX, 3);
    bench.mutated(object("a", "ua", 12, "y"));
    bench.check_after(Duration::from_hours(24), &["a@12 y", "b@10 x"]);
}
