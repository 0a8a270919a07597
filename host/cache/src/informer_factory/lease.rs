//! The users of an informer, and its end without any.

use super::{FactoryEntry, Running};
use crate::shared_informer::{AskedScope, SharedIndexInformer};
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Keeps an informer running. Dropping it gives it back.
pub struct InformerLease {
    informer: SharedIndexInformer,
    _asked: AskedScope,
    /// Weak: leases do not keep the factory's tasks alive.
    running: Weak<Mutex<Running>>,
    idle: Arc<Notify>,
}

impl InformerLease {
    pub(super) fn new(
        informer: SharedIndexInformer,
        asked: AskedScope,
        running: Weak<Mutex<Running>>,
        idle: Arc<Notify>,
    ) -> Self {
        Self { informer, _asked: asked, running, idle }
    }

    /// The informer. A clone of it does not keep it running.
    pub fn informer(&self) -> &SharedIndexInformer {
        &self.informer
    }
}

impl Drop for InformerLease {
    fn drop(&mut self) {
        let Some(running) = self.running.upgrade() else { return };
        let mut running = running.lock();
        let entry = running.informers.get_mut(self.informer.resource());
        // Another informer of the same resource, made since this one was stopped, does not belong to this lease.
        let Some(entry) = entry.filter(|entry| entry.informer.is(&self.informer)) else { return };
        entry.leases = entry.leases.saturating_sub(1);
        if entry.leases == 0 {
            entry.idle_since = Some(Instant::now());
            self.idle.notify_one();
        }
    }
}

impl FactoryEntry {
    /// When to stop it, if ever.
    fn due(&self, linger: Duration) -> Option<Instant> {
        self.idle_since
            .filter(|_| self.pinned.is_none() && self.leases == 0)
            .and_then(|since| since.checked_add(linger))
    }
}

/// Stops informers whose time has come, as long as the factory exists.
pub(super) async fn stop_idle(running: Weak<Mutex<Running>>, idle: Arc<Notify>, linger: Duration) {
    loop {
        let Some(next) = running.upgrade().map(|running| sweep(&mut running.lock(), linger)) else {
            return;
        };
        let due = async {
            match next {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // In this order: either way all are checked.
            biased;
            () = due => {}
            () = idle.notified() => {}
        }
    }
}

/// Stops due informers; returns when the next is due.
fn sweep(running: &mut Running, linger: Duration) -> Option<Instant> {
    let now = Instant::now();
    let due: Vec<GroupVersionResource> = running
        .informers
        .iter()
        .filter(|(_, entry)| entry.due(linger).is_some_and(|due| due <= now))
        .map(|(resource, _)| resource.clone())
        .collect();
    for resource in due {
        if let Some(entry) = running.informers.remove(&resource) {
            tracing::info!(%resource, "informer is not needed any more and stops");
            entry.stop.cancel();
            if entry.informer.mark_started() {
                entry.informer.never_run();
            }
        }
    }
    // Joins ended tasks; the others are joined at shutdown.
    while let Some(ended) = running.tasks.try_join_next() {
        if let Err(error) = ended {
            tracing::error!(%error, "informer's task failed");
        }
    }
    running.informers.values().filter_map(|entry| entry.due(linger)).min()
}

#[cfg(test)]
mod tests {
    use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
    use crate::informer_state::InformerState;
    use crate::testing::FakeControllerSource;
    use informant_apimachinery::GroupVersionResource;
    use std::sync::Arc;
    use std::time::Duration;

    const LINGER: Duration = Duration::from_secs(60);

    fn pods() -> GroupVersionResource {
        "v1/pods".parse().expect("a resource")
    }

    fn factory(source: &FakeControllerSource) -> SharedInformerFactory {
        let options = FactoryOptions { linger: LINGER, ..Default::default() };
        SharedInformerFactory::new(Arc::new(source.clone()), options)
    }

    async fn seconds(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_lease_gone_stops_the_informer_after_the_linger() {
        let source = FakeControllerSource::default();
        source.add(r#"{"metadata":{"name":"a"}}"#);
        let factory = factory(&source);
        let (one, two) = (factory.lease(&pods()), factory.lease(&pods()));
        factory.start();
        let informer = one.informer().clone();
        seconds(1).await;
        drop(one);
        seconds(70).await;
        assert_eq!(informer.state(), InformerState::Synced, "another lease is kept");
        drop(two);
        seconds(50).await;
        assert_eq!(informer.state(), InformerState::Synced, "it lingers");
        let back = factory.lease(&pods());
        seconds(100).await;
        assert_eq!(informer.state(), InformerState::Synced, "somebody came back");
        drop(back);
        seconds(61).await;
        assert_eq!(informer.state(), InformerState::Stopped { message: None });
        assert!(factory.informers().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stopped_informer_is_made_anew() {
        let source = FakeControllerSource::default();
        source.add(r#"{"metadata":{"name":"a"}}"#);
        let factory = factory(&source);
        factory.start();
        for _ in 0..3 {
            let lease = factory.lease(&pods());
            factory.start();
            factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("it syncs");
            assert_eq!(lease.informer().indexer().count(None), 1);
            drop(lease);
            seconds(61).await;
        }
        assert_eq!(source.requests().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_asked_for_without_a_lease_runs_to_the_end() {
        let factory = factory(&FakeControllerSource::default());
        drop(factory.lease(&pods()));
        let informer = factory.for_resource(&pods());
        factory.start();
        drop(factory.lease(&pods()));
        seconds(100).await;
        assert_eq!(informer.state(), InformerState::Synced);
        factory.shutdown().await;
        assert_eq!(informer.state(), InformerState::Stopped { message: None });
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_started_ends_all_the_same() {
        let factory = factory(&FakeControllerSource::default());
        factory.start();
        let lease = factory.lease(&pods());
        let informer = lease.informer().clone();
        drop(lease);
        seconds(61).await;
        informer.stopped().await;
        assert!(informer.is_stopped());
    }

    #[tokio::test(start_paused = true)]
    async fn leases_may_outlive_the_factory() {
        let factory = factory(&FakeControllerSource::default());
        let lease = factory.lease(&pods());
        factory.start();
        factory.shutdown().await;
        drop(factory);
        drop(lease);
    }
}
