use super::answer::Item;
use super::*;
use crate::contract::coverage::lease;
use crate::guest::call_deadline::CallDeadline;
use crate::pace::Pace;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sees the pods of namespace `a` with the label `app=web`, and all pods of namespace `c`.
const NARROW: &str = r#"{"version":"1",
    "subscriptions":[{"resource":"v1/pods","namespaces":["a"],"labelSelector":"app=web"}],
    "reads":[{"resource":"v1/pods","namespaces":["c"]}],
    "indexes":[{"resource":"v1/pods","name":"node","pointer":"/spec/nodeName"}]}"#;
const WIDE: &str = r#"{"version":"1","reads":[{"resource":"v1/pods"}],
    "indexes":[{"resource":"v1/pods","name":"node","pointer":"/spec/nodeName"}]}"#;

/// Namespace, name, app and node.
const PODS: [(&str, &str, &str, &str); 7] = [
    ("a", "db-1", "db", "n1"),
    ("a", "db-2", "db", "n2"),
    ("a", "web-1", "web", "n2"),
    ("a", "web-2", "web", "n3"),
    ("a", "zz", "db", "n4"),
    ("b", "web-3", "web", "n5"),
    ("c", "db-3", "db", "n6"),
];

struct Bench {
    reads: Reads,
    clock: CallDeadline,
    source: FakeControllerSource,
    _informers: SharedInformerFactory,
}

impl Bench {
    async fn new(descriptor: &str) -> Self {
        Self::granted(descriptor, None).await
    }

    async fn granted(descriptor: &str, granted: Option<VersionPermissions>) -> Self {
        let source = FakeControllerSource::default();
        for (namespace, name, app, node) in PODS {
            source.add(&format!(
                r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}","labels":{{"app":"{app}"}}}},"spec":{{"nodeName":"{node}"}}}}"#
            ));
        }
        let informers =
            SharedInformerFactory::new(Arc::new(source.clone()), FactoryOptions::default());
        let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("it is well formed");
        let shared = SharedIndexes::default();
        let granted = granted.unwrap_or_else(|| VersionPermissions::everything(&descriptor));
        let charged = (&shared, &Arc::default());
        let reads = Reads::new(&descriptor, charged, &granted, |gvr, scope| {
            // The source selects by no field of the pods. Another plugin may need all of them.
            let scope = if scope.to_string().contains("fields") { Scope::all() } else { scope };
            lease(&informers, gvr, scope)
        });
        informers.start();
        informers.wait_for_cache_sync(Duration::from_secs(30)).await.expect("it syncs");
        reads.fill_indexes(|| true);
        let now = Instant::now();
        let clock = CallDeadline::new(now, Pace::default());
        clock.arm(now, Duration::from_secs(3600), Duration::ZERO);
        Self { reads, clock, source, _informers: informers }
    }

    fn bounds(&self, items: usize, bytes: usize) -> AnswerBounds<'_> {
        AnswerBounds { items, bytes, clock: &self.clock }
    }

    /// The pages of a guest that follows the cursors to the end: names, with a `;` after each page.
    #[track_caller]
    fn check<T: Item>(
        &self,
        (items, bytes): (usize, usize),
        read: impl Fn(&Reads, AnswerBounds<'_>, Option<&str>) -> Result<ReadAnswer<T>, ReadError>,
        name: impl Fn(&T) -> String,
        expect: &str,
    ) {
        let (mut pages, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let answer = read(&self.reads, self.bounds(items, bytes), cursor.as_deref());
            let answer = answer.expect("it is granted");
            pages.push(answer.items.iter().map(&name).collect::<Vec<_>>().join(" "));
            cursor = answer.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(pages.join("; "), expect);
    }

    #[track_caller]
    fn check_list(&self, bounds: (usize, usize), expect: &str) {
        let everything = LabelSelector::default();
        let read = |reads: &Reads, bounds: AnswerBounds<'_>, cursor: Option<&str>| {
            reads.list("v1/pods", None, &everything, bounds, cursor)
        };
        self.check(bounds, read, |object| object.key().name().to_owned(), expect);
    }

    #[track_caller]
    fn check_values(&self, bounds: (usize, usize), expect: &str) {
        let read = |reads: &Reads, bounds: AnswerBounds<'_>, cursor: Option<&str>| {
            reads.index_values("v1/pods", "node", bounds, cursor)
        };
        self.check(bounds, read, String::clone, expect);
    }

    #[track_caller]
    fn check_keys(&self, value: &str, bounds: (usize, usize), expect: &str) {
        let read = |reads: &Reads, bounds: AnswerBounds<'_>, cursor: Option<&str>| {
            reads.index_keys("v1/pods", "node", value, bounds, cursor)
        };
        self.check(bounds, read, |key| key.0.key().to_string(), expect);
    }

    #[track_caller]
    fn check_get(&self, namespace: &str, name: &str, expect: Result<bool, &str>) {
        let found = self.reads.get("v1/pods", &ObjectKey::new(namespace, name));
        let expect = expect.map_err(|text| ReadError::NotGranted(text.to_owned()));
        assert_eq!(found.map(|object| object.is_some()), expect);
    }
}

