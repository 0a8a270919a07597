//! Who watches an election: two watches that go to the cluster directly, whatever the hosts' ways are like.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::api::{Api, resource_version};
use crate::election::history::{Lease, WatchedChange, WatchedKind, WriteAnswer};
use crate::election::{DEADLINE, NAMESPACE, orders};
use crate::poll;

/// A watch that says nothing for so long is opened anew, in case its end was not heard.
const QUIET_MAX: Duration = Duration::from_secs(5);

/// What is seen, by both watches.
type Seen = Arc<Mutex<Vec<WatchedChange>>>;

/// Watches until it is told to end.
pub struct Observer {
    seen: Seen,
    watches: [JoinHandle<anyhow::Result<()>>; 2],
    stop: CancellationToken,
}

impl Observer {
    /// From now on.
    pub fn start(api: &Api) -> Self {
        let (seen, stop, began) = (Seen::default(), CancellationToken::new(), Instant::now());
        let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
        let mut answers = HashMap::new();
        let watch = |path: String| Watching {
            api: api.clone(),
            path,
            began,
            seen: seen.clone(),
            stop: stop.clone(),
        };
        let watches = [
            tokio::spawn(watch(leases).go_on(|object| Some(WatchedKind::Lease(Lease::of(object))))),
            tokio::spawn(watch(orders::collection()).go_on(move |object| {
                let answer = WriteAnswer::of(object)?;
                let before = answers.insert(answer.order.clone(), answer.clone());
                (before.as_ref() != Some(&answer)).then_some(WatchedKind::Answer(answer))
            })),
        ];
        Self { seen, watches, stop }
    }

    /// Waits until each order has the answer to its last number, and the Lease was written since: then all that was written before was seen. What
    /// is still missing after a long while is complained of.
    pub async fn await_answers(&self, last: &BTreeMap<String, u64>) -> Vec<String> {
        let missing = || {
            let seen = self.seen.lock();
            let mut newest = BTreeMap::new();
            let (mut answered, mut renewed) = (0, 0);
            for entry in &*seen {
                match &entry.what {
                    WatchedKind::Lease(_) => renewed = entry.version,
                    WatchedKind::Answer(answer) => {
                        answered = entry.version;
                        newest.insert(answer.order.clone(), answer.number);
                    }
                }
            }
            let mut missing: Vec<String> = Vec::new();
            for (order, number) in
                last.iter().filter(|(order, number)| newest.get(*order) != Some(number))
            {
                let found = newest.get(order);
                missing
                    .push(format!("{order} has the number {number} and the answer to {found:?}"));
            }
            if renewed < answered {
                missing.push("the Lease was not renewed after the last answer".to_owned());
            }
            missing
        };
        let all = async || missing().is_empty().then_some(());
        match poll::until("every order to be answered", DEADLINE, all).await {
            Ok(()) => Vec::new(),
            Err(_) => missing(),
        }
    }

    /// Everything that was seen.
    pub async fn end(self) -> anyhow::Result<Vec<WatchedChange>> {
        self.stop.cancel();
        for watch in self.watches {
            watch.await.context("a watch failed")??;
        }
        Ok(std::mem::take(&mut *self.seen.lock()))
    }
}

/// One resource's watch.
struct Watching {
    api: Api,
    path: String,
    began: Instant,
    seen: Seen,
    stop: CancellationToken,
}

impl Watching {
    async fn go_on(
        self,
        mut read: impl FnMut(&Value) -> Option<WatchedKind>,
    ) -> anyhow::Result<()> {
        let list = self.api.get(&self.path).await.expect(200);
        let mut version = resource_version(&list);
        while !self.stop.is_cancelled() {
            let path = format!("{}?watch=true&resourceVersion={version}", self.path);
            let watch = self.api.watch(&path).await;
            let mut watch = watch.map_err(|reply| anyhow::anyhow!("{path}: {}", reply.status))?;
            while let Some(event) = self.next(&mut watch).await {
                anyhow::ensure!(event.kind != "ERROR", "{path}: {}", event.object);
                version = event.resource_version();
                let at = self.began.elapsed();
                let changed = matches!(event.kind.as_str(), "ADDED" | "MODIFIED");
                if let Some(what) = changed.then(|| read(&event.object)).flatten() {
                    self.seen.lock().push(WatchedChange { version, at, what });
                }
            }
        }
        Ok(())
    }

    /// None when the watch ended, was quiet for long, or nobody wants to know any more.
    async fn next(&self, watch: &mut crate::api::Watch) -> Option<crate::api::WatchEvent> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            event = watch.next_within(QUIET_MAX) => event,
        }
    }
}
