//! The watches of the Kubernetes API over the cache.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why a watch has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchEndReason {
    /// The client has closed it, or has read nothing for too long.
    Client,
    /// Its time was over.
    Timeout,
    /// The client was slower than the kept changes.
    TooSlow,
    /// The informer has missed changes and listed again.
    Gap,
    InformerEnded,
    HostStops,
}

impl WatchEndReason {
    const ALL: [Self; 6] = [
        Self::Client,
        Self::Timeout,
        Self::TooSlow,
        Self::Gap,
        Self::InformerEnded,
        Self::HostStops,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Timeout => "timeout",
            Self::TooSlow => "too-slow",
            Self::Gap => "gap",
            Self::InformerEnded => "informer-ended",
            Self::HostStops => "host-stops",
        }
    }
}

/// All watches since the start.
#[derive(Debug, Default)]
pub(crate) struct WatchCounts {
    /// Open watches by resource. A resource without one has no entry.
    open: Mutex<BTreeMap<String, u64>>,
    sent: AtomicU64,
    ended: [AtomicU64; WatchEndReason::ALL.len()],
}

/// An open watch. It ends when this is dropped, for the last reason that was set.
pub(crate) struct OpenWatch {
    counts: Arc<WatchCounts>,
    resource: String,
    pub(crate) reason: WatchEndReason,
}

impl WatchCounts {
    pub(crate) fn open(self: &Arc<Self>, resource: String) -> OpenWatch {
        *self.open.lock().entry(resource.clone()).or_default() += 1;
        OpenWatch { counts: self.clone(), resource, reason: WatchEndReason::Client }
    }

    pub(super) fn by_resource(&self) -> BTreeMap<String, u64> {
        self.open.lock().clone()
    }

    pub(super) fn changes_sent(&self) -> &AtomicU64 {
        &self.sent
    }

    pub(super) fn ended(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let of = |reason: WatchEndReason| self.ended[reason as usize].load(Relaxed);
        WatchEndReason::ALL.into_iter().map(move |reason| (reason.name(), of(reason)))
    }
}

impl OpenWatch {
    pub(crate) fn sent(&self, changes: usize) {
        self.counts.sent.fetch_add(changes as u64, Relaxed);
    }
}

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.counts.ended[self.reason as usize].fetch_add(1, Relaxed);
        let mut open = self.counts.open.lock();
        if let Some(count) = open.get_mut(&self.resource) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.resource);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_open_until_it_ends_for_its_reason() {
        let counts = Arc::<WatchCounts>::default();
        let open = |resource: &str| counts.open(resource.to_owned());
        let (first, mut second, third) = (open("v1/pods"), open("v1/pods"), open("v1/nodes"));
        first.sent(2);
        second.sent(3);
        second.reason = WatchEndReason::TooSlow;
        drop(first);
        assert_eq!(
            counts.by_resource(),
            BTreeMap::from([("v1/nodes".to_owned(), 1), ("v1/pods".to_owned(), 1),])
        );
        drop((second, third));
        assert_eq!(counts.by_resource(), BTreeMap::new());
        assert_eq!(counts.changes_sent().load(Relaxed), 5);
        let ended: Vec<_> = counts.ended().filter(|(_, count)| *count > 0).collect();
        assert_eq!(ended, [("client", 2), ("too-slow", 1)]);
    }
}
