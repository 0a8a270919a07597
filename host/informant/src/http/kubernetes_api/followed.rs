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

#[cfg(test)]
mod tests {
    use super::*;
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, SharedInformerFactory};
    use serde_json::Value;

    struct Bench {
        source: Arc<FakeControllerSource>,
        factory: SharedInformerFactory,
        followed: Followed,
        resource: Arc<ResourceInfo>,
    }

    impl Bench {
        /// Two objects are there.
        async fn start() -> Self {
            let source = Arc::new(FakeControllerSource::default());
            source.add(r#"{"metadata":{"name":"a"}}"#);
            source.add(r#"{"metadata":{"name":"b"}}"#);
            let factory = SharedInformerFactory::new(source.clone(), FactoryOptions::default());
            let resource = ResourceInfo {
                gvr: GroupVersionResource::new("", "v1", "configmaps"),
                kind: "ConfigMap".to_owned(),
                singular: "configmap".to_owned(),
                list_kind: "ConfigMapList".to_owned(),
                short_names: Vec::new(),
                categories: Vec::new(),
                namespaced: true,
                custom: false,
                verbs: Vec::new(),
                subresources: Vec::new(),
                selectable_fields: Vec::new(),
                printer_columns: Value::Null,
            };
            let (followed, resource) = (Followed::default(), Arc::new(resource));
            Self { source, factory, followed, resource }
        }

        async fn follow(&self) -> Arc<ChangeFollower> {
            let lease = Arc::new(self.factory.lease(&self.resource.gvr));
            self.factory.start();
            assert!(lease.informer().synced().await);
            self.followed.follow(&self.resource, lease).expect("there is room")
        }
    }

    /// The next changes until there are as many, or the code that ends the watch.
    async fn told(
        follower: &ChangeFollower,
        place: &mut Place,
        count: usize,
    ) -> Result<Vec<String>, u16> {
        let (mut woken, mut told) = (follower.subscribe(), Vec::new());
        loop {
            let changes = follower.take(place, 1).map_err(|status| status.code)?;
            told.extend(changes.iter().map(|change| match change {
                Change::Added(new) => format!("+{}", new.name()),
                Change::Modified { old, new } => {
                    format!("{}@{}>{}", new.name(), old.resource_version(), new.resource_version())
                }
                Change::Deleted { last, .. } => {
                    format!("-{}@{}", last.name(), last.resource_version())
                }
            }));
            if told.len() >= count {
                return Ok(told);
            }
            if changes.is_empty() {
                woken.changed().await.expect("it goes on");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_of_the_informers_watch_is_kept_with_its_version() {
        let bench = Bench::start().await;
        let follower = bench.follow().await;
        let mut place = follower.begin(Some(2)).await.expect("it is the newest");
        bench.source.add(r#"{"metadata":{"name":"c"}}"#);
        bench.source.modify(r#"{"metadata":{"name":"a","labels":{"x":"y"}}}"#);
        bench.source.delete(r#"{"metadata":{"name":"b"}}"#);
        assert_eq!(
            told(&follower, &mut place, 3).await,
            Ok(vec!["+c".to_owned(), "a@1>4".to_owned(), "-b@5".to_owned()])
        );
        assert_eq!(follower.progress(&place), 5);
        assert!(follower.begin(Some(1)).await.is_err(), "that was before somebody watched");
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_finds_a_difference_ends_every_watch() {
        let bench = Bench::start().await;
        let follower = bench.follow().await;
        let mut place = follower.begin(None).await.expect("it is the newest");
        bench.source.delete_drop_watch(r#"{"metadata":{"name":"b"}}"#);
        bench.source.reset_watch();
        assert_eq!(told(&follower, &mut place, 1).await, Err(410));
        // A client lists again and goes on from there.
        let version = follower.changes.version();
        let mut place = follower.begin(Some(version)).await.expect("it is the newest");
        bench.source.add(r#"{"metadata":{"name":"d"}}"#);
        assert_eq!(told(&follower, &mut place, 1).await, Ok(vec!["+d".to_owned()]));
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_kept_for_a_while_after_the_last_watcher() {
        let bench = Bench::start().await;
        let start = Instant::now();
        let follower = bench.follow().await;
        let count = || bench.followed.resources.lock().len();
        bench.followed.expire(start + 2 * LINGER);
        assert_eq!(count(), 1, "somebody watches");
        drop(follower);
        bench.followed.expire(start + 2 * LINGER);
        drop(bench.follow().await);
        bench.followed.expire(start + 3 * LINGER);
        assert_eq!(count(), 1, "somebody came back");
        bench.followed.expire(start + 4 * LINGER);
        assert_eq!(count(), 0);
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_has_ended_is_followed_anew() {
        let bench = Bench::start().await;
        let first = bench.follow().await;
        bench.factory.stop(&bench.resource.gvr).await;
        let second = bench.follow().await;
        assert!(!Arc::ptr_eq(&first, &second));
        second.begin(None).await.expect("it follows");
        bench.factory.shutdown().await;
    }
}
