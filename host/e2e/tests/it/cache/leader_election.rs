//! Leader election with real Leases: two candidates, and a leader that is killed, cut off or resigns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informant_cache::ApiServer;
use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector, Leadership};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cache::bench::{CacheBench, DEADLINE, cache_fact};
use informant_e2e::api::{self, Api};
use informant_e2e::cluster::User;
use informant_e2e::poll;

/// The extra time that a busy machine needs beyond the times of the protocol.
const SLACK: Duration = Duration::from_secs(15);

const LEASE: &str = "the-lease";

/// A process that takes part in the election.
struct Candidate {
    leadership: Leadership,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Candidate {
    fn start(api_server: &ApiServer, namespace: &str, identity: &str, lease: u64) -> Self {
        let config = LeaderElectionConfig {
            lease_duration: Duration::from_secs(lease),
            renew_deadline: Duration::from_secs(lease * 2 / 3),
            retry_period: Duration::from_secs(1),
            ..LeaderElectionConfig::new(identity)
        };
        let lock = Arc::new(api_server.lease_lock(namespace, LEASE));
        let elector = LeaderElector::new(lock, config).expect("these timings can work");
        let leadership = elector.leadership();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(elector.run(async { drop(stopped.await) }));
        Self { leadership, stop, task }
    }

    async fn await_leading(&self, deadline: Duration) {
        let leads = async || self.leadership.is_leader().then_some(());
        poll::until("the candidate to lead", deadline, leads).await.unwrap();
    }
}

/// Starts two candidates. The first connects through the proxy and leads; the second connects directly.
async fn two_candidates(cache: &CacheBench, direct: &ApiServer, lease: u64) -> [Candidate; 2] {
    let by_proxy = cache.api_server(User::Admin).await;
    let first = Candidate::start(&by_proxy, &cache.namespace, "first", lease);
    first.await_leading(DEADLINE).await;
    let second = Candidate::start(direct, &cache.namespace, "second", lease);
    let sees = async || (second.leadership.leader().as_deref() == Some("first")).then_some(());
    poll::until("the second to see the first lead", DEADLINE, sees).await.unwrap();
    assert!(!second.leadership.is_leader());
    [first, second]
}

/// The holder and the number of transitions in the Lease.
async fn holder(api: &Api, namespace: &str) -> (String, u64) {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{LEASE}");
    let spec = api.get(&path).await.expect(200)["spec"].take();
    let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
    (holder, spec["leaseTransitions"].as_u64().unwrap_or_default())
}

/// A client that does not use the proxy.
async fn direct(kubeconfig: &std::path::Path) -> ApiServer {
    ApiServer::new(api::client(kubeconfig).await.expect("a client"))
}

#[test]
fn another_leads_within_the_lease_when_the_leader_is_killed() {
    cache_fact(async |bench, cache| {
        let [first, second] = two_candidates(cache, &direct(&bench.kubeconfigs[0]).await, 6).await;
        first.task.abort();
        let begin = Instant::now();
        // The second candidate sees a renewal at most one try later. Then the lease must expire, and another try
        // follows.
        second.await_leading(Duration::from_secs(6 + 3 + 3) + SLACK).await;
        assert!(!first.leadership.is_leader(), "two lead after {:?}", begin.elapsed());
        assert_eq!(holder(&bench.api, &bench.namespace).await, ("second".to_owned(), 1));
        drop(second.stop);
        second.task.await.unwrap();
    });
}

#[test]
fn leader_that_is_cut_off_stops_leading_before_another_begins() {
    cache_fact(async |bench, cache| {
        let [first, second] = two_candidates(cache, &direct(&bench.kubeconfigs[0]).await, 6).await;
        cache.proxy.close();
        let leads = async || {
            let others = second.leadership.is_leader();
            // In this order: if the first candidate led now, it also led when the second was checked.
            assert!(!(others && first.leadership.is_leader()), "two lead");
            others.then_some(())
        };
        poll::measured("the second to lead", Duration::from_secs(12) + SLACK, leads).await.unwrap();
        cache.proxy.open();
        let sees = async || (first.leadership.leader().as_deref() == Some("second")).then_some(());
        poll::until("the first to see who leads", DEADLINE, sees).await.unwrap();
        assert!(!first.leadership.is_leader() && second.leadership.is_leader());
        for candidate in [first, second] {
            drop(candidate.stop);
            candidate.task.await.unwrap();
        }
    });
}

#[test]
fn released_lease_is_taken_without_waiting_for_its_end() {
    const LONG: u64 = 600;
    cache_fact(async |bench, cache| {
        let api_server = direct(&bench.kubeconfigs[0]).await;
        let [first, second] = two_candidates(cache, &api_server, LONG).await;
        drop(first.stop);
        first.task.await.unwrap();
        assert!(!first.leadership.is_leader());
        second.await_leading(Duration::from_secs(3) + SLACK).await;
        assert_eq!(holder(&bench.api, &bench.namespace).await, ("second".to_owned(), 1));
        drop(second.stop);
        second.task.await.unwrap();
        assert_eq!(holder(&bench.api, &bench.namespace).await.0, "", "given back at the end");
    });
}
