//! The resources with watchers: of each, a handler on its informer that keeps the recent changes.

use super::recent_changes::{Begin, Missed, Place, RecentChanges, share};
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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Resources with kept changes. Each has bounds of its own.
const FOLLOWED_MAX: usize = 32;
/// How long changes are kept after their last watcher: clients watch again when a watch ends.
const LINGER: Duration = Duration::from_secs(60);

/// All followed resources.
#[derive(Default)]
pub(super) struct Followed {
    resources: Mutex<HashMap<GroupVersionResource, Held>>,
    /// How many there are, for the followers.
    count: Arc<AtomicUsize>,
}

struct Held {
    follower: Arc<ChangeFollower>,
    /// When the last watcher was found to be gone.
    idle_since: Option<Instant>,
}

/// One resource. Its handler ends when this is dropped.
pub(super) struct ChangeFollower {
    pub(super) lease: Arc<InformerLease>,
    changes: Arc<Changes>,
    _registration: Registration,
}

/// The changes, which the handler and the watchers share.
struct Changes {
    recent: Mutex<RecentChanges>,
    /// Wakes the watchers. The value says nothing.
    woken: watch::Sender<()>,
    resource: Arc<ResourceInfo>,
    indexer: Indexer,
    /// The resources with kept changes.
    sharers: Arc<AtomicUsize>,
}

impl Followed {
    /// Follows the resource from now on, or goes on to.
    pub(super) fn follow(
        &self,
        resource: &Arc<ResourceInfo>,
        lease: Arc<InformerLease>,
    ) -> Result<Arc<ChangeFollower>, Status> {
        // Declared before the guard of the lock, so thousands of changes are freed after it.
        let mut _freed = None;
        let mut resources = self.resources.lock();
        let outdated = |held: &Held| held.follower.is_outdated(resource);
        if resources.get(&resource.gvr).is_some_and(outdated) {
            _freed = resources.remove(&resource.gvr);
        }
        if let Some(held) = resources.get_mut(&resource.gvr) {
            held.idle_since = None;
            return Ok(held.follower.clone());
        }
        if resources.len() >= FOLLOWED_MAX
            && let Some(longest) = longest_idle(&resources)
        {
            _freed = resources.remove(&longest);
        }
        if resources.len() >= FOLLOWED_MAX {
            let message = format!(
                "{FOLLOWED_MAX} resources are watched already, which is the most there may be"
            );
            return Err(Status::too_many_requests(message, 1));
        }
        let follower = ChangeFollower::new(resource.clone(), lease, self.count.clone());
        let follower = Arc::new(follower);
        let held = Held { follower: follower.clone(), idle_since: None };
        resources.insert(resource.gvr.clone(), held);
        self.count.store(resources.len(), Ordering::Relaxed);
        Ok(follower)
    }

    /// Drops the changes of resources without watchers for some time.
    pub(super) fn expire(&self, now: Instant) {
        let is_over = |held: &mut Held| {
            if !held.is_idle() {
                held.idle_since = None;
                return false;
            }
            let since = *held.idle_since.get_or_insert(now);
            now.saturating_duration_since(since) >= LINGER
        };
        let mut resources = self.resources.lock();
        let freed: Vec<_> = resources.extract_if(|_, held| is_over(held)).collect();
        self.count.store(resources.len(), Ordering::Relaxed);
        drop(resources);
        // Thousands of changes are freed after the lock.
        drop(freed);
    }
}

/// The resource that has had no watcher for the longest time. The last ones are those that had one at the last look.
fn longest_idle(resources: &HashMap<GroupVersionResource, Held>) -> Option<GroupVersionResource> {
    let idle = resources.iter().filter(|(_, held)| held.is_idle());
    let longest = idle.min_by_key(|(_, held)| (held.idle_since.is_none(), held.idle_since));
    longest.map(|(gvr, _)| gvr.clone())
}

impl Held {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.follower) == 1
    }
}

