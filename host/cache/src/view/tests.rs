//! Views against the source in memory, which evaluates namespaces and selectors as an API server does.

use super::*;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::recorder::{Recorder, at};
use crate::scope::{ScopeError, union};
use crate::testing::FakeControllerSource;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

mod metadata;

struct Bench {
    source: FakeControllerSource,
    factory: SharedInformerFactory,
}

/// A view with a handler from its start.
struct Watched {
    view: View,
    recorder: Recorder,
    registration: Registration,
}

impl Watched {
    #[track_caller]
    fn check(&self, expect: &[&str]) {
        assert_eq!(self.recorder.take(), expect, "{:?}", self.view);
    }
}

impl Bench {
    fn new(options: FactoryOptions) -> Self {
        let source = FakeControllerSource::default();
        let options = FactoryOptions { seed: 1, ..options };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        Self { source, factory }
    }

    async fn start(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let bench = Self::new(FactoryOptions::default());
        prepare(&bench.source);
        bench.factory.start();
        bench
    }

    async fn watch(&self, scope: Scope) -> Watched {
        let view = self.factory.view(&pods(), scope).expect("the factory covers everything");
        let recorder = Recorder::default();
        let registration = view.add_event_handler(Arc::new(recorder.clone()));
        self.factory.start();
        settle().await;
        Watched { view, recorder, registration }
    }

    /// The listed and watched parts, each once, in the order of the first requests.
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        for (part, _) in self.source.requests_by_part() {
            if !parts.contains(&part.to_string()) {
                parts.push(part.to_string());
            }
        }
        parts
    }

    /// The source's objects in a scope, by key.
    fn truth(&self, scope: &Scope) -> Vec<String> {
        self.source.objects().iter().filter(|object| scope.contains(object)).map(at).collect()
    }

    fn stored(&self) -> Vec<String> {
        let informers = self.factory.informers();
        informers[0].indexer().chunk(None, usize::MAX).iter().map(at).collect()
    }
}

fn pods() -> GroupVersionResource {
    "v1/pods".parse().expect("a resource")
}

fn pod(namespace: &str, name: &str, app: &str) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}","labels":{{"app":"{app}"}}}}}}"#
    )
}

fn labelled(app: &str) -> Scope {
    Scope::all().with_labels(format!("app={app}").parse().expect("a selector"))
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn everything() -> LabelSelector {
    LabelSelector::default()
}

#[tokio::test(start_paused = true)]
async fn a_view_is_told_of_its_namespace_alone_and_nothing_else_is_cached() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
    })
    .await;
    let a = bench.watch(Scope::namespace("a")).await;
    bench.source.add(&pod("b", "z", "web"));
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    a.check(&["add a/x@1 Initial", "synced", "update a/x@4 from 1 Watch"]);
    assert_eq!(bench.stored(), ["a/x@4"]);
    assert_eq!(bench.parts(), ["namespace a"]);
    assert!(a.view.has_synced() && a.registration.has_synced());
}

#[tokio::test(start_paused = true)]
async fn an_update_that_moves_an_object_out_is_deleted_and_in_is_added() {
    let bench = Bench::start(|source| _ = source.add(&pod("a", "x", "web"))).await;
    let (web, db) = (bench.watch(labelled("web")).await, bench.watch(labelled("db")).await);
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    bench.source.modify(&pod("a", "x", "web"));
    settle().await;
    bench.source.delete(&pod("a", "x", "web"));
    settle().await;
    web.check(&[
        "add a/x@1 Initial",
        "synced",
        "delete a/x@1 LeftScope Watch",
        "add a/x@4 Watch",
        "delete a/x@5 Known Watch",
    ]);
    db.check(&[
        "synced",
        "add a/x@2 Watch",
        "update a/x@3 from 2 Watch",
        "delete a/x@3 LeftScope Watch",
    ]);
}

