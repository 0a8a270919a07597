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
