//! What a soak's cluster goes through: pods that ask every guest for its sin, and change at a steady rate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informant_apimachinery::GroupVersionResource;
use informant_devcluster::Cluster;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const NAMESPACE: &str = "soak";

/// Fewer than make a queue, enough that one object's retries do not hold the others up.
const PODS: usize = 20;

/// Changes are made this often, as many as are due.
const TICK: Duration = Duration::from_millis(5);

/// When each resourceVersion was about to be written; none for what was there before the host.
pub type Written = Arc<Mutex<BTreeMap<u64, Option<Timestamp>>>>;

/// Makes the changes.
pub struct SoakTraffic {
    cluster: Cluster,
    pods: GroupVersionResource,
    objects: Vec<Value>,
    changes: u64,
    written: Written,
}

impl SoakTraffic {
    /// The namespace and its pods.
    pub fn new(cluster: Cluster) -> anyhow::Result<Self> {
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        cluster
            .create(&GroupVersionResource::new("", "v1", "namespaces"), None, namespace)
            .map_err(|status| anyhow::anyhow!("create the namespace: {status:?}"))?;
        let (pods, written) = (GroupVersionResource::new("", "v1", "pods"), Written::default());
        let mut traffic = Self { cluster, pods, objects: Vec::new(), changes: 0, written };
        for number in 0..PODS {
            let created = traffic
                .cluster
                .create(&traffic.pods, Some(NAMESPACE), pod(number))
                .map_err(|status| anyhow::anyhow!("create a pod: {status:?}"))?;
            traffic.written.lock().insert(created.resource_version(), None);
            traffic.objects.push(created.to_value());
        }
        Ok(traffic)
    }

    /// What was written so far.
    pub fn written(&self) -> Written {
        self.written.clone()
    }

    /// Changes at this rate until it is told to stop.
    pub fn go_on(
        mut self,
        per_second: u32,
        stop: CancellationToken,
    ) -> JoinHandle<anyhow::Result<()>> {
        tokio::spawn(async move {
            let began = Instant::now();
            let mut ticks = tokio::time::interval(TICK);
            while !stop.is_cancelled() {
                ticks.tick().await;
                let due = (began.elapsed().as_secs_f64() * f64::from(per_second)) as u64;
                for _ in self.changes..due {
                    self.step()?;
                }
            }
            Ok(())
        })
    }

    fn step(&mut self) -> anyhow::Result<()> {
        let place = self.changes as usize % self.objects.len();
        self.changes += 1;
        let object = &mut self.objects[place];
        object["metadata"]["annotations"] = json!({"number": self.changes.to_string()});
        // Whatever its version is now.
        object["metadata"]["resourceVersion"] = Value::Null;
        let now = Timestamp::now();
        // Held while it is written, so that nobody hears of a version before its time is known.
        let mut written = self.written.lock();
        let updated = self
            .cluster
            .update(&self.pods, Some(NAMESPACE), &name(place), None, object.clone())
            .map_err(|status| anyhow::anyhow!("update a pod: {status:?}"))?;
        written.insert(updated.resource_version(), Some(now));
        Ok(())
    }
}

fn name(number: usize) -> String {
    format!("sin-{number:02}")
}

fn pod(number: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name(number), "labels": {"app": "soak"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    })
}
