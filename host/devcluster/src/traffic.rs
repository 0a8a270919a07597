//! A small cluster with believable activity: minimal controllers, so that deployments get pods, and background
//! changes.

mod apps;
mod background;
mod binding;
mod conditions;
mod daemon_set;
mod deployment;
mod edit;
mod events;
mod fleet;
mod given;
mod job;
mod kubelet;
mod managed_fields;
mod node;
mod operation;
mod owner;
mod pods;
mod replica_set;
mod scheduler;
mod simulation;
mod stateful_set;
mod template_hash;
mod time;
mod world;

use std::time::Duration;

use jiff::Timestamp;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::Cluster;
use binding::Binding;
use operation::Operation;
use simulation::Simulation;

/// The time between two steps. Containers start within fractions of a second, so shorter steps are not needed.
const TICK: Duration = Duration::from_millis(50);

/// The cluster time that has passed when the traffic starts. By then the pods of the installed applications run, and
/// clients find a working cluster.
const HEAD_START_MS: i64 = 3_000;

/// The number of requests under one lock of the store. Clients get the lock in between.
const REQUESTS_AT_ONCE: usize = 32;

/// The options of the traffic.
#[derive(Clone, Debug)]
pub struct TrafficOptions {
    /// Equal seeds cause the same changes, as long as no other client writes.
    pub seed: u64,
    /// The number of changes a second of pods, ReplicaSets, Deployments and ConfigMaps that the background aims at.
    /// Changes of the controllers and of other clients count, too. From 0 to [`TrafficOptions::RATE_MAX`].
    pub events_per_second: f64,
    /// Whether controllers run: Deployments and ReplicaSets get pods, pods get nodes, and nodes report. Nodes are
    /// created if this is set.
    pub controllers: bool,
    /// Whether applications are installed and changed. Useful only with the controllers.
    pub background: bool,
    /// Whether controllers write Kubernetes Events about their actions.
    pub kubernetes_events: bool,
}

impl TrafficOptions {
    /// The highest rate. Higher rates are lowered to it.
    pub const RATE_MAX: f64 = 1_000.0;
}

impl Default for TrafficOptions {
    /// Controllers alone: only users cause changes in this cluster.
    fn default() -> Self {
        Self {
            seed: 1,
            events_per_second: 5.0,
            controllers: true,
            background: false,
            kubernetes_events: true,
        }
    }
}

/// Running traffic. Dropping it stops it soon; [`Self::shutdown`] also waits for the end.
pub struct Traffic {
    stop: CancellationToken,
    /// Cancelled when the task has ended, however it did.
    ended: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// The traffic ended before it was stopped.
#[derive(Debug, thiserror::Error)]
#[error("the controllers of the embedded cluster failed: {0}; please report this")]
pub struct TrafficFailure(JoinError);

impl Traffic {
    /// Starts traffic in a cluster of this process. Creates the objects that the options name if they are missing.
    /// When this returns, their controllers have done their first work.
    pub async fn start(cluster: Cluster, options: TrafficOptions) -> Self {
        let mut work =
            Work { cluster, simulation: Simulation::new(options), binding: Binding::default() };
        work.install(Timestamp::now()).await;
        let stop = CancellationToken::new();
        let until = stop.clone();
        Self::running(stop, work.run(until))
    }

    fn running(stop: CancellationToken, work: impl Future<Output = ()> + Send + 'static) -> Self {
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            let _ends = ends;
            work.await;
        });
        Self { stop, ended, task: Some(task) }
    }

    /// Waits for its end, which comes before [`Self::shutdown`] only after a failure.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Stops the traffic. The cluster keeps its state.
    ///
    /// # Errors
    /// The traffic failed before, or while it was stopped.
    pub async fn shutdown(mut self) -> Result<(), TrafficFailure> {
        self.stop.cancel();
        match self.task.take() {
            Some(task) => task.await.map_err(TrafficFailure),
            None => Ok(()),
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The simulation and the cluster that it changes.
struct Work {
    cluster: Cluster,
    simulation: Simulation,
    binding: Binding,
}

impl Work {
    async fn install(&mut self, end: Timestamp) {
        let mut now = time::later(end, -HEAD_START_MS);
        let operations = self.simulation.install(now);
        self.carry_out(&operations, now).await;
        while now < end {
            self.step(now).await;
            now = time::later(now, TICK.as_millis() as i64);
        }
    }

    async fn run(mut self, stop: CancellationToken) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            self.step(Timestamp::now()).await;
        }
    }

    async fn step(&mut self, now: Timestamp) {
        let Self { cluster, simulation, binding } = self;
        cluster.read(|store| binding.pump(store, simulation, now));
        let operations = self.simulation.step(now);
        self.carry_out(&operations, now).await;
    }

    async fn carry_out(&mut self, operations: &[Operation], now: Timestamp) {
        for some in operations.chunks(REQUESTS_AT_ONCE) {
            self.cluster.write(|store| Binding::apply(store, &mut self.simulation, some, now));
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests;
