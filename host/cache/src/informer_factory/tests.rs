//! The factory's promises that concern several informers.

use super::*;
use crate::list_watch::ListWatchError;
use crate::recorder::Recorder;
use crate::testing::{FakeControllerSource, WatchLists};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;

fn resource(text: &str) -> GroupVersionResource {
    text.parse().expect("a resource")
}

fn factory(source: &FakeControllerSource, options: FactoryOptions) -> SharedInformerFactory {
    SharedInformerFactory::new(Arc::new(source.clone()), FactoryOptions { seed: 1, ..options })
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_type_has_the_informer_of_its_resource() {
    let factory = factory(&FakeControllerSource::default(), FactoryOptions::default());
    assert_eq!(factory.informer_for::<Deployment>().resource(), &resource("apps/v1/deployments"));
    factory.informer_for::<Pod>();
    factory.for_resource(&resource("v1/pods"));
    assert_eq!(factory.informers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn waiting_names_what_is_missing_and_why() {
    let source = FakeControllerSource::default();
    source.set_watch_lists(WatchLists::WithoutBookmark);
    let factory = factory(&source, FactoryOptions::default());
    factory.for_resource(&resource("v1/pods"));
    factory.start();
    let error = factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect_err("too soon");
    assert_eq!(error.to_string(), "not synced in time: v1/pods (syncing)");
    factory.for_resource(&resource("v1/nodes"));
    tokio::time::sleep(Duration::from_secs(120)).await;
    let error = factory.wait_for_cache_sync(Duration::ZERO).await.expect_err("never started");
    assert_eq!(error.to_string(), "not synced in time: v1/nodes (created)");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_an_informer_stops() {
    let source = FakeControllerSource::default();
    source.set_watch_lists(WatchLists::WithoutBookmark);
    let factory = Arc::new(factory(&source, FactoryOptions::default()));
    factory.for_resource(&resource("v1/pods"));
    factory.start();
    let waiting = factory.clone();
    let waiting =
        tokio::spawn(async move { waiting.wait_for_cache_sync(Duration::from_secs(9999)).await });
    settle().await;
    factory.shutdown().await;
    let error = waiting.await.expect("no panic").expect_err("it stopped");
    assert_eq!(error.to_string(), "not synced in time: v1/pods (stopped)");
}

#[tokio::test(start_paused = true)]
async fn handlers_that_choose_no_resync_period_get_their_types() {
    let source = FakeControllerSource::default();
    source.add(r#"{"metadata":{"name":"a"}}"#);
    let seconds = Duration::from_secs;
    let factory = factory(
        &source,
        FactoryOptions {
            resync_period: Some(seconds(10)),
            resync_periods: [
                (resource("v1/nodes"), seconds(20)),
                (resource("v1/events"), Duration::ZERO),
            ]
            .into(),
            ..Default::default()
        },
    );
    let watch = |name: &str| {
        let recorder = Recorder::default();
        let informer = factory.for_resource(&resource(name));
        (informer.add_event_handler(Arc::new(recorder.clone())), recorder)
    };
    let watched = ["v1/pods", "v1/nodes", "v1/events"].map(watch);
    factory.start();
    tokio::time::sleep(seconds(65)).await;
    let resyncs = watched.map(|(_registration, recorder)| {
        recorder.take().iter().filter(|line| line.ends_with("Resync")).count()
    });
    assert_eq!(resyncs, [6, 3, 0]);
}

#[tokio::test(start_paused = true)]
async fn one_type_stops_while_the_others_run_and_can_start_again() {
    let source = FakeControllerSource::default();
    source.add(r#"{"metadata":{"name":"a"}}"#);
    let factory = factory(&source, FactoryOptions::default());
    let (pods, nodes) = (resource("v1/pods"), resource("v1/nodes"));
    let (stopping, staying) = (factory.for_resource(&pods), factory.for_resource(&nodes));
    let recorder = Recorder::default();
    let _registration = staying.add_event_handler(Arc::new(recorder.clone()));
    let lease = factory.lease(&pods);
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("both sync");
    assert!(factory.stop(&pods).await);
    assert!(stopping.is_stopped() && !factory.stop(&pods).await);
    source.add(r#"{"metadata":{"name":"b"}}"#);
    settle().await;
    assert_eq!(recorder.take(), ["add a@1 Initial", "synced", "add b@2 Watch"]);
    let again = factory.lease(&pods);
    factory.start();
    assert!(again.informer().synced().await);
    assert_eq!((again.informer().indexer().count(None), stopping.indexer().count(None)), (2, 1));
    drop(lease);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(!again.informer().is_stopped(), "the old informer's lease is not the new one's");
}

#[tokio::test(start_paused = true)]
async fn shutdown_before_start_lets_nobody_wait() {
    let factory = factory(&FakeControllerSource::default(), FactoryOptions::default());
    let informer = factory.for_resource(&resource("v1/pods"));
    let registration = informer.add_event_handler(Arc::new(Recorder::default()));
    factory.shutdown().await;
    factory.shutdown().await;
    assert!(!informer.synced().await && !registration.synced().await);
    informer.stopped().await;
    let late = factory.for_resource(&resource("v1/nodes"));
    assert!(
        !late.synced().await && late.add_event_handler(Arc::new(Recorder::default())).is_removed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_type_keeps_no_other_from_syncing() {
    let source = FakeControllerSource::default();
    let message = "no".to_owned();
    for _ in 0..2 {
        source.refuse_next(ListWatchError::Forbidden { message: message.clone() });
    }
    let factory = factory(&source, FactoryOptions::default());
    let (a, b) = (factory.for_resource(&resource("v1/nodes")), factory.informer_for::<Pod>());
    factory.start();
    settle().await;
    let states = [a.state(), b.state()].map(|state| state.as_str());
    assert!(states.contains(&"forbidden") || a.has_synced() != b.has_synced(), "{states:?}");
    factory.wait_for_cache_sync(Duration::from_secs(60)).await.expect("it heals");
}

#[tokio::test(start_paused = true)]
async fn objects_are_transformed_once_and_one_that_fails_is_kept_and_reported() {
    let source = FakeControllerSource::default();
    for name in ["bad", "good"] {
        source.add(&format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"big":1}}}}"#));
    }
    let applied = Arc::new(Mutex::new(Vec::new()));
    let (note, reports) = (applied.clone(), Arc::new(Mutex::new(Vec::new())));
    let transform = Transform::new(move |object| {
        note.lock().push(object.resource_version().to_owned());
        match object.key().name() {
            "bad" => Err("no".into()),
            _ => Ok(Some(br#"{"small":1}"#.to_vec())),
        }
    });
    let noted = reports.clone();
    let report =
        move |failure: &crate::WatchFailure<'_>| noted.lock().push(failure.error.to_string());
    let untouched = Transform::new(|_| Ok(None));
    let options = FactoryOptions {
        transform: Some(transform),
        transforms: [(resource("v1/nodes"), untouched)].into(),
        watch_error_handler: Some(Arc::new(report)),
        ..Default::default()
    };
    let factory = factory(&source, options);
    let (pods, nodes) =
        (factory.informer_for::<Pod>(), factory.for_resource(&resource("v1/nodes")));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("both sync");
    source.modify(r#"{"metadata":{"name":"good"}}"#);
    settle().await;
    let small = |informer: &SharedIndexInformer, name| {
        let object = informer.indexer().get(&crate::ObjectKey::new("", name));
        object.is_some_and(|object| object.json() == br#"{"small":1}"#.as_slice())
    };
    assert_eq!(
        [small(&pods, "good"), small(&pods, "bad"), small(&nodes, "good")],
        [true, false, false]
    );
    assert_eq!(*applied.lock(), ["1", "2", "3"], "once for each object that arrived");
    assert_eq!((pods.stats().transform_failures, reports.lock().len()), (1, 1));
}