#[tokio::test(start_paused = true)]
async fn selectors_reach_the_server_while_all_agree() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("a", "y", "db"));
    })
    .await;
    let web = bench.watch(labelled("web")).await;
    assert_eq!(bench.stored(), ["a/x@1"]);
    let again = bench.watch(labelled("web")).await;
    assert_eq!(bench.parts(), ["all namespaces, labels app=web"]);
    let db = bench.watch(labelled("db")).await;
    assert_eq!(bench.parts(), ["all namespaces, labels app=web", "all namespaces"]);
    assert_eq!(bench.stored(), ["a/x@1", "a/y@2"]);
    web.check(&["add a/x@1 Initial", "synced"]);
    again.check(&["add a/x@1 Initial", "synced"]);
    db.check(&["add a/y@2 Initial", "synced"]);
    // The last user of the wider list ends it, after the linger.
    drop(db);
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(bench.stored(), ["a/x@1"]);
    web.check(&[]);
}

#[tokio::test(start_paused = true)]
async fn requirements_in_common_reach_the_server() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("a", "y", "cache"));
        source.add(&pod("a", "z", "db"));
    })
    .await;
    let labels = |text: &str| Scope::all().with_labels(text.parse().expect("a selector"));
    let web = bench.watch(labels("app=web,app!=db")).await;
    assert_eq!(bench.stored(), ["a/x@1"]);
    let other = bench.watch(labels("app!=db")).await;
    assert_eq!(bench.stored(), ["a/x@1", "a/y@2"]);
    assert_eq!(
        bench.parts(),
        ["all namespaces, labels app!=db,app=web", "all namespaces, labels app!=db",]
    );
    web.check(&["add a/x@1 Initial", "synced"]);
    other.check(&["add a/x@1 Initial", "add a/y@2 Initial", "synced"]);
    // The wider part shows that the object only left the narrower view.
    bench.source.modify(&pod("a", "x", "cache"));
    settle().await;
    web.check(&["delete a/x@1 LeftScope Watch"]);
    other.check(&["update a/x@4 from 1 Watch"]);
}

#[tokio::test(start_paused = true)]
async fn leaving_a_selector_that_the_server_evaluates_is_a_deletion_of_unknown_end() {
    let bench = Bench::start(|source| _ = source.add(&pod("a", "x", "web"))).await;
    let web = bench.watch(labelled("web")).await;
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    web.check(&["add a/x@1 Initial", "synced", "delete a/x@2 Unknown Watch"]);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_joins_is_initial_for_who_asked_and_silent_for_the_others() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
    })
    .await;
    let a = bench.watch(Scope::namespace("a")).await;
    let both = bench.watch(Scope::namespaces(["a", "b"])).await;
    a.check(&["add a/x@1 Initial", "synced"]);
    both.check(&["add a/x@1 Initial", "add b/y@2 Initial", "synced"]);
    assert_eq!(bench.parts(), ["namespace a", "namespace b"]);
    bench.source.modify(&pod("b", "y", "web"));
    settle().await;
    a.check(&[]);
    both.check(&["update b/y@3 from 2 Watch"]);
}

/// Invariant 9.
#[tokio::test(start_paused = true)]
async fn widening_tells_nobody_what_they_know_and_the_narrower_lists_stop() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
    })
    .await;
    let a = bench.watch(Scope::namespace("a")).await;
    let all = bench.watch(Scope::all()).await;
    a.check(&["add a/x@1 Initial", "synced"]);
    all.check(&["add a/x@1 Initial", "add b/y@2 Initial", "synced"]);
    let requests = bench.source.requests_by_part().len();
    bench.source.end_watches(None);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let new = bench.source.requests_by_part().split_off(requests);
    assert!(!new.is_empty() && new.iter().all(|(part, _)| part.is_all()), "{new:?}");
    bench.source.delete(&pod("a", "x", "web"));
    settle().await;
    a.check(&["delete a/x@3 Known Watch"]);
    all.check(&["delete a/x@3 Known Watch"]);
}

