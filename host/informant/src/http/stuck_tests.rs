//! What `/livez` says of tasks that are stuck, each of them in fact, and of a cluster that is away. An actor that is stuck is in the runtime's tests.

use super::heartbeat::{Heartbeat, pulses};
use super::open::live;
use http_body_util::BodyExt as _;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{
    Cause, FactoryOptions, FinalState, HandlerOptions, ListWatchError, Object, Pulse,
    ResourceEventHandler, SharedInformerFactory,
};
use informant_runtime::{PluginHost, PluginHostOptions, Plugins};
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Seconds: longer than a task may make no step.
const LONG: usize = 125;

/// A plugin host without plugins, which is looked at and runs as far as its future is polled.
struct Host {
    plugins: Plugins,
    shutdown: CancellationToken,
    host: PluginHost,
    _directory: tempfile::TempDir,
}

fn plugin_host(informers: &Arc<SharedInformerFactory>) -> Host {
    let directory = tempfile::tempdir().expect("a directory");
    let host = PluginHost::new(PluginHostOptions::alone(
        vec![directory.path().to_owned()],
        informers.clone(),
    ));
    let host = host.expect("it can be made");
    let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
    Host { plugins, shutdown, host, _directory: directory }
}

fn factory(source: &FakeControllerSource) -> Arc<SharedInformerFactory> {
    Arc::new(SharedInformerFactory::new(Arc::new(source.clone()), FactoryOptions::default()))
}

/// Lets the clock go on: by itself it does not while a thread watches a directory.
async fn pass(seconds: usize) {
    for _ in 0..seconds {
        tokio::time::advance(Duration::from_secs(1)).await;
        // Whoever was woken by that has its turn.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

/// The answer of `/livez` after the host has looked at its tasks for so many seconds.
async fn livez_after(seconds: usize, look: impl Fn() -> Vec<(String, Pulse)>) -> (u16, String) {
    // Threads of plugins beat by the real clock, and this test's may jump.
    let look = || look().into_iter().filter(|(name, _)| !name.starts_with("the thread ")).collect();
    let heartbeat = Heartbeat::default();
    tokio::select! {
        biased;
        () = heartbeat.beat() => unreachable!("it never ends"),
        () = heartbeat.look(look) => unreachable!("it never ends"),
        () = pass(seconds) => {}
    }
    let answer = live(&heartbeat, None);
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("it is there").to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[track_caller]
fn check_stuck((status, body): (u16, String), task: &str) {
    let line = format!("[-]tasks {task} has work, and has not made a step for 12");
    assert!(status == 503 && body.contains(&line), "{status} {body}");
}

/// Blocks the informer's task at the first object until it is let go.
struct Blocking {
    begun: mpsc::Sender<()>,
    let_go: Mutex<mpsc::Receiver<()>>,
}

impl ResourceEventHandler for Blocking {
    fn on_add(&self, _: &Object, _: Cause) {
        _ = self.begun.send(());
        _ = self.let_go.lock().recv();
    }
    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}
    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {}
}

#[tokio::test(start_paused = true)]
async fn an_informer_whose_task_is_stuck_fails_the_probe_until_it_goes_on() {
    // Its task blocks a thread, which is none of the probe's.
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(2).enable_all().build().expect("a runtime");
    let source = FakeControllerSource::default();
    source.add(r#"{"metadata":{"name":"a","namespace":"b"}}"#);
    let factory = factory(&source);
    let plugins = plugin_host(&factory).plugins;
    let ((begun, has_begun), (go, let_go)) = (mpsc::channel(), mpsc::channel());
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    let handler = Arc::new(Blocking { begun, let_go: Mutex::new(let_go) });
    let _registration = informer.add_inline_handler(handler, HandlerOptions::default());
    {
        let _on_threads = threads.enter();
        factory.start();
    }
    has_begun.recv().expect("it comes to the object");
    let look = || pulses(&factory, &plugins);
    check_stuck(livez_after(LONG, look).await, "the informer of v1/pods");
    drop(go);
    while informer.pulse().has_work {
        std::thread::yield_now();
    }
    assert_eq!(livez_after(LONG, look).await, (200, "ok\n".to_owned()));
    threads.shutdown_background();
}

#[tokio::test(start_paused = true)]
async fn a_plugin_host_that_is_stuck_fails_the_probe_until_it_goes_on() {
    let factory = factory(&FakeControllerSource::default());
    let Host { plugins, shutdown, host, _directory } = plugin_host(&factory);
    let look = || pulses(&factory, &plugins);
    let mut run = pin!(host.run(shutdown.clone()));
    let runs = async |run: &mut _| {
        tokio::select! {
            () = run => unreachable!("nobody stops it"),
            answer = livez_after(LONG, look) => answer,
        }
    };
    assert_eq!(runs(&mut run).await, (200, "ok\n".to_owned()));
    check_stuck(livez_after(LONG, look).await, "the plugin host");
    assert_eq!(runs(&mut run).await, (200, "ok\n".to_owned()));
    shutdown.cancel();
    run.await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_away_fails_no_probe_of_life() {
    let source = FakeControllerSource::default();
    let factory = factory(&source);
    let Host { plugins, shutdown, host, _directory } = plugin_host(&factory);
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("it syncs");
    for _ in 0..10_000 {
        source.refuse_next(ListWatchError::Unreachable { message: "connection refused".into() });
    }
    source.end_watches(None);
    let look = || pulses(&factory, &plugins);
    let host = tokio::spawn(host.run(shutdown.clone()));
    let answer = livez_after(10 * LONG, look).await;
    assert!(informer.state().message().is_some(), "it is away: {:?}", informer.state());
    assert_eq!(answer, (200, "ok\n".to_owned()));
    shutdown.cancel();
    host.await.expect("it ends well");
    factory.shutdown().await;
}
