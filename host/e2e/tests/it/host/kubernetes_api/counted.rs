//! The cost of many clients of Informant for the API server. A proxy between the two counts requests.

use super::api;
use crate::bench::labelled_pod;
use crate::host::bench::{LINES_DEADLINE, host_fact, pod_names};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use informant_e2e::api::client;
use informant_e2e::api::write_kubeconfig;
use informant_e2e::cluster::User;
use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

const WATCHERS: usize = 50;
const BODY_BYTES_MAX: usize = 1 << 20;

/// Forwards requests, and counts lists and watches of Pods.
struct Counter {
    client: kube::Client,
    lists: AtomicUsize,
    watches: AtomicUsize,
}

impl Counter {
    /// Serves in front of the cluster. Returns a kubeconfig for this proxy.
    async fn start(direct: &Path, dir: &Path) -> (Arc<Self>, PathBuf, AbortHandle) {
        let client = client(direct).await.expect("a client");
        let counter =
            Arc::new(Self { client, lists: AtomicUsize::new(0), watches: AtomicUsize::new(0) });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let server = format!("http://{}", listener.local_addr().expect("its address"));
        let router = Router::new().fallback(pass_on).with_state(counter.clone());
        let task =
            tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        let path = dir.join("counted.kubeconfig");
        write_kubeconfig(&path, &json!({"server": server}), &json!({})).expect("a file");
        (counter, path, task.abort_handle())
    }
}

async fn pass_on(State(counter): State<Arc<Counter>>, request: Request) -> Response {
    if request.uri().path().ends_with("/pods") {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch="));
        let count = if is_watch { &counter.watches } else { &counter.lists };
        count.fetch_add(1, Ordering::SeqCst);
    }
    let (mut parts, body) = request.into_parts();
    // The client adds the cluster's own header.
    parts.headers.remove(http::header::HOST);
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    parts.uri = path.parse().expect("a path");
    let body = axum::body::to_bytes(body, BODY_BYTES_MAX).await.expect("a body");
    let body = kube::client::Body::from(body.to_vec());
    let answer = counter.client.clone().send(http::Request::from_parts(parts, body)).await;
    match answer {
        Ok(answer) => answer.map(Body::new).into_response(),
        Err(error) => (http::StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

#[test]
fn many_watchers_cost_the_api_server_one_watch() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..5)).await;
        let dir = tempfile::tempdir().unwrap();
        let direct = bench.cluster.kubeconfig(User::Admin);
        let (counter, kubeconfig, task) = Counter::start(&direct, dir.path()).await;
        let host = Host::start(&bench.program, &kubeconfig, &bench.plugins, &[]).await.unwrap();
        host.await_ready().await.unwrap();
        let count = || [&counter.lists, &counter.watches].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(count(), [0, 0], "nobody asked for Pods yet");
        let cached = api(&host);
        cached.get("/api/v1/pods").await.expect(200);
        let begun = async || (count()[1] > 0).then_some(());
        poll::until("the informer's watch", LINES_DEADLINE, begun).await.unwrap();
        let before = count();
        let mut watches = Vec::new();
        for _ in 0..WATCHERS {
            let path =
                "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
            watches.push(cached.watch(path).await.expect("a watch"));
            cached.get("/api/v1/pods?limit=500").await.expect(200);
        }
        bench.api.create(&bench.pods(), &labelled_pod("news", &[])).await.expect(201);
        for watch in &mut watches {
            loop {
                if watch.event().await.name() == "news" {
                    break;
                }
            }
        }
        assert_eq!(count(), before, "lists and watches at the API server");
        drop(watches);
        drop(host);
        task.abort();
    });
}