#[tokio::test(start_paused = true)]
async fn narrowing_frees_what_nobody_asks_for_and_tells_nobody() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
    })
    .await;
    let (a, all) = (bench.watch(Scope::namespace("a")).await, bench.watch(Scope::all()).await);
    a.recorder.take();
    drop(all);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(bench.stored(), ["a/x@1", "b/y@2"], "it lingers");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.stored(), ["a/x@1"]);
    a.check(&[]);
    bench.source.modify(&pod("a", "x", "web"));
    bench.source.modify(&pod("b", "y", "web"));
    settle().await;
    a.check(&["update a/x@3 from 1 Watch"]);
    assert_eq!(bench.stored(), ["a/x@3"]);
}

#[tokio::test(start_paused = true)]
async fn reads_see_exactly_the_scope() {
    let bench = Bench::start(|source| {
        for number in 0..1000 {
            let namespace = ["a", "b", "c"][number % 3];
            source.add(&pod(namespace, &format!("p{number:03}"), ["web", "db"][number % 2]));
        }
    })
    .await;
    let all = bench.watch(Scope::all()).await;
    let web = "app=web".parse().expect("a selector");
    let scope = Scope::namespaces(["a", "c", "none"]).with_labels(web);
    let view = bench.watch(scope.clone()).await.view;
    let objects = bench.factory.informers()[0].indexer().chunk(None, usize::MAX);
    let expect: Vec<_> = objects.iter().filter(|object| scope.contains(object)).map(at).collect();
    assert_eq!((objects.len(), view.count(None)), (1000, expect.len()));
    let mut cursor = None;
    let mut found = Vec::new();
    loop {
        let page = view.list(None, &everything(), 7, cursor.as_deref()).expect("a page");
        assert!(page.items.len() == 7 || page.next.is_none());
        found.extend(page.items.iter().map(at));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expect);
    assert_eq!(view.list(Some("b"), &everything(), 0, None).expect("a page").items.len(), 0);
    assert_eq!(view.count(Some("b")), 0);
    let key = |namespace, name| ObjectKey::new(namespace, name);
    assert!(view.get(&key("a", "p000")).is_some() && view.get(&key("a", "p003")).is_none());
    assert!(view.get(&key("b", "p004")).is_none());
    drop(all);
}

