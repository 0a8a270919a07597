//! A source in memory, an informer over it, and what its handlers are told as lines.

use informant_apimachinery::LabelSelector;
use informant_cache::testing::{FakeControllerSource, Request};
use informant_cache::{
    Cause, FactoryOptions, FinalState, HandlerOptions, ListOptions, ListWatchError, Notification,
    Notifications, Object, Registration, ResourceEventHandler, SharedIndexInformer,
    SharedInformerFactory,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Writes down what it is told: `add a@1 Initial`.
#[derive(Clone, Default)]
pub struct Recorder {
    told: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn note(&self, line: String) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// What was told since the last look.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn at(object: &Object) -> String {
    format!("{}@{}", object.key(), object.resource_version())
}

fn added(object: &Object, cause: Cause) -> String {
    format!("add {} {:?}", at(object), cause.reason)
}

fn updated(old: &Object, new: &Object, cause: Cause) -> String {
    format!("update {} from {} {:?}", at(new), old.resource_version(), cause.reason)
}

fn deleted(last: &Object, final_state: FinalState, cause: Cause) -> String {
    format!("delete {} {final_state:?} {:?}", at(last), cause.reason)
}

impl ResourceEventHandler for Recorder {
    fn on_add(&self, object: &Object, cause: Cause) {
        self.note(added(object, cause));
    }

    fn on_update(&self, old: &Object, new: &Object, cause: Cause) {
        self.note(updated(old, new, cause));
    }

    fn on_delete(&self, last: &Object, final_state: FinalState, cause: Cause) {
        self.note(deleted(last, final_state, cause));
    }

    fn on_synced(&self) {
        self.note("synced".to_owned());
    }
}

/// What waits, as lines.
pub fn pull(notifications: &mut Notifications) -> Vec<String> {
    let next = || notifications.try_next();
    let shown = |one| match one {
        Notification::Added { object, cause, .. } => added(&object, cause),
        Notification::Updated { old, new, cause, .. } => updated(&old, &new, cause),
        Notification::Deleted { last, final_state, cause, .. } => {
            deleted(&last, final_state, cause)
        }
        Notification::Synced => "synced".to_owned(),
    };
    std::iter::from_fn(next).map(shown).collect()
}

/// An object of this name; `more` goes into its metadata.
pub fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)
}

/// An object that is not the one of the same name before it.
pub fn pod_with_uid(name: &str, uid: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}"}}}}"#)
}

pub struct Bench {
    pub source: FakeControllerSource,
    pub factory: SharedInformerFactory,
    pub informer: SharedIndexInformer,
    pub recorder: Recorder,
    _registration: Registration,
}

impl Bench {
    /// Nothing is started; `prepare` makes what is there before.
    pub fn new(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let source = FakeControllerSource::default();
        prepare(&source);
        let options = FactoryOptions { seed: 1, ..Default::default() };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
        let recorder = Recorder::default();
        let registration = informer.add_event_handler(Arc::new(recorder.clone()));
        Self { source, factory, informer, recorder, _registration: registration }
    }

    /// Started and synced; what was told until then is forgotten.
    pub async fn synced(prepare: impl FnOnce(&FakeControllerSource)) -> Self {
        let bench = Self::new(prepare);
        bench.factory.start();
        bench.factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
        settle().await;
        bench.recorder.take();
        bench
    }

    /// Another handler, which pulls.
    pub fn pulling(&self) -> Notifications {
        self.informer.notifications(HandlerOptions::default())
    }

    /// What was told since the last look, in order.
    #[track_caller]
    pub fn check(&self, expect: &[&str]) {
        assert_eq!(self.recorder.take(), expect);
    }

    /// The cache is what the source has.
    #[track_caller]
    pub fn check_cache(&self) {
        assert_eq!(self.cached(), self.source.truth());
    }

    /// The cache, by key.
    pub fn cached(&self) -> Vec<String> {
        let page = self.informer.indexer().list(None, &LabelSelector::default(), 0, None);
        page.expect("no cursor to refuse").items.iter().map(at).collect()
    }

    /// The lists that were asked for.
    pub fn lists(&self) -> Vec<ListOptions> {
        let list = |request| match request {
            Request::List(options) => Some(options),
            Request::Watch { .. } => None,
        };
        self.source.requests().into_iter().filter_map(list).collect()
    }

    /// The watches that were asked for: from where, and whether as a watch-list.
    pub fn watches(&self) -> Vec<(String, bool)> {
        let watch = |request| match request {
            Request::List(_) => None,
            Request::Watch { resource_version, send_initial_events } => {
                Some((resource_version.into(), send_initial_events))
            }
        };
        self.source.requests().into_iter().filter_map(watch).collect()
    }
}

/// Lets everything happen that can happen now: paused time only moves on when all tasks wait.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Long enough for any one backoff.
pub async fn back_off() {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

pub fn transient() -> ListWatchError {
    ListWatchError::transient("connection reset")
}

pub fn internal() -> ListWatchError {
    ListWatchError::Internal { message: "an object cannot be decoded".to_owned() }
}

pub fn patience() -> ListWatchError {
    ListWatchError::TooManyRequests { message: "slow down".to_owned(), retry_after: None }
}