const MANY: usize = 100;
const LARGE: usize = 1 << 20;

#[tokio::test]
async fn an_object_outside_the_selectors_is_absent_and_another_namespace_is_refused() {
    let bench = Bench::new(NARROW).await;
    bench.check_get("a", "web-1", Ok(true));
    bench.check_get("c", "db-3", Ok(true));
    bench.check_get("a", "web-9", Ok(false));
    // Whether another plugin has it cached makes no difference.
    bench.check_get("a", "db-1", Ok(false));
    let namespace = "v1/pods in namespace \"b\" is outside the plugin's subscriptions and reads";
    bench.check_get("b", "web-3", Err(namespace));
    bench.check_get("b", "web-9", Err(namespace));
}

/// The source has every object as one of each resource: one without a namespace is a Namespace, too.
#[tokio::test(start_paused = true)]
async fn reads_follow_the_labels_of_namespaces() {
    let bench = Bench::new(
        r#"{"version":"1","reads":[{"resource":"v1/pods","namespaceSelector":"team=shop"}]}"#,
    )
    .await;
    let label = |namespace: &str, team: &str| {
        format!(r#"{{"metadata":{{"name":"{namespace}","labels":{{"team":"{team}"}}}}}}"#)
    };
    let settle = async || tokio::time::sleep(Duration::from_secs(1)).await;
    bench.check_list((MANY, LARGE), "");
    bench.source.add(&label("b", "shop"));
    bench.source.add(&label("c", "office"));
    settle().await;
    bench.check_list((MANY, LARGE), "web-3");
    bench.check_get("b", "web-3", Ok(true));
    bench.check_get("c", "db-3", Ok(false));
    bench.source.modify(&label("c", "shop"));
    bench.source.modify(&label("b", "office"));
    settle().await;
    bench.check_list((MANY, LARGE), "db-3");
    bench.check_get("b", "web-3", Ok(false));
    bench.source.delete(&label("c", "shop"));
    settle().await;
    bench.check_list((MANY, LARGE), "");
}

/// Sees the metadata of the pods of namespace `a`, and all of those of namespace `c`.
const METADATA: &str = r#"{"version":"1",
    "subscriptions":[{"resource":"v1/pods","namespaces":["a"],"delivery":"metadata"}],
    "reads":[{"resource":"v1/pods","namespaces":["c"]}]}"#;

