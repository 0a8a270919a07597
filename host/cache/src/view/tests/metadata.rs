//! Views for which metadata are enough, beside others.

use super::*;

/// A pod with more than its metadata.
fn whole(name: &str, node: &str) -> String {
    format!(r#"{{"metadata":{{"namespace":"a","name":"{name}"}},"spec":{{"nodeName":"{node}"}}}}"#)
}

fn metadata() -> Scope {
    Scope::all().metadata_only()
}

impl Bench {
    /// The number of cached objects, and of those with their metadata alone.
    fn cached(&self) -> (usize, usize) {
        let indexer = self.factory.informers()[0].indexer();
        (indexer.count(None), indexer.count_of_metadata_only())
    }

    /// The parts that are listed and watched now.
    fn present_parts(&self) -> Vec<String> {
        self.factory.informers()[0].parts().iter().map(ToString::to_string).collect()
    }

    async fn start_with_two() -> Self {
        Self::start(|source| {
            source.add(&whole("x", "n1"));
            source.add(&whole("y", "n1"));
        })
        .await
    }
}

/// Invariant 9.
#[tokio::test(start_paused = true)]
async fn whole_objects_come_and_go_without_a_word_for_whom_metadata_are_enough() {
    let bench = Bench::start_with_two().await;
    let few = bench.watch(metadata()).await;
    few.check(&["add a/x@1 Initial metadata", "add a/y@2 Initial metadata", "synced"]);
    assert_eq!(bench.cached(), (2, 2));
    assert_eq!(bench.present_parts(), ["all namespaces, metadata only"]);

    let all = bench.watch(Scope::all()).await;
    all.check(&["add a/x@1 Initial", "add a/y@2 Initial", "synced"]);
    few.check(&[]);
    assert_eq!(bench.cached(), (2, 0));
    assert_eq!(bench.present_parts(), ["all namespaces"]);
    bench.source.modify(&whole("x", "n2"));
    settle().await;
    all.check(&["update a/x@3 from 1 Watch"]);
    few.check(&["update a/x@3 from 1 Watch"]);

    drop(all);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(bench.cached(), (2, 2));
    assert_eq!(bench.present_parts(), ["all namespaces, metadata only"]);
    bench.source.modify(&whole("x", "n3"));
    bench.source.delete(&whole("y", "n1"));
    settle().await;
    few.check(&[
        "update a/x@4 from 3 Watch metadata metadata",
        "delete a/y@5 Known Watch metadata",
    ]);
}

#[tokio::test(start_paused = true)]
async fn who_needs_whole_objects_has_none_before_they_are_there() {
    let bench = Bench::start_with_two().await;
    let few = bench.watch(metadata()).await;
    let refused = || crate::ListWatchError::Transient { message: "no".to_owned() };
    bench.source.refuse_next(refused());
    bench.source.refuse_next(refused());
    let all = bench.watch(Scope::all()).await;
    let key = ObjectKey::new("a", "x");
    assert!(!all.view.has_synced() && all.view.get(&key).is_none());
    assert_eq!((all.view.count(None), few.view.count(None)), (0, 2));
    bench.source.delete(&whole("y", "n1"));
    settle().await;
    all.check(&[]);
    assert!(all.view.synced().await);
    settle().await;
    all.check(&["add a/x@1 Initial", "synced"]);
    assert!(!all.view.get(&key).expect("it is there").is_metadata_only());
    assert_eq!(
        few.recorder.take().last().map(String::as_str),
        Some("delete a/y@3 Known Watch metadata")
    );
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_while_the_cache_narrows_waits_for_whole_objects() {
    let bench = Bench::start_with_two().await;
    let few = bench.watch(metadata()).await;
    drop(bench.watch(Scope::all()).await);
    tokio::time::sleep(Duration::from_secs(50)).await;
    few.recorder.take();
    let back = bench.watch(Scope::all()).await;
    back.check(&["add a/x@1 Initial", "add a/y@2 Initial", "synced"]);
    drop(back);
    // The list of metadata is under way.
    for _ in 0..4 {
        bench.source.refuse_next(crate::ListWatchError::Transient { message: "no".to_owned() });
    }
    tokio::time::sleep(Duration::from_millis(60_200)).await;
    assert_eq!(bench.present_parts(), ["all namespaces", "all namespaces, metadata only"]);
    let back = bench.watch(Scope::all()).await;
    assert!(back.view.synced().await);
    settle().await;
    back.check(&["add a/x@1 Initial", "add a/y@2 Initial", "synced"]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(
        (bench.cached(), bench.present_parts()),
        ((2, 0), vec!["all namespaces".to_owned()])
    );
    few.check(&[]);
}

#[tokio::test(start_paused = true)]
async fn a_selector_beyond_metadata_needs_whole_objects() {
    let bench = Bench::start(|source| _ = source.add(&whole("x", "n1"))).await;
    let by_name = metadata().with_fields("metadata.name=x".parse().expect("a selector"));
    let few = bench.watch(by_name.expect("evaluable")).await;
    few.check(&["add a/x@1 Initial metadata", "synced"]);
    assert_eq!(bench.present_parts(), ["all namespaces, fields metadata.name=x, metadata only"]);
}

/// Another handler's knowledge goes on: a change of a known object is delivered once the object is whole.
#[tokio::test(start_paused = true)]
async fn who_takes_over_from_a_reader_of_metadata_misses_no_change() {
    let bench = Bench::start_with_two().await;
    let lease = |scope: Scope| bench.factory.lease_scoped(&pods(), Arc::new(scope));
    let (few, all) = (lease(metadata()), Recorder::default());
    let (handler, options) = (Arc::new(Recorder::default()), HandlerOptions::default());
    let registration = few.informer().add_inline_handler(handler, options.clone());
    bench.factory.start();
    settle().await;
    for _ in 0..2 {
        bench.source.refuse_next(crate::ListWatchError::Transient { message: "no".to_owned() });
    }
    let wider = lease(Scope::all());
    let handler = Arc::new(all.clone());
    let registration = wider.informer().replace_inline_handler(registration, handler, options);
    settle().await;
    bench.source.modify(&whole("x", "n2"));
    bench.source.add(&whole("z", "n1"));
    bench.source.modify(&whole("x", "n3"));
    bench.source.add(&whole("short", "n1"));
    bench.source.delete(&whole("short", "n1"));
    bench.source.delete(&whole("y", "n1"));
    settle().await;
    assert_eq!(all.take(), ["delete a/y@8 Known Watch metadata"]);
    assert!(registration.synced().await);
    let told = all.take();
    assert_eq!(
        told,
        [
            "update a/x@5 from 1 Watch metadata",
            "add a/z@4 Watch",
            "add a/x@5 Initial",
            "add a/z@4 Initial",
            "synced"
        ]
    );
}

/// The next handler may be one for which metadata are enough.
#[tokio::test(start_paused = true)]
async fn what_waits_until_it_is_whole_goes_over_to_the_next_handler() {
    let bench = Bench::start_with_two().await;
    let lease = |scope: Scope| bench.factory.lease_scoped(&pods(), Arc::new(scope));
    let (few, first, last) = (lease(metadata()), Recorder::default(), Recorder::default());
    let options = HandlerOptions::default;
    let registration = few.informer().add_inline_handler(Arc::new(first), options());
    bench.factory.start();
    settle().await;
    for _ in 0..2 {
        bench.source.refuse_next(crate::ListWatchError::Transient { message: "no".to_owned() });
    }
    let wider = lease(Scope::all());
    let second = Arc::new(Recorder::default());
    let registration = wider.informer().replace_inline_handler(registration, second, options());
    settle().await;
    bench.source.modify(&whole("x", "n2"));
    settle().await;
    let handler = Arc::new(last.clone());
    let registration = few.informer().replace_inline_handler(registration, handler, options());
    settle().await;
    assert_eq!(
        last.take().first().map(String::as_str),
        Some("update a/x@3 from 1 Watch metadata metadata")
    );
    drop(registration);
}

#[test]
fn an_object_is_another_one_than_its_metadata_for_a_list_that_is_shown_at_its_end() {
    let pod = Object::decode(
        whole("x", "n1").as_bytes(),
        Some(&crate::TypeMeta { api_version: "v1".to_owned(), kind: "Pod".to_owned() }),
    );
    let pod = pod.expect("an object");
    let is_other = |stored: &Object, listed: &Object| {
        let store = crate::Indexer::default();
        let mut write = store.write();
        write.put(stored.clone(), crate::indexer::Write::Watched);
        write.is_other(listed)
    };
    assert!(is_other(&pod.metadata_only(), &pod));
    assert!(!is_other(&pod, &pod.metadata_only()) && !is_other(&pod, &pod));
}

/// A set-back API server gives the same numbers to other objects. The server's other order of fields is no change.
#[tokio::test(start_paused = true)]
async fn the_same_metadata_in_another_order_are_no_change() {
    let object = |json: &str| Object::decode(json.as_bytes(), None).expect("an object");
    let one = object(
        r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a","resourceVersion":"1","labels":{"x":"y"}},"spec":1}"#,
    );
    let other = object(
        r#"{"apiVersion":"v1","kind":"A","metadata":{"labels":{"x":"y"},"name":"a","resourceVersion":"1"}}"#,
    );
    let changed = object(
        r#"{"apiVersion":"v1","kind":"A","metadata":{"labels":{"x":"z"},"name":"a","resourceVersion":"1"}}"#,
    );
    let store = crate::Indexer::default();
    let put = |object: &Object| {
        let write = crate::indexer::Write::Listed { consistent: true };
        let put = store.write().put(object.clone(), write);
        format!("{put:?}").split(' ').next().unwrap_or_default().to_owned()
    };
    let written = [
        &one.metadata_only(),
        &other.metadata_only(),
        &one,
        &other.metadata_only(),
        &changed.metadata_only(),
    ];
    assert_eq!(written.map(put), ["Added", "Unchanged", "Completed", "Unchanged", "Updated"]);
}
