//! Two hosts of which one leads. The leader is stopped, killed, cut off or told to end at moments of chance, again and again, while a plugin writes
//! without pause; then every write is held against the Lease.
//!
//! Either cluster will do, and each host has a way to it of its own. One seed decides what fails, in which order and for how long; what that meets
//! depends on the machine.

mod failure;
mod fleet;
mod history;
mod observer;
mod oracle;
mod orders;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::cluster::{TestCluster, User};
use crate::poll;
use failure::LeaderFailures;
use fleet::Fleet;
use observer::Observer;
pub use oracle::ElectionVerdict;
use orders::Orders;

/// Where the orders are, and the Lease.
const NAMESPACE: &str = "election";

/// The plugin's name.
const PLUGIN: &str = "answers";

/// For what must happen, on a machine that is busy with something else.
const DEADLINE: Duration = Duration::from_secs(120);

/// How hosts are elected: whole seconds.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTimes {
    /// For how long others wait.
    pub lease_duration: u32,
    /// For how long a leader leads without renewing.
    pub renew_deadline: u32,
    /// Between two tries.
    pub retry_period: u32,
}

/// How much of an election.
#[derive(Clone, Debug)]
pub struct ElectionOptions {
    /// The host.
    pub program: PathBuf,
    /// The guest `answers`.
    pub guest: PathBuf,
    /// What everything follows from.
    pub seed: u64,
    /// How often the leader fails.
    pub failures: u32,
    /// Objects that are written to.
    pub orders: usize,
    /// Changes a second, each of which the plugin answers with six writes.
    pub changes_per_second: u32,
    /// Between two failures, once one host leads and the other stands by, there is a time up to this.
    pub pause_max: Duration,
    /// How hosts are elected.
    pub lease: LeaseTimes,
    /// How long a successor may take beyond what the Lease costs: its plugin starts and is told what is there.
    pub start_max: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct ElectionReport {
    /// What the oracle says.
    pub verdict: ElectionVerdict,
    /// How often each kind of failure was met.
    pub failures: BTreeMap<&'static str, u32>,
    /// Calls in which a host refused a write because it led no more.
    pub refused: usize,
    /// Changes that were made.
    pub changes: u64,
    /// For how long.
    pub lasted: Duration,
}

impl LeaseTimes {
    /// From the last sign of a leader to its successor, at most: a candidate looks at the Lease after up to 2.2 retry periods, waits for its duration from
    /// what it saw then, and looks again after as long.
    pub fn takeover_max(&self) -> Duration {
        let look = Duration::from_secs(self.retry_period.into()).mul_f64(2.2);
        Duration::from_secs(self.lease_duration.into()) + look * 2
    }
}

/// Lets it happen, and looks at what was written.
pub async fn run(options: &ElectionOptions) -> anyhow::Result<ElectionReport> {
    let cluster = TestCluster::start().await?;
    let api = cluster.api(User::Admin).await?;
    let orders = Orders::make(api.clone(), options.orders, options.seed).await?;
    let observer = Observer::start(&api);
    let mut fleet = Fleet::start(options, &cluster.kubeconfig(User::Admin)).await?;

    let (began, stop) = (Instant::now(), CancellationToken::new());
    let load = tokio::spawn(orders.go_on(options.changes_per_second, stop.clone()));
    let failed = fail(options, &mut fleet).await;
    stop.cancel();
    let mut orders = load.await??;
    failed?;
    let lasted = began.elapsed();

    // What is answered from here on meets no failure any more, so the last word on each order has to be right.
    fleet.heal().await?;
    let last = orders.change_all().await?;
    let mut complaints = observer.await_answers(&last).await;
    let entries = observer.end().await?;
    complaints.extend(fleet.end()?);
    let bound = options.lease.takeover_max() + options.start_max;
    let mut verdict = oracle::check(&entries, bound);
    verdict.complaints.extend(complaints);
    let Fleet { failures, refused, .. } = fleet;
    Ok(ElectionReport { verdict, failures, refused, changes: orders.changes(), lasted })
}

/// One failure after the other, each of whoever leads then.
async fn fail(options: &ElectionOptions, fleet: &mut Fleet) -> anyhow::Result<()> {
    let mut random = fastrand::Rng::with_seed(options.seed);
    let lease = Duration::from_secs(options.lease.lease_duration.into());
    let failures = LeaderFailures::new(random.fork(), lease, options.lease.takeover_max());
    for failure in failures.take(options.failures as usize) {
        let leader = fleet.heal().await?;
        poll::pause(options.pause_max.mul_f64(random.f64())).await;
        fleet.fail(leader, failure).await?;
    }
    Ok(())
}
