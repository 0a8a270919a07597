//! Pods that are created, changed and deleted at a steady pace, on a thread of its own, and when the host logged each.

use crate::api::{Api, Patch, Reply};
use crate::host::{Host, Line};
use crate::printed::told_line;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two changes. They are made when they are due, whatever the host does with those before.
const EVERY: Duration = Duration::from_millis(20);
/// No fact has objects here. A cluster of which several hosts are measured has it once.
const NAMESPACE: &str = "promises";
/// An API server may first mark a pod that is to be deleted: an update that nobody here has made.
const MARKED: &str = ": being deleted";
/// In the order in which they come to each pod.
const KINDS: [&str; 3] = ["added", "updated", "deleted"];

/// Makes the changes for as long as there is this.
pub(super) struct Changes {
    shared: Arc<ChangesState>,
    /// Tells pods of one measurement from those of others.
    prefix: String,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

#[derive(Default)]
struct ChangesState {
    is_over: AtomicBool,
    /// When each was about to be sent.
    made: Mutex<Vec<Instant>>,
    failure: Mutex<Option<String>>,
}

impl Changes {
    pub(super) fn begin(kubeconfig: PathBuf) -> Self {
        let shared = Arc::<ChangesState>::default();
        let prefix = format!("p{:08x}", fastrand::u32(..));
        let (of, name) = (shared.clone(), prefix.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let made = runtime.block_on(of.make(kubeconfig, &name));
            if let Err(error) = &made {
                *of.failure.lock() = Some(format!("{error:#}"));
            }
            made
        });
        Self { shared, prefix, thread: Some(thread) }
    }

    /// How many were made.
    pub(super) fn made(&self) -> usize {
        self.shared.made.lock().len()
    }

    /// Why no more are made, if none are.
    pub(super) fn failure(&self) -> Option<anyhow::Error> {
        self.shared.failure.lock().clone().map(anyhow::Error::msg)
    }

    /// Makes no more.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|_| anyhow::anyhow!("the thread that changes pods has panicked"))?
    }

    /// Whether the line logs the change with this number.
    pub(super) fn is_logged_by(&self, number: usize, line: &Line) -> bool {
        change_of(line) == Some((KINDS[number % KINDS.len()], &name(&self.prefix, number)))
    }

    /// How long after it was sent the host logged each change, up to the first one that it has not logged. An error where it logged one
    /// twice or in another order.
    pub(super) fn logged(&self, host: &Host) -> anyhow::Result<Vec<Duration>> {
        let mut logged: BTreeMap<String, Vec<(String, Instant)>> = BTreeMap::new();
        for line in host.lines_of("event-printer") {
            if let Some((kind, name)) = change_of(&line) {
                logged.entry(name.to_owned()).or_default().push((kind.to_owned(), line.at));
            }
        }
        let made = self.shared.made.lock().clone();
        let mut latencies = Vec::with_capacity(made.len());
        for (number, sent) in made.into_iter().enumerate() {
            let name = name(&self.prefix, number);
            let of_pod = logged.get(&name).map(Vec::as_slice).unwrap_or_default();
            let kinds = of_pod.iter().map(|(kind, _)| kind.as_str());
            let is_in_order = kinds.eq(KINDS.into_iter().take(of_pod.len()));
            anyhow::ensure!(is_in_order, "{name} was logged as {of_pod:?}");
            let Some((_, at)) = of_pod.get(number % KINDS.len()) else { break };
            latencies.push(at.saturating_duration_since(sent));
        }
        Ok(latencies)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl ChangesState {
    async fn make(&self, kubeconfig: PathBuf, prefix: &str) -> anyhow::Result<()> {
        let api = Api::from_kubeconfig(&kubeconfig).await?;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let created = api.create("/api/v1/namespaces", &namespace).await.status.as_u16();
        anyhow::ensure!([201, 409].contains(&created), "create the namespace: {created}");
        let mut ticks = tokio::time::interval(EVERY);
        for number in 0.. {
            ticks.tick().await;
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            self.made.lock().push(Instant::now());
            let answer = change(&api, &name(prefix, number), KINDS[number % KINDS.len()]).await;
            let status = answer.status;
            anyhow::ensure!(status.is_success(), "change {number}: {status}: {:?}", answer.body);
        }
        Ok(())
    }
}

async fn change(api: &Api, name: &str, kind: &str) -> Reply {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let path = format!("{pods}/{name}");
    match kind {
        "added" => api.create(&pods, &pod(name)).await,
        "updated" => {
            let patch = json!({"metadata": {"labels": {"changed": "yes"}}});
            api.patch(&path, Patch::Merge, &patch).await
        }
        _ => api.delete_with(&path, &json!({"gracePeriodSeconds": 0})).await,
    }
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    })
}

/// The kind and the pod of a change that was made here.
fn change_of(line: &Line) -> Option<(&str, &str)> {
    let message = Some(line.message()).filter(|message| !message.ends_with(MARKED));
    told_line(message?, NAMESPACE)
}

/// The pod of the change with this number.
fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}-{:05}", number / KINDS.len())
}