#[tokio::test(start_paused = true)]
async fn indexes_are_read_within_the_scope() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
        source.add(&pod("b", "z", "db"));
    })
    .await;
    let all = bench.watch(Scope::all()).await;
    let view = bench.watch(Scope::namespace("a")).await.view;
    let pointer = "/metadata/labels/app".parse().expect("a pointer");
    let indexer = bench.factory.informers()[0].indexer();
    indexer.add_index("app", crate::IndexFunc::json_pointer(pointer)).expect("it is new");
    let keys = view.index_keys("app", "web", 0, None).expect("a page");
    assert_eq!(keys.items, [ObjectKey::new("a", "x")]);
    assert_eq!(view.index_values("app", 0, None).expect("a page").items, ["web"]);
    assert_eq!(all.view.index_values("app", 1, None).expect("a page").next.as_deref(), Some("db"));
    assert!(view.by_index("other", "web", 0, None).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_factorys_scope_bounds_what_is_asked_for() {
    let bench = Bench::new(FactoryOptions { scope: Scope::namespace("a"), ..Default::default() });
    bench.source.add(&pod("a", "x", "web"));
    bench.source.add(&pod("b", "y", "web"));
    let informer = bench.factory.for_resource(&pods());
    bench.factory.start();
    assert!(informer.synced().await);
    assert_eq!(bench.stored(), ["a/x@1"]);
    let beyond = bench.factory.view(&pods(), Scope::all()).err();
    let (asked, allowed) = ("all namespaces".to_owned(), "namespaces a".to_owned());
    assert_eq!(beyond, Some(ScopeError::BeyondFactory { asked, allowed }));
    let web = "app=web".parse().expect("a selector");
    assert!(bench.factory.view(&pods(), Scope::namespace("a").with_labels(web)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wide_list_that_is_refused_leaves_the_narrower_ones_working() {
    let bench = Bench::start(|source| _ = source.add(&pod("a", "x", "web"))).await;
    let a = bench.watch(Scope::namespace("a")).await;
    a.recorder.take();
    let message = "pods is forbidden".to_owned();
    for _ in 0..2 {
        bench.source.refuse_next(crate::ListWatchError::Forbidden { message: message.clone() });
    }
    let all = bench.watch(Scope::all()).await;
    assert_eq!((all.view.state().as_str(), all.view.has_synced()), ("forbidden", false));
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    a.check(&["update a/x@2 from 1 Watch"]);
    assert!(a.view.has_synced());
    assert!(all.view.synced().await, "the permission came back");
    settle().await;
    all.check(&["add a/x@1 Initial", "update a/x@2 from 1 Watch", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_more_has_not_synced_because_a_narrower_view_has() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
    })
    .await;
    let _a = bench.watch(Scope::namespace("a")).await;
    for _ in 0..2 {
        let message = "no".to_owned();
        bench.source.refuse_next(crate::ListWatchError::Forbidden { message });
    }
    let informer = bench.factory.for_resource(&pods());
    let recorder = Recorder::default();
    let registration = informer.add_event_handler(Arc::new(recorder.clone()));
    settle().await;
    assert!(!informer.has_synced() && !registration.has_synced());
    let waited = bench.factory.wait_for_cache_sync(Duration::ZERO).await;
    assert_eq!(waited.expect_err("forbidden").missing.len(), 1);
    assert!(registration.synced().await && informer.has_synced());
    assert_eq!(recorder.take(), ["add a/x@1 Initial", "add b/y@2 Initial", "synced"]);
    bench.factory.wait_for_cache_sync(Duration::ZERO).await.expect("the permission came back");
}

#[tokio::test(start_paused = true)]
async fn what_left_a_selector_is_not_gone_for_who_asks_for_everything() {
    let bench = Bench::start(|source| _ = source.add(&pod("a", "x", "web"))).await;
    let _web = bench.watch(labelled("web")).await;
    // The new list by selectors misses an object that left them; then the wide list shows it.
    bench.source.modify_drop_watch(&pod("a", "x", "db"));
    for _ in 0..5 {
        bench.source.add(&pod("a", "other", "db"));
    }
    bench.source.reset_watch();
    let message = "no".to_owned();
    let view = bench.factory.view(&pods(), Scope::all()).expect("within everything");
    bench.source.refuse_next(crate::ListWatchError::Forbidden { message: message.clone() });
    bench.source.refuse_next(crate::ListWatchError::Forbidden { message });
    assert!(view.synced().await);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let truth = bench.truth(&Scope::all());
    assert_eq!((truth.len(), bench.stored()), (2, truth));
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_namespace_is_served_where_all_of_them_are_refused() {
    let bench = Bench::start(|source| {
        source.add(&pod("a", "x", "web"));
        source.add(&pod("b", "y", "web"));
        source.set_refuses_whole(true);
    })
    .await;
    let all = bench.factory.view(&pods(), Scope::all()).expect("within everything");
    let a = bench.watch(Scope::namespace("a")).await;
    assert!(a.view.synced().await && !all.has_synced());
    a.check(&["add a/x@1 Initial", "synced"]);
    let b = bench.watch(Scope::namespace("b")).await;
    assert!(b.view.synced().await && !all.has_synced());
    bench.source.modify(&pod("a", "x", "db"));
    settle().await;
    a.check(&["update a/x@3 from 1 Watch"]);
    b.check(&["add b/y@2 Initial", "synced"]);

    bench.source.set_refuses_whole(false);
    assert!(all.synced().await);
    bench.source.delete(&pod("a", "x", "db"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let watched = bench.source.requests_by_part();
    bench.source.end_watches(None);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let now: BTreeSet<_> = bench.source.requests_by_part()[watched.len()..]
        .iter()
        .map(|(part, _)| part.to_string())
        .collect();
    assert_eq!(now.into_iter().collect::<Vec<_>>(), ["all namespaces"]);
    a.check(&["delete a/x@4 Known Watch"]);

    // The permission is taken away again.
    bench.source.set_refuses_whole(true);
    tokio::time::sleep(Duration::from_secs(60)).await;
    bench.source.add(&pod("b", "z", "web"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    b.check(&["add b/z@5 Watch"]);
}

#[tokio::test(start_paused = true)]
async fn a_scope_of_no_namespaces_is_empty_and_synced() {
    let bench = Bench::start(|source| _ = source.add(&pod("a", "x", "web"))).await;
    let nothing = bench.watch(Scope::namespaces([""; 0])).await;
    assert!(nothing.view.has_synced() && bench.factory.informers()[0].has_synced());
    nothing.check(&["synced"]);
    assert!(bench.parts().is_empty() && bench.stored().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_widening_list_that_is_behind_takes_nothing_back() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bench = Bench::start(|_| {}).await;
        for name in 0..5 {
            bench.source.add(&pod("a", &format!("p{name}"), "web"));
        }
        let a = bench.watch(Scope::namespace("a")).await;
        let all = bench.factory.view(&pods(), Scope::all()).expect("within everything");
        for _ in 0..40 {
            let pod = pod("a", &format!("p{}", random.u8(0..5)), "web");
            match random.u8(0..3) {
                0 => _ = bench.source.add(&pod),
                1 => _ = bench.source.modify(&pod),
                _ => _ = bench.source.delete(&pod),
            }
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(all.has_synced());
        let told = a.recorder.take();
        let versions = |line: &String| line.split(['@', ' ']).nth(2)?.parse::<u64>().ok();
        let told_versions: Vec<_> = told.iter().filter_map(versions).collect();
        believed(&told);
        let mut newest = BTreeMap::new();
        for line in told.iter().filter(|line| *line != "synced") {
            let name = line.split([' ', '@']).nth(1).unwrap_or_default().to_owned();
            let version = versions(line).unwrap_or_default();
            let before = newest.insert(name, version).unwrap_or_default();
            assert!(before <= version, "seed {seed}: {line} after {before}: {told_versions:?}");
        }
        check_view(&bench, &a, seed, &told);
    }
}

/// A handler's knowledge after its notifications, by key: additions of unknown objects, changes from the known state,
/// deletions of known objects.
#[track_caller]
fn believed(told: &[String]) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for line in told.iter().filter(|line| *line != "synced") {
        let words: Vec<_> = line.split([' ', '@']).collect();
        let (what, name, version) = (words[0], words[1].to_owned(), words[2].to_owned());
        match what {
            "add" => assert_eq!(known.insert(name, version), None, "{line}: added twice"),
            "update" => {
                let before = known.insert(name, version);
                assert_eq!(before.as_deref(), Some(words[4]), "{line}: a version is missing");
            }
            _ => assert!(known.remove(&name).is_some(), "{line}: it was not known"),
        }
    }
    known
}

fn random_scope(random: &mut fastrand::Rng) -> Scope {
    let all = random.u8(0..3) == 0;
    let names = ["a", "b", "c"].into_iter().filter(|_| random.bool());
    let scope = if all { Scope::all() } else { Scope::namespaces(names.collect::<Vec<_>>()) };
    // The second and the third have a requirement in common with the first and with each other.
    let labels = ["app=web,app!=db", "app!=db", "app=web", "app=db", "", ""][random.usize(0..6)];
    let scope = if random.u8(0..3) == 0 { scope.metadata_only() } else { scope };
    scope.with_labels(labels.parse().expect("a selector"))
}

/// Invariant 9.
#[tokio::test(start_paused = true)]
async fn views_that_come_and_go_at_random_end_with_exactly_their_part_of_the_truth() {
    for seed in 0..90 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bench = Bench::start(|_| {}).await;
        let mut views: Vec<Watched> = Vec::new();
        let drops = seed % 2 == 0;
        for _ in 0..150 {
            let name = format!("p{}", random.u8(0..6));
            let namespace = ["a", "b", "c"][random.usize(0..3)];
            let pod = pod(namespace, &name, ["web", "db"][random.usize(0..2)]);
            match random.u8(0..100) {
                0..25 => _ = bench.source.add(&pod),
                25..50 => _ = bench.source.modify(&pod),
                50..65 => _ = bench.source.delete(&pod),
                65..70 if drops => _ = bench.source.delete_drop_watch(&pod),
                70..73 => bench.source.end_watches(None),
                73..75 => bench.source.reset_watch(),
                75..80 if views.len() < 5 => {
                    views.push(bench.watch(random_scope(&mut random)).await);
                }
                80..84 if !views.is_empty() => {
                    views.swap_remove(random.usize(0..views.len()));
                }
                84..86 => tokio::time::sleep(Duration::from_secs(61)).await,
                86..89 if seed % 3 == 0 => bench.source.set_refuses_whole(random.bool()),
                _ => tokio::time::sleep(Duration::from_millis(random.u64(0..900))).await,
            }
        }
        bench.source.set_refuses_whole(false);
        // If the watches got all changes, only time is needed.
        if drops {
            bench.source.reset_watch();
        }
        tokio::time::sleep(Duration::from_secs(900)).await;
        for watched in &views {
            check_view(&bench, watched, seed, &watched.recorder.take());
        }
        let asked: Vec<_> = views.iter().map(|watched| watched.view.scope()).collect();
        if !asked.is_empty() {
            check_store(&bench, &asked, seed);
        }
        bench.factory.shutdown().await;
    }
}

/// Checks that the view's handler and its reads agree with the source's objects in the scope.
#[track_caller]
fn check_view(bench: &Bench, watched: &Watched, seed: u64, told: &[String]) {
    let Watched { view, registration, .. } = watched;
    let truth: BTreeSet<String> = bench.truth(view.scope()).into_iter().collect();
    let read = view.list(None, &everything(), 0, None).expect("a page").items;
    let read: BTreeSet<String> = read.iter().map(at).collect();
    assert_eq!(read, truth, "seed {seed}: {view:?}");
    let lacks = told.iter().find(|line| line.ends_with("metadata"));
    assert!(lacks.is_none() || view.scope().is_metadata_only(), "seed {seed}: {lacks:?}, {view:?}");
    let told = believed(told).into_iter();
    let told: BTreeSet<String> = told.map(|(name, version)| format!("{name}@{version}")).collect();
    assert_eq!(told, truth, "seed {seed}: {view:?}");
    assert!(view.has_synced() && registration.has_synced());
}

/// Checks that the objects of the parts for these scopes are cached, and no others.
#[track_caller]
fn check_store(bench: &Bench, asked: &[&Scope], seed: u64) {
    let parts = union::parts(asked.iter().copied(), false);
    let parts: Vec<Scope> = parts.iter().map(Scope::of_part).collect();
    let objects = bench.source.objects();
    let covered = objects.iter().filter(|object| parts.iter().any(|part| part.contains(object)));
    let truth: Vec<String> = covered.map(at).collect();
    assert_eq!(bench.stored(), truth, "seed {seed}: {asked:?}");
    let stored = bench.factory.informers()[0].indexer().chunk(None, usize::MAX);
    for object in &stored {
        let mut whole = parts.iter().filter(|part| !part.is_metadata_only());
        let is_whole = whole.any(|part| part.selects(object));
        assert_eq!(object.is_metadata_only(), !is_whole, "seed {seed}: {object:?} of {asked:?}");
    }
    let count = bench.factory.informers()[0].indexer().count_of_metadata_only();
    assert_eq!(count, stored.iter().filter(|object| object.is_metadata_only()).count());
    assert!(parts.len() <= 3);
}
