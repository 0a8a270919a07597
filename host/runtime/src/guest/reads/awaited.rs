//! The wait before a guest's first key: all readable resources must have synced. As client-go's `WaitForCacheSync`
//! before the workers of a controller start.
//!
//! The wait for a resource that never syncs has no end, as in client-go: a controller that sees a part of the cluster
//! does harm. The log names the missing resources. Events without keys are delivered meanwhile.

use super::Reads;
use crate::origin::Origin;
use crate::plugin_name::PluginName;
use informant_cache::SharedIndexInformer;
use std::future::pending;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// A first list takes seconds; after this time the log reports the wait.
const TOLD_AFTER: Duration = Duration::from_secs(10);

/// The progress of the wait.
#[derive(Debug, Default)]
pub(super) struct Awaiting {
    is_over: AtomicBool,
    since: OnceLock<Instant>,
    is_told: AtomicBool,
}

impl Reads {
    /// Whether all readable resources have synced. Stays `true`.
    pub(crate) fn are_synced(&self) -> bool {
        let is_over = self.awaiting.is_over.load(Relaxed) || self.awaited().next().is_none();
        if is_over {
            self.awaiting.is_over.store(true, Relaxed);
        }
        is_over
    }

    /// Waits for all readable resources. Logs the missing ones once if the wait is long. Invariant 21.
    pub(crate) async fn synced(&self, plugin: &PluginName) {
        let since = *self.awaiting.since.get_or_init(Instant::now);
        let told = async {
            if !self.awaiting.is_told.load(Relaxed) {
                tokio::time::sleep_until(since + TOLD_AFTER).await;
                self.tell(plugin);
            }
            pending().await
        };
        tokio::select! {
            () = self.all_synced() => {}
            () = told => {}
        }
    }

    async fn all_synced(&self) {
        while let Some((_, informer)) = self.awaited().next() {
            if !informer.synced().await {
                // The informer was stopped, and the plugin will be too.
                return pending().await;
            }
        }
    }

    fn tell(&self, plugin: &PluginName) {
        if self.awaiting.is_told.swap(true, Relaxed) {
            return;
        }
        let mut awaited: Vec<_> = self
            .awaited()
            .map(|(resource, informer)| format!("{resource} ({})", informer.state().as_str()))
            .collect();
        awaited.sort_unstable();
        awaited.dedup();
        let resources = awaited.join(", ");
        let plugin = plugin.as_str();
        warn!(plugin, resources, "no key is reconciled yet: the plugin reads what has not synced");
    }

    /// The resources that have not synced. Resources that the plugin's service account may not read are left out.
    fn awaited(&self) -> impl Iterator<Item = (&str, SharedIndexInformer)> {
        let views = self.resources.iter().flat_map(|(resource, readable)| {
            readable.views.iter().map(move |shown| (resource.as_str(), shown))
        });
        let allowed = views.filter(|(_, shown)| shown.permissions.allow());
        let origins = allowed.map(|(resource, shown)| (resource, &shown.origin));
        let origins = origins.chain(self.namespaces.iter().map(|it| ("v1/namespaces", &**it)));
        origins.filter_map(|(resource, origin)| match origin {
            Origin::Informer(lease) if !lease.informer().has_synced() => {
                Some((resource, lease.informer().clone()))
            }
            Origin::Informer(_) | Origin::Store(_) => None,
        })
    }
}