impl ChangeFollower {
    fn new(
        resource: Arc<ResourceInfo>,
        lease: Arc<InformerLease>,
        sharers: Arc<AtomicUsize>,
    ) -> Self {
        let informer = lease.informer();
        let changes = Arc::new(Changes {
            recent: Mutex::default(),
            woken: watch::Sender::new(()),
            resource,
            indexer: informer.indexer(),
            sharers,
        });
        let options = HandlerOptions { replay: false, ..HandlerOptions::default() };
        // Invariant 12: the handler only notes.
        let registration = informer.add_inline_handler(changes.clone(), options);
        Self { lease, changes, _registration: registration }
    }

    /// Whether a request for this resource needs another follower: the informer has ended, or the objects of the kept
    /// changes lack a selectable field that the resource's definition has by now. A field that is gone does no harm.
    fn is_outdated(&self, resource: &ResourceInfo) -> bool {
        let known = &self.changes.resource.selectable_fields;
        self.lease.informer().is_stopped()
            || resource.selectable_fields.iter().any(|field| !known.contains(field))
    }

    /// Wakes the receiver's owner when there may be new changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.woken.subscribe()
    }

    /// A watch's place after this resourceVersion, or after now, once the informer has come so far.
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

    pub(super) fn take(&self, place: &mut Place) -> Result<Vec<Change>, Missed> {
        self.changes.recent.lock().take(place)
    }

    /// Whether every change after this place is kept.
    pub(super) fn keeps(&self, place: &Place) -> bool {
        self.changes.recent.lock().after(place).is_ok()
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
        match cause.reason {
            Reason::Watch => {
                // The watchers wait for the lock: the change is made before.
                let change = change();
                let bytes_max = share(self.sharers.load(Ordering::Relaxed));
                self.recent.lock().push(change, bytes_max);
            }
            Reason::Initial | Reason::Relist => self.recent.lock().gap(),
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

    /// The informer's watch missed the deletion, so its resourceVersion is not known.
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

    /// The handler has every event of the state that the cache shows.
    fn on_batch_told(&self) -> bool {
        let version = self.version();
        let is_news = self.recent.lock().reach(version);
        if is_news {
            self.woken.send_replace(());
        }
        // The feeds of the watchers gather changes themselves.
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::WatchPlace;
    use super::super::cache_source::{began, kept_until};
    use super::super::feed::Feed;
    use super::super::recent_changes::BOUNDS;
    use super::*;
    use crate::metrics::WatchCounts;
    use informant_apiserver::{ChangeFeed, UnshownObjects};
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, SharedInformerFactory};
    use tokio::sync::Semaphore;
    use tokio::time::sleep;

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
            let gvr = GroupVersionResource::new("", "v1", "configmaps");
            let resource = ResourceInfo::of_kind(gvr, "ConfigMap");
            let (followed, resource) = (Followed::default(), Arc::new(resource));
            Self { source, factory, followed, resource }
        }

        async fn follow(&self) -> Arc<ChangeFollower> {
            self.follow_as(&self.resource).await
        }

        async fn follow_as(&self, resource: &Arc<ResourceInfo>) -> Arc<ChangeFollower> {
            let lease = Arc::new(self.factory.lease(&resource.gvr));
            self.factory.start();
            assert!(lease.informer().synced().await);
            self.followed.follow(resource, lease).expect("there is room")
        }

        /// The resource with that field for selectors.
        fn with_field(&self, field: &str) -> Arc<ResourceInfo> {
            let selectable_fields = vec![field.to_owned()];
            Arc::new(ResourceInfo { selectable_fields, ..(*self.resource).clone() })
        }

        /// Another resource of that number.
        fn other(&self, number: usize) -> Arc<ResourceInfo> {
            let gvr = GroupVersionResource::new("", "v1", format!("others-{number}"));
            Arc::new(ResourceInfo { gvr, ..(*self.resource).clone() })
        }
    }

    /// The next changes until there are as many, or the code that ends the watch.
    async fn next_events(
        follower: &ChangeFollower,
        place: &mut Place,
        count: usize,
    ) -> Result<Vec<String>, u16> {
        let (mut woken, mut events) = (follower.subscribe(), Vec::new());
        loop {
            let changes = follower.take(place).map_err(|missed| missed.status.code)?;
            events.extend(changes.iter().map(|change| match change {
                Change::Added(new) => format!("+{}", new.name()),
                Change::Modified { old, new } => {
                    format!("{}@{}>{}", new.name(), old.resource_version(), new.resource_version())
                }
                Change::Deleted { last, .. } => {
                    format!("-{}@{}", last.name(), last.resource_version())
                }
            }));
            if events.len() >= count {
                return Ok(events);
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
            next_events(&follower, &mut place, 3).await,
            Ok(vec!["+c".to_owned(), "a@1>4".to_owned(), "-b@5".to_owned()])
        );
        assert_eq!(follower.progress(&place), 5);
        assert!(follower.begin(Some(1)).await.is_err(), "that was before the first watch");
        bench.factory.shutdown().await;
    }

    /// The resource's objects as a client that reads them slowly has them.
    fn unshown(bench: &Bench, follower: &Arc<ChangeFollower>, place: Place) -> UnshownObjects {
        let snapshot = follower.lease.informer().indexer().snapshot();
        let page = snapshot.list(None, &Default::default(), 0, None).expect("a page");
        let objects = page.items.iter().map(|object| shown(object.at_rest(), &bench.resource));
        UnshownObjects::new(objects.collect(), None, Some(kept_until(follower, place)))
    }

    #[tokio::test(start_paused = true)]
    async fn old_states_are_kept_for_slow_clients_as_long_as_the_changes_since() {
        let bench = Bench::start().await;
        let follower = bench.follow().await;
        let mut place = follower.begin(None).await.expect("it is the newest");
        let begun = place;
        let mut slow = unshown(&bench, &follower, place);
        slow.wait_for_client();
        let large = format!(r#"{{"metadata":{{"name":"a"}},"data":"{}"}}"#, "x".repeat(1 << 20));
        for number in 0..BOUNDS.bytes_max >> 20 {
            assert!(follower.keeps(&begun), "{number} MiB of changes");
            sleep(Duration::from_secs(60)).await;
            assert_eq!(slow.peek(|object| object.name() == "a"), Ok(Some(true)));
            bench.source.modify(&large);
            next_events(&follower, &mut place, 1).await.expect("it goes on");
        }
        assert!(!follower.keeps(&begun));
        while slow.peek(|_| ()).is_ok() {
            sleep(Duration::from_millis(100)).await;
        }
        bench.factory.shutdown().await;
    }

    /// How many changes a watcher gets in each piece, if each comes so many milliseconds after the one before.
    async fn check_pieces(after_ms: &[u64], expect: &[usize]) {
        let bench = Bench::start().await;
        let follower = bench.follow().await;
        let place = follower.begin(None).await.expect("it is the newest");
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("there is one");
        let among_all = WatchPlace { _permit: permit, _share: None };
        let counted = Arc::<WatchCounts>::default().open("configmaps".to_owned());
        let mut feed = Feed::new(follower, place, among_all, counted);
        let changes = async {
            for (number, after) in after_ms.iter().enumerate() {
                sleep(Duration::from_millis(*after)).await;
                bench.source.add(&format!(r#"{{"metadata":{{"name":"c{number}"}}}}"#));
            }
        };
        let pieces = async {
            let mut pieces = Vec::new();
            while pieces.iter().sum::<usize>() < after_ms.len() {
                let changes = feed.next().await.expect("it goes on").expect("there is no gap");
                pieces.push(changes.len());
            }
            pieces
        };
        let ((), pieces) = tokio::join!(changes, pieces);
        assert_eq!(pieces, expect, "changes after {after_ms:?} ms");
        drop(feed);
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn changes_that_follow_closely_come_in_one_piece() {
        check_pieces(&[20, 20, 20], &[1, 1, 1]).await;
        check_pieces(&[20, 2, 2, 2, 20], &[1, 3, 1]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_finds_a_difference_ends_every_watch() {
        let bench = Bench::start().await;
        let follower = bench.follow().await;
        let mut place = follower.begin(None).await.expect("it is the newest");
        bench.source.delete_drop_watch(r#"{"metadata":{"name":"b"}}"#);
        bench.source.reset_watch();
        assert_eq!(next_events(&follower, &mut place, 1).await, Err(410));
        // A client lists again and goes on from there.
        let version = follower.changes.version();
        let mut place = follower.begin(Some(version)).await.expect("it is the newest");
        bench.source.add(r#"{"metadata":{"name":"d"}}"#);
        assert_eq!(next_events(&follower, &mut place, 1).await, Ok(vec!["+d".to_owned()]));
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_kept_for_a_while_after_the_last_watcher() {
        let bench = Bench::start().await;
        let start = Instant::now();
        let follower = bench.follow().await;
        let count = || bench.followed.resources.lock().len();
        bench.followed.expire(start + 2 * LINGER);
        assert_eq!(count(), 1, "there is a watcher");
        drop(follower);
        bench.followed.expire(start + 2 * LINGER);
        drop(bench.follow().await);
        bench.followed.expire(start + 3 * LINGER);
        assert_eq!(count(), 1, "a watcher came back");
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

    /// An informer that lists again is no reason for 410: its client would only list again, too.
    #[tokio::test(start_paused = true)]
    async fn a_watch_from_now_on_is_refused_while_the_informer_lists() {
        let bench = Bench::start().await;
        let lease = Arc::new(bench.factory.lease(&bench.resource.gvr));
        let follower =
            bench.followed.follow(&bench.resource, lease.clone()).expect("there is room");
        let code = async |after| began(&follower, after).await.map_err(|status| status.code);
        assert_eq!(code(None).await, Err(503));
        assert_eq!(code(Some(5)).await, Err(410));
        bench.factory.start();
        assert!(lease.informer().synced().await);
        assert!(code(None).await.is_ok());
        bench.factory.shutdown().await;
    }

    /// A field selector would match no object of changes that were made without the field.
    #[tokio::test(start_paused = true)]
    async fn a_selectable_field_that_comes_later_is_read_from_then_on() {
        let bench = Bench::start().await;
        let before = bench.follow().await;
        let resource = bench.with_field("data.x");
        let follower = bench.follow_as(&resource).await;
        assert!(!Arc::ptr_eq(&before, &follower));
        let mut place = follower.begin(None).await.expect("it is the newest");
        let mut woken = follower.subscribe();
        bench.source.add(r#"{"metadata":{"name":"c"},"data":{"x":"y"}}"#);
        let change = loop {
            match follower.take(&mut place).expect("it goes on").pop() {
                Some(change) => break change,
                None => woken.changed().await.expect("it goes on"),
            }
        };
        let Change::Added(object) = change else { panic!("{change:?}") };
        assert_eq!(object.field("data.x"), Some("y"));
        // A definition that cannot be read for a while ends no watch.
        let after = bench.follow().await;
        assert!(Arc::ptr_eq(&after, &follower));
        bench.factory.shutdown().await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_more_resource_takes_the_place_of_the_one_that_was_idle_longest() {
        let bench = Bench::start().await;
        let start = Instant::now();
        drop(bench.follow_as(&bench.other(0)).await);
        bench.followed.expire(start);
        for number in 1..FOLLOWED_MAX {
            drop(bench.follow_as(&bench.other(number)).await);
        }
        bench.followed.expire(start + LINGER / 2);
        let is_held =
            |number| bench.followed.resources.lock().contains_key(&bench.other(number).gvr);
        assert!((0..FOLLOWED_MAX).all(is_held));
        let _follower = bench.follow().await;
        assert!(!is_held(0) && (1..FOLLOWED_MAX).all(is_held));
        bench.factory.shutdown().await;
    }
}
