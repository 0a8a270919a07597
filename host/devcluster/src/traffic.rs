//! A believable small cluster that lives: minimal controllers, so that deployments get pods, and things that
//! happen in the background.

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
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Cluster;
use binding::Binding;
use operation::Operation;
use simulation::Simulation;

/// How often the cluster is looked at. Containers start within fractions of a second; nothing needs more.
const TICK: Duration = Duration::from_millis(50);

/// Time of the cluster that has passed when the traffic starts: by then the pods of the installed applications run, and
/// clients find a cluster at work.
const HEAD_START_MS: i64 = 3_000;

/// Requests carried out under one lock of the store, so that clients get a word in between.
const REQUESTS_AT_ONCE: usize = 32;

/// What kind of traffic there is to be.
#[derive(Clone, Debug)]
pub struct TrafficOptions {
    /// Equal seeds make the same things happen, as far as nobody else writes.
    pub seed: u64,
    /// How many changes of pods, ReplicaSets, Deployments and ConfigMaps a second the background aims at, those
    /// included that the controllers and other clients make. From 0 to [`TrafficOptions::RATE_MAX`].
    pub events_per_second: f64,
    /// Whether Deployments and ReplicaSets get pods, pods get nodes, and nodes live. Nodes are made if this is set.
    pub controllers: bool,
    /// Whether applications are installed and things happen to them. Needs the controllers to make sense.
    pub background: bool,
    /// Whether controllers write Kubernetes Events about what they do.
    pub kubernetes_events: bool,
}

impl TrafficOptions {
    /// The highest rate that is taken; higher ones are lowered to it.
    pub const RATE_MAX: f64 = 1_000.0;
}

impl Default for TrafficOptions {
    /// Controllers alone: a cluster in which nothing happens but what its users do.
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

/// Running traffic. Dropping it stops it soon; [`Self::shutdown`] also waits for that.
pub struct Traffic {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Traffic {
    /// Starts traffic in a cluster of this process. Objects that the options name are made if they are not there; at the
    /// return their controllers have done the first work.
    pub async fn start(cluster: Cluster, options: TrafficOptions) -> Self {
        let mut work =
            Work { cluster, simulation: Simulation::new(options), binding: Binding::default() };
        work.install(Timestamp::now()).await;
        let stop = CancellationToken::new();
        let task = tokio::spawn(work.run(stop.clone()));
        Self { stop, task: Some(task) }
    }

    /// Stops; the cluster stays as it is then.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            // A join error means that the task was aborted or panicked: it is over either way.
            let _ = task.await;
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