#[tokio::test]
async fn where_metadata_were_asked_for_no_more_is_shown() {
    let bench = Bench::new(METADATA).await;
    let has_spec = |object: &Object| String::from_utf8_lossy(&object.json()).contains("nodeName");
    let get = |namespace: &str, name: &str| {
        let pod = bench.reads.get("v1/pods", &ObjectKey::new(namespace, name)).expect("granted");
        has_spec(&pod.expect("it is there"))
    };
    assert!(!get("a", "web-1") && get("c", "db-3"));
    let bounds = bench.bounds(MANY, LARGE);
    let page = bench.reads.list("v1/pods", None, &LabelSelector::default(), bounds, None);
    let whole = page.expect("a page").items;
    assert_eq!((whole.len(), whole.iter().filter(|pod| has_spec(pod)).count()), (6, 1));
    let bench = Bench::new(&METADATA.replace(r#","namespaces":["c"]"#, "")).await;
    let pod = bench.reads.get("v1/pods", &ObjectKey::new("a", "web-1")).expect("granted");
    assert!(has_spec(&pod.expect("it is there")), "`reads` has the resource");
}

#[tokio::test]
async fn a_selector_beyond_metadata_judges_what_is_cached_and_not_what_is_shown() {
    for (selector, expect) in
        [("spec.nodeName=n2", "db-2 web-1"), ("spec.nodeName!=n2", "db-1 web-2 zz")]
    {
        let bench = Bench::new(&format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","namespaces":["a"],
            "delivery":"metadata","fieldSelector":"{selector}"}}],
            "indexes":[{{"resource":"v1/pods","name":"app","pointer":"/metadata/labels/app"}}]}}"#
        ))
        .await;
        let shown = |answer: Result<ReadAnswer<Object>, ReadError>| {
            let items = answer.expect("a page").items;
            assert!(items.iter().all(Object::is_metadata_only));
            items.iter().map(|pod| pod.key().name().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let (reads, bounds) = (&bench.reads, bench.bounds(MANY, LARGE));
        let list = |labels: &str| {
            let labels = labels.parse().expect("a selector");
            shown(reads.list("v1/pods", Some("a"), &labels, bounds, None))
        };
        assert_eq!(list(""), expect);
        assert_eq!(list("app in (db,web)"), expect);
        let by_index = |value| shown(reads.by_index("v1/pods", "app", value, bounds, None));
        let mut found = [by_index("db"), by_index("web")].join(" ");
        let mut names: Vec<&str> = found.split(' ').collect();
        names.sort_unstable();
        found = names.join(" ");
        assert_eq!(found, expect);
        let is_there = |name: &str| {
            let pod = reads.get("v1/pods", &ObjectKey::new("a", name)).expect("granted");
            pod.inspect(|pod| assert!(pod.is_metadata_only())).is_some()
        };
        for (_, name, _, _) in PODS.iter().filter(|pod| pod.0 == "a") {
            assert_eq!(is_there(name), expect.split(' ').any(|one| one == *name), "{name}");
        }
        let count = reads.count("v1/pods", Some("a"), bounds).expect("granted");
        assert_eq!(count as usize, expect.split(' ').count());
    }
}

#[tokio::test]
async fn pages_hold_what_is_visible_and_each_once() {
    let wide = Bench::new(WIDE).await;
    wide.check_list((MANY, LARGE), "db-1 db-2 web-1 web-2 zz web-3 db-3");
    wide.check_list((3, LARGE), "db-1 db-2 web-1; web-2 zz web-3; db-3");
    wide.check_list((7, LARGE), "db-1 db-2 web-1 web-2 zz web-3 db-3");
    let narrow = Bench::new(NARROW).await;
    narrow.check_list((MANY, LARGE), "web-1 web-2 db-3");
    narrow.check_list((2, LARGE), "web-1 web-2; db-3");
    narrow.check_list((1, LARGE), "web-1; web-2; db-3");
}

#[tokio::test]
async fn a_cursor_names_nothing_invisible() {
    let bench = Bench::new(NARROW).await;
    let everything = LabelSelector::default();
    let page = bench.reads.list("v1/pods", None, &everything, bench.bounds(2, LARGE), None);
    assert_eq!(
        page.expect("a page").next,
        Some(Indexer::cursor_after(&ObjectKey::new("a", "web-2")))
    );
    let values = bench.reads.index_values("v1/pods", "node", bench.bounds(2, LARGE), None);
    assert_eq!(values.expect("a page").next.as_deref(), Some("n3"));
}

#[tokio::test]
async fn answers_keep_to_their_bytes_and_one_larger_item_comes_alone() {
    let bench = Bench::new(WIDE).await;
    let pod = bench.reads.get("v1/pods", &ObjectKey::new("a", "db-1")).expect("a pod");
    let bytes = pod.expect("it is there").json_len();
    bench.check_list((MANY, 2 * bytes), "db-1 db-2; web-1; web-2 zz; web-3; db-3");
    bench.check_list((MANY, 1), "db-1; db-2; web-1; web-2; zz; web-3; db-3");
    bench.check_values((MANY, 4), "n1 n2; n3 n4; n5 n6");
    bench.check_values((MANY, 1), "n1; n2; n3; n4; n5; n6");
    bench.check_keys("n2", (MANY, LARGE), "a/db-2 a/web-1");
    bench.check_keys("n2", (MANY, 5), "a/db-2; a/web-1");
}

#[tokio::test]
async fn an_index_shows_only_what_a_visible_object_has() {
    let bench = Bench::new(NARROW).await;
    bench.check_values((MANY, LARGE), "n2 n3 n6");
    bench.check_keys("n2", (MANY, LARGE), "a/web-1");
    bench.check_keys("n5", (MANY, LARGE), "");
    let count = |namespace| bench.reads.count("v1/pods", namespace, bench.bounds(1, 1));
    assert_eq!((count(None), count(Some("a"))), (Ok(3), Ok(2)));
}

