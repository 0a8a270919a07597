//! Waits for several caches and handlers at once, by name. Answers to client-go's `WaitFor` and
//! `HasSyncedChecker` (`tools/cache/wait.go`). Nothing is polled, and a caller that gives up gets
//! the names that are missing.

use crate::shared_informer::SharedIndexInformer;
use crate::shared_processor::Registration;
use crate::view::View;
use futures::future::{BoxFuture, join_all};
use std::time::Duration;

/// An object that syncs once.
pub trait HasSyncedChecker: Sync {
    /// Whether it has synced. Stays `true`.
    fn has_synced(&self) -> bool;
    /// Waits until it has synced. `false` if it never will.
    fn synced(&self) -> BoxFuture<'_, bool>;
}

impl HasSyncedChecker for SharedIndexInformer {
    fn has_synced(&self) -> bool {
        self.has_synced()
    }

    fn synced(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.synced())
    }
}

impl HasSyncedChecker for View {
    fn has_synced(&self) -> bool {
        self.has_synced()
    }

    fn synced(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.synced())
    }
}

impl HasSyncedChecker for Registration {
    fn has_synced(&self) -> bool {
        self.has_synced()
    }

    fn synced(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.synced())
    }
}

/// Not all had synced when the time was over, or when no other could sync any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not synced: {}; see what their informers are doing", missing.join(", "))]
pub struct NotAllSynced {
    /// By the names that the caller gave, in the caller's order.
    pub missing: Vec<String>,
}

/// Waits until all of these have synced, each under the caller's name. Ends at the deadline, or when no other can sync
/// any more.
pub async fn wait_for_cache_sync(
    deadline: Duration,
    checkers: &[(&str, &dyn HasSyncedChecker)],
) -> Result<(), NotAllSynced> {
    let all = join_all(checkers.iter().map(|(_, checker)| checker.synced()));
    // The result depends on the checkers, not on the timeout.
    drop(tokio::time::timeout(deadline, all).await);
    let missing = checkers.iter().filter(|(_, checker)| !checker.has_synced());
    let missing: Vec<_> = missing.map(|(name, _)| (*name).to_owned()).collect();
    if missing.is_empty() { Ok(()) } else { Err(NotAllSynced { missing }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler_queue::HandlerOptions;
    use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
    use crate::scope::Scope;
    use crate::testing::FakeControllerSource;
    use std::sync::Arc;

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_is_told_what_is_missing() {
        let source = FakeControllerSource::default();
        source.add(r#"{"metadata":{"name":"a"}}"#);
        let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let pods = "v1/pods".parse().expect("a resource");
        let informer = factory.for_resource(&pods);
        let view = factory.view(&pods, Scope::namespace("x")).expect("within everything");
        let slow = informer.notifications(HandlerOptions::default());
        let checkers: [(&str, &dyn HasSyncedChecker); 3] =
            [("pods", &informer), ("pods of x", &view), ("slow handler", slow.registration())];
        let second = Duration::from_secs(1);
        let missing = |names: &[&str]| {
            Err(NotAllSynced { missing: names.iter().map(|name| (*name).to_owned()).collect() })
        };
        let waited = wait_for_cache_sync(second, &checkers).await;
        assert_eq!(waited, missing(&["pods", "pods of x", "slow handler"]));
        factory.start();
        assert_eq!(wait_for_cache_sync(second, &checkers).await, missing(&["slow handler"]));
        slow.registration().remove();
        let started = tokio::time::Instant::now();
        let checkers: [(&str, &dyn HasSyncedChecker); 2] =
            [("pods", &informer), ("slow handler", slow.registration())];
        assert_eq!(wait_for_cache_sync(second, &checkers).await, missing(&["slow handler"]));
        assert_eq!(started.elapsed(), Duration::ZERO, "it never will, so nobody waits");
        assert_eq!(wait_for_cache_sync(second, &checkers[..1]).await, Ok(()));
    }
}
