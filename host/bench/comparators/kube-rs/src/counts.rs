//! What the handlers have seen, and the runner's questions for it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube_runtime::watcher::Event;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Where the load server writes the time of an update, in nanoseconds since 1970.
const STAMP_ANNOTATION: &str = "bench.informant.dev/stamp";

#[derive(Default)]
pub(crate) struct Counts {
    added: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
    synced: AtomicBool,
    recording: AtomicBool,
    /// From the server's stamp to the end of the handler, in nanoseconds.
    latencies: parking_lot::Mutex<Vec<u64>>,
    /// By key, in order: the event, the object's version, a hash of the whole object.
    events: Option<parking_lot::Mutex<BTreeMap<String, Vec<String>>>>,
}

impl Counts {
    /// Keeps the events of the handler too, to compare them.
    pub fn new(compare: bool) -> Self {
        Self { events: compare.then(Default::default), ..Self::default() }
    }

    fn keep(&self, event: &str, pod: &Pod) {
        let Some(events) = &self.events else { return };
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(pod).expect("a Pod has a form").hash(&mut hasher);
        let version = pod.resource_version().unwrap_or_default();
        let key = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
        let event = format!("{event} {version} {:x}", hasher.finish());
        events.lock().entry(key).or_default().push(event);
    }

    /// The first list is complete.
    pub fn set_synced(&self) {
        self.synced.store(true, Relaxed);
    }

    /// The handler.
    pub fn count(&self, event: &Event<Pod>) {
        match event {
            Event::InitApply(pod) => {
                self.keep("added", pod);
                self.added.fetch_add(1, Relaxed);
            }
            Event::Apply(pod) => {
                self.keep("updated", pod);
                self.updated(pod);
            }
            Event::Delete(pod) => {
                self.keep("deleted", pod);
                self.deleted.fetch_add(1, Relaxed);
            }
            Event::Init | Event::InitDone => {}
        }
    }

    /// The handler of an update: reads the clock when it is done.
    pub fn updated(&self, pod: &Pod) {
        self.updated.fetch_add(1, Relaxed);
        if !self.recording.load(Relaxed) {
            return;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos() as u64);
        let stamp = pod.annotations().get(STAMP_ANNOTATION).and_then(|stamp| stamp.parse().ok());
        if let Some(stamp) = stamp {
            self.latencies.lock().push(now.saturating_sub(stamp));
        }
    }
}

/// Answers until the process ends.
pub(crate) async fn serve(listener: TcpListener, counts: Arc<Counts>) -> std::io::Result<()> {
    let router = Router::new()
        .route("/counts", get(shown))
        .route("/events", get(events))
        .route("/record", get(record))
        .route("/latencies", get(latencies))
        .with_state(counts);
    axum::serve(listener, router).await
}

async fn shown(State(counts): State<Arc<Counts>>) -> Json<Value> {
    Json(json!({
        "added": counts.added.load(Relaxed),
        "updated": counts.updated.load(Relaxed),
        "deleted": counts.deleted.load(Relaxed),
        "synced": counts.synced.load(Relaxed),
    }))
}

async fn events(State(counts): State<Arc<Counts>>) -> Json<Value> {
    Json(json!(counts.events.as_ref().map(|events| events.lock().clone())))
}

async fn record(State(counts): State<Arc<Counts>>) {
    counts.recording.store(true, Relaxed);
}

async fn latencies(State(counts): State<Arc<Counts>>) -> Json<Vec<u64>> {
    counts.recording.store(false, Relaxed);
    Json(std::mem::take(&mut *counts.latencies.lock()))
}