/// Invariants 2 and 27.
#[tokio::test]
async fn a_search_ends_at_the_deadline() {
    let bench = Bench::new(NARROW).await;
    bench.clock.arm(Instant::now(), Duration::ZERO, Duration::ZERO);
    let bounds = bench.bounds(MANY, LARGE);
    let everything = LabelSelector::default();
    let late = Some(ReadError::DeadlineExceeded);
    assert_eq!(bench.reads.list("v1/pods", None, &everything, bounds, None).err(), late);
    assert_eq!(bench.reads.count("v1/pods", None, bounds).err(), late);
    assert_eq!(bench.reads.index_values("v1/pods", "node", bounds, None).err(), late);
    assert_eq!(bench.reads.index_keys("v1/pods", "node", "n1", bounds, None).err(), late);
    let readable = bench.reads.readable("v1/pods").expect("it is granted");
    let used = readable.index("v1/pods", "node").expect("it is declared");
    assert_eq!(readable.sees_any(used, "n1", bounds).err(), late);
}

/// The functions that refuse a plugin with [`NARROW`] whose subscription, or whose read of namespace `c`, is refused.
async fn refused(subscription: bool, read: bool) -> Vec<&'static str> {
    let of = |is_refused| match is_refused {
        true => Permissions::refused(),
        false => Permissions::default(),
    };
    let (subscriptions, reads) = (vec![of(subscription)], vec![of(read)]);
    let granted = VersionPermissions { account: None, subscriptions, reads };
    let bench = Bench::granted(NARROW, Some(granted)).await;
    let (reads, everything) = (&bench.reads, LabelSelector::default());
    let list = |namespace| {
        let bounds = bench.bounds(MANY, LARGE);
        reads.list("v1/pods", namespace, &everything, bounds, None).map(|page| page.items.len())
    };
    let get = |namespace, name| {
        let got = reads.get("v1/pods", &ObjectKey::new(namespace, name));
        got.map(|object| usize::from(object.is_some()))
    };
    let values = reads.index_values("v1/pods", "node", bench.bounds(MANY, LARGE), None);
    let keys = reads.index_keys("v1/pods", "node", "n6", bench.bounds(MANY, LARGE), None);
    let objects = reads.by_index("v1/pods", "node", "n6", bench.bounds(MANY, LARGE), None);
    let count = |namespace| reads.count("v1/pods", namespace, bench.bounds(MANY, LARGE));
    let answers = [
        ("get a", get("a", "web-1")),
        ("get c", get("c", "db-3")),
        ("list a", list(Some("a"))),
        ("list c", list(Some("c"))),
        ("list", list(None)),
        ("by-index", objects.map(|page| page.items.len())),
        ("index-keys", keys.map(|page| page.items.len())),
        ("index-values", values.map(|page| page.items.len())),
        ("count a", count(Some("a")).map(|count| count as usize)),
        ("count", count(None).map(|count| count as usize)),
        ("has-synced", reads.has_synced("v1/pods").map(usize::from)),
    ];
    let refused = answers.iter().filter(|(name, answer)| match answer {
        Ok(found) => {
            assert!(*found > 0, "{name} is answered with what is there");
            false
        }
        Err(ReadError::Withdrawn(why)) => {
            assert_eq!(why, "refused", "{name}");
            true
        }
        Err(error) => panic!("{name}: {error:?}"),
    });
    refused.map(|(name, _)| *name).collect()
}

/// Invariant 36.
#[tokio::test]
async fn what_is_refused_to_the_account_is_refused_by_every_function() {
    assert!(refused(false, false).await.is_empty());
    let whole = ["list", "by-index", "index-keys", "index-values"];
    let of_a = ["get a", "list a"].into_iter().chain(whole).chain(["count a", "count"]);
    assert_eq!(refused(true, false).await, of_a.collect::<Vec<_>>());
    let of_c = ["get c", "list c"].into_iter().chain(whole).chain(["count"]);
    assert_eq!(refused(false, true).await, of_c.collect::<Vec<_>>());
    assert_eq!(refused(true, true).await.len(), 11);
}

#[test]
fn a_read_that_lacks_a_grant_or_the_cluster_may_succeed_later_and_no_other() {
    let text = String::new;
    for later in [ReadError::Withdrawn(text()), ReadError::NotSynced(text())] {
        assert!(later.is_hindrance(), "{later:?}");
    }
    let never = [
        ReadError::NotGranted(text()),
        ReadError::UnknownIndex(text()),
        ReadError::Invalid(text()),
        ReadError::DeadlineExceeded,
    ];
    for never in never {
        assert!(!never.is_hindrance(), "{never:?}");
    }
}
