//! The resources that somebody watches: of each, a handler on its informer that keeps the recent changes.

use super::recent_changes::{Begin, Place, RecentChanges};
use super::stored::shown;
use informant_apimachinery::{GroupVersionResource, Status};
use informant_apiserver::{Change, ResourceInfo};
use informant_cache::{
    Cause, FinalState, HandlerOptions, Indexer, InformerLease, Object, Reason, Registration,
    ResourceEventHandler,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Resources whose changes are kept at once; each has its own bounds.
const FOLLOWED_MAX: usize = 32;
/// Changes are kept for so long after their last watcher: clients watch again when a watch ends.
const LINGER: Duration = Duration::from_secs(60);

/// All of them.
#[derive(Default)]
pub(super) struct Followed {
    resources: Mutex<HashMap<GroupVersionResource, Held>>,
}

struct Held {
    follower: Arc<ChangeFollower>,
    /// Since nobody watches.
    idle_since: Option<Instant>,
}

/// One resource, followed until this is dropped.
pub(super) struct ChangeFollower {
    pub(super) lease: Arc<InformerLease>,
    changes: Arc<Changes>,
    _registration: Registration,
}

/// What the handler and the watchers share.
struct Changes {
    recent: Mutex<RecentChanges>,
    /// The value is only a reason to look.
    woken: watch::Sender<()>,
    resource: Arc<ResourceInfo>,
    indexer: Indexer,
}

impl Followed {
    /// Follows the resource from now on, or goes on to.
    pub(super) fn follow(
        &self,
        resource: &Arc<ResourceInfo>,
        lease: Arc<InformerLease>,
    ) -> Result<Arc<ChangeFollower>, Status> {
        let mut resources = self.resources.lock();
        let of_ended = |held: &Held| held.follower.lease.informer().is_stopped();
        if resources.get(&resource.gvr).is_some_and(of_ended) {
            resources.remove(&resource.gvr);
        }
        if let Some(held) = resources.get_mut(&resource.gvr) {
            held.idle_since = None;
            return Ok(held.follower.clone());
        }
        if resources.len() >= FOLLOWED_MAX {
            resources.retain(|_, held| !held.is_idle());
        }
        if resources.len() >= FOLLOWED_MAX {
            let message = format!(
                "{FOLLOWED_MAX} resources are watched already, which is the most there may be"
            );
            return Err(Status::too_many_requests(message, 1));
        }
        let follower = Arc::new(ChangeFollower::new(resource.clone(), lease));
        let held = Held { follower: follower.clone(), idle_since: None };
        resources.insert(resource.gvr.clone(), held);
        Ok(follower)
    }

    /// Lets go of those that nobody has watched for some time.
    pub(super) fn expire(&self, now: Instant) {
        self.resources.lock().retain(|_, held| {
            if !held.is_idle() {
                held.idle_since = None;
                return true;
            }
            let since = *held.idle_since.get_or_insert(now);
            now.saturating_duration_since(since) < LINGER
        });
    }
}

impl Held {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.follower) == 1
    }
}

impl ChangeFollower {
    fn new(resource: Arc<ResourceInfo>, lease: Arc<InformerLease>) -> Self {
        let informer = lease.informer();
        let changes = Arc::new(Changes {
            recent: Mutex::default(),
            woken: watch::Sender::new(()),
            resource,
            indexer: informer.indexer(),
        });
        let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
        // Invariant 12: it only notes.
        let registration = informer.add_inline_handler(changes.clone(), options);
        Self { lease, changes, _registration: registration }
    }

    /// Wakes its owner when there may be something new.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.woken.subscribe()
    }

    /// A watch's place after this resourceVersion, or after now. It waits until the informer has come so far.
    pub(super) async fn begin(&self, after: Option<u64>) -> Result<Place, Status> {
        let mut woken = self.subscribe();
        loop {
            let begin = self.changes.recent.lock().place(after)?;
            match begin {
                Begin::At(place) => return Ok(place),
                Begin::NotYet if woken.changed().await.is_ok() => {}
                Begin::NotYet => return Err(Status::service_unavailable("the informer has ended")),
            }
        }
    }

    /// The newest resourceVersion up to which every change is known.
    pub(super) fn reached(&self) -> u64 {
        self.changes.recent.lock().reached().unwrap_or_default()
    }

    pub(super) fn take(&self, place: &mut Place, most: usize) -> Result<Vec<Change>, Status> {
        self.changes.recent.lock().take(place, most)
    }

    pub(super) fn progress(&self, place: &Place) -> u64 {
        self.changes.recent.lock().progress(place)
    }
}

impl Changes {
    fn version(&self) -> u64 {
        let version = self.indexer.resource_version();
        version.and_then(|version| version.parse().ok()).unwrap_or_default()
    }

    fn note(&self, cause: Cause, change: impl FnOnce() -> Change) {
        let mut recent = self.recent.lock();
        match cause.reason {
            Reason::Watch => recent.push(change()),
            Reason::Initial | Reason::Relist => recent.gap(),
            Reason::Resync => {}
        }
    }
}

impl ResourceEventHandler for Changes {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.note(cause, || Change::Added(shown(object.clone(), &self.resource)));
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.note(cause, || Change::Modified {
            old: shown(old.at_rest(), &self.resource),
            new: shown(new.clone(), &self.resource),
        });
    }

    /// The deletion was missed, so its resourceVersion is not known.
    fn on_delete(&self, _: &Object, _: FinalState, _: Cause) {
        self.recent.lock().gap();
    }

    fn on_delete_known_as(&self, known: &Object, last: &Object, end: FinalState, cause: Cause) {
        if end != FinalState::Known {
            return self.on_delete(last, end, cause);
        }
        self.note(cause, || Change::Deleted {
            old: shown(known.at_rest(), &self.resource),
            last: shown(last.clone(), &self.resource),
        });
    }

    fn on_synced(&self) {
        let version = self.version();
        self.recent.lock().begin(version);
        self.woken.send_replace(());
    }

    /// What the cache shows is told now.
    fn on_batch_told(&self) {
        let version = self.version();
        let is_news = self.recent.lock().reach(version);
        if is_news {
            self.woken.send_replace(());
        }
    }
}
