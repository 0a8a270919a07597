//! A host that takes part in an election.

use super::{Bench, handled, hello, is, pod};
use informant_cache::leader_election::testing::FakeLock;
use informant_cache::leader_election::{
    LeaderElectionConfig, LeaderElectionRecord, LeaderElector, Leadership,
};
use informant_runtime::configuration::Configurations;
use informant_runtime::{Limits, PluginStatus};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

/// An elector that gives up soon, and its lock.
pub(super) fn elector() -> (LeaderElector, Arc<FakeLock>) {
    let lock = Arc::new(FakeLock::default());
    let config = LeaderElectionConfig {
        lease_duration: Duration::from_secs(2),
        renew_deadline: Duration::from_millis(1_300),
        retry_period: Duration::from_secs(1),
        ..LeaderElectionConfig::new("a")
    };
    (LeaderElector::new(lock.clone(), config).expect("it can work"), lock)
}

fn start(leadership: Leadership) -> Bench {
    let configurations = Configurations::with_limits(&Limits::default());
    Bench::start_led(None, configurations, Some(leadership))
}

fn reason(status: Option<&PluginStatus>) -> String {
    let reason = status.and_then(|status| status.state.reason());
    reason.unwrap_or_default().to_owned()
}

/// It waits, and is told of nothing.
fn stands_by(status: Option<&PluginStatus>) -> bool {
    is(status, "waiting") && reason(status).starts_with("version 0.1.0 is ready and on standby: ")
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_get_ready_on_standby_and_run_when_the_host_leads() {
    let (elector, _lock) = elector();
    let bench = start(elector.leadership());
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", stands_by).await;
    assert_eq!(
        reason(bench.status("hello").as_ref()),
        "version 0.1.0 is ready and on standby: no host leads yet"
    );
    // What it will watch is there before it runs.
    bench.informers.wait_for_cache_sync(super::DEADLINE).await.expect("the pods are listed");
    assert_eq!(bench.informers.informers().len(), 1);

    // One that cannot run does not take the place of one that can.
    bench.drop_in("hello.wasm", b"no plugin");
    let refused = |status: Option<&PluginStatus>| {
        let json = status.map(PluginStatus::to_json).unwrap_or_default();
        json["lastLoad"]["result"] == "failed" && stands_by(status)
    };
    bench.until("hello", refused).await;

    let electing = tokio::spawn(elector.run(pending()));
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) == 2).await;
    electing.abort();
    bench.stop().await;
}

/// Invariant 20.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_by_a_host_that_has_lost_the_lead() {
    let (elector, lock) = elector();
    let leadership = elector.leadership();
    let bench = start(leadership.clone());
    bench.drop_in("hello.wasm", &hello());
    let electing = tokio::spawn(elector.run(pending()));
    bench.until("hello", |status| is(status, "running")).await;
    bench.source.add(&pod("a"));
    bench.until("hello", |status| handled(status) == 1).await;

    // As if somebody had taken the lease.
    let record = lock.record().expect("it is held");
    lock.put(LeaderElectionRecord { holder_identity: "b".into(), ..record });
    leadership.lost().await;
    bench.source.add(&pod("b"));
    let waits = |status: Option<&PluginStatus>| status.is_some_and(|it| it.queue.depth == 1);
    bench.until("hello", waits).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 1);
    electing.abort();
    bench.stop().await;
}
