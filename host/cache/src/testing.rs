//! An API server in memory for tests of informers and of what is built on them.
//!
//! Answers to client-go's `tools/cache/testing/fake_controller_source.go`: one resourceVersion for everything,
//! changes with and without telling the watches, history that can be forgotten, every request written down.

use crate::list_watch::{
    Change, ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher, ListerWatcherSource,
    WatchEvent, WatchOptions, WatchStream,
};
use crate::object::Object;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// One resource's objects and what happened to them. Cheap to clone; a clone is the same source.
#[derive(Clone, Default)]
pub struct FakeControllerSource {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    source: Mutex<Source>,
    changed: Notify,
}

#[derive(Default)]
struct Source {
    resource_version: u64,
    objects: BTreeMap<(String, String), Object>,
    /// Watches from before `forgotten` are refused.
    history: Vec<(u64, Occurrence)>,
    forgotten: u64,
    /// Rises when all watches are to end; why they end.
    epoch: u64,
    end: Option<ListWatchError>,
    requests: Vec<Request>,
    refusals: VecDeque<ListWatchError>,
    watch_lists: WatchLists,
}

#[derive(Clone)]
enum Occurrence {
    /// A change that watches are not told of.
    Dropped,
    Event(WatchEvent),
}

/// A request as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page.
    List(ListOptions),
    /// A watch or watch-list; its timeout is random and not kept.
    Watch {
        /// Where from.
        resource_version: Box<str>,
        /// A watch-list.
        send_initial_events: bool,
    },
}

/// How the source answers a watch-list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchLists {
    /// As it should.
    #[default]
    Served,
    /// As a server that does not know them: a bad request.
    Refused,
    /// All objects come, the bookmark never does.
    WithoutBookmark,
    /// The bookmark's annotation says `false`: it is one like all others.
    FalseBookmark,
    /// All objects come, then the stream ends.
    EndedEarly,
}

impl FakeControllerSource {
    /// Adds an object; its JSON needs no more than metadata, `{"metadata":{"name":"a"}}`. Answers its
    /// resourceVersion.
    pub fn add(&self, json: &str) -> u64 {
        self.change(Change::Added, json, true)
    }

    /// Changes an object.
    pub fn modify(&self, json: &str) -> u64 {
        self.change(Change::Modified, json, true)
    }

    /// Deletes an object.
    pub fn delete(&self, json: &str) -> u64 {
        self.change(Change::Deleted, json, true)
    }

    /// As `add`; no watch hears of it.
    pub fn add_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Added, json, false)
    }

    /// As `modify`; no watch hears of it.
    pub fn modify_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Modified, json, false)
    }

    /// As `delete`; no watch hears of it.
    pub fn delete_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Deleted, json, false)
    }

    /// Sends every watch a bookmark.
    pub fn bookmark(&self) {
        let mut source = self.inner.source.lock();
        let resource_version = source.resource_version;
        let event = WatchEvent::Bookmark {
            resource_version: resource_version.to_string().into(),
            initial_events_end: false,
        };
        source.history.push((resource_version, Occurrence::Event(event)));
        drop(source);
        self.inner.changed.notify_waiters();
    }

    /// Ends all watches, cleanly or with an error.
    pub fn end_watches(&self, error: Option<ListWatchError>) {
        let mut source = self.inner.source.lock();
        source.epoch += 1;
        source.end = error;
        drop(source);
        self.inner.changed.notify_waiters();
    }

    /// Ends all watches and forgets what happened: to watch from before now is `Expired`.
    pub fn reset_watch(&self) {
        {
            let mut source = self.inner.source.lock();
            source.resource_version += 1;
            source.forgotten = source.resource_version;
            source.history.clear();
        }
        self.end_watches(None);
    }

    /// Sets the server back, as an etcd that was restored: all is forgotten, and numbers begin at `to` again.
    pub fn rewind(&self, to: u64) {
        {
            let mut source = self.inner.source.lock();
            source.resource_version = to;
            source.forgotten = 0;
            source.history.clear();
            source.objects.clear();
        }
        self.end_watches(None);
    }

    /// Answers the next request, list or watch, with an error.
    pub fn refuse_next(&self, error: ListWatchError) {
        self.inner.source.lock().refusals.push_back(error);
    }

    /// How watch-lists are answered from now on.
    pub fn set_watch_lists(&self, watch_lists: WatchLists) {
        self.inner.source.lock().watch_lists = watch_lists;
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.inner.source.lock().requests.clone()
    }

    /// What is there, by key: `name@resourceVersion`.
    pub fn truth(&self) -> Vec<String> {
        let source = self.inner.source.lock();
        let shown = |o: &Object| format!("{}@{}", o.key(), o.resource_version());
        source.objects.values().map(shown).collect()
    }

    fn change(&self, change: Change, json: &str, told: bool) -> u64 {
        let mut source = self.inner.source.lock();
        source.resource_version += 1;
        let resource_version = source.resource_version;
        let object = stamped(json, resource_version);
        let key = (object.key().namespace.to_string(), object.key().name.to_string());
        match change {
            Change::Added | Change::Modified => source.objects.insert(key, object.clone()),
            Change::Deleted => source.objects.remove(&key),
        };
        let event = WatchEvent::Changed(change, object, Instant::now());
        let occurrence = if told { Occurrence::Event(event) } else { Occurrence::Dropped };
        source.history.push((resource_version, occurrence));
        drop(source);
        self.inner.changed.notify_waiters();
        resource_version
    }
}

/// The object with its type, a UID and the resourceVersion.
fn stamped(json: &str, resource_version: u64) -> Object {
    let mut value: serde_json::Value = serde_json::from_str(json).expect("a test's JSON is JSON");
    let metadata = &mut value["metadata"];
    if metadata["uid"].is_null() {
        let uid = format!("uid-{}", metadata["name"].as_str().unwrap_or_default());
        metadata["uid"] = uid.into();
    }
    metadata["resourceVersion"] = resource_version.to_string().into();
    value["apiVersion"] = "v1".into();
    value["kind"] = "Pod".into();
    Object::decode(value.to_string().as_bytes(), None).expect("a test's object has a name")
}

impl ListerWatcherSource for FakeControllerSource {
    /// The same objects for every resource.
    fn lister_watcher(&self, _: &GroupVersionResource) -> Arc<dyn ListerWatcher> {
        Arc::new(self.clone())
    }
}

impl ListerWatcher for FakeControllerSource {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let mut source = self.inner.source.lock();
        source.requests.push(Request::List(options.clone()));
        let events = match source.refusals.pop_front() {
            Some(error) => Err(error),
            None => source.page(&options),
        };
        let page = events.map(|events| stream::iter(events.into_iter().map(Ok)).boxed());
        Box::pin(std::future::ready(page))
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        let opened = self.open(&options);
        Box::pin(std::future::ready(opened))
    }
}

impl Source {
    fn page(&self, options: &ListOptions) -> Result<Vec<ListEvent>, ListWatchError> {
        let asked = options.not_older_than.as_deref().and_then(|version| version.parse().ok());
        if asked.is_some_and(|asked: u64| asked > self.resource_version) {
            let message = "Too large resource version".to_owned();
            return Err(ListWatchError::TooLargeResourceVersion { message });
        }
        let skip: usize = options.continue_token.as_deref().map_or(0, |t| t.parse().unwrap_or(0));
        let limit = if options.limit == 0 { usize::MAX } else { options.limit as usize };
        let now = Instant::now();
        let rest = self.objects.values().skip(skip);
        let mut events: Vec<_> =
            rest.take(limit).map(|object| ListEvent::Object(object.clone(), now)).collect();
        let shown = skip + events.len();
        events.push(ListEvent::End {
            resource_version: self.resource_version.to_string().into(),
            continue_token: (shown < self.objects.len()).then(|| shown.to_string().into()),
        });
        Ok(events)
    }

    /// The initial events of a watch-list, and whether the stream then goes on.
    fn initial_events(&self) -> Result<(Vec<WatchEvent>, bool), ListWatchError> {
        let now = Instant::now();
        let added = |object: &Object| WatchEvent::Changed(Change::Added, object.clone(), now);
        let mut events: Vec<_> = self.objects.values().map(added).collect();
        let end = |initial_events_end| WatchEvent::Bookmark {
            resource_version: self.resource_version.to_string().into(),
            initial_events_end,
        };
        match self.watch_lists {
            WatchLists::Served => events.push(end(true)),
            WatchLists::FalseBookmark => events.push(end(false)),
            WatchLists::WithoutBookmark => {}
            WatchLists::EndedEarly => return Ok((events, false)),
            WatchLists::Refused => {
                let message = "sendInitialEvents is forbidden for watch".to_owned();
                return Err(ListWatchError::BadRequest { message });
            }
        }
        Ok((events, true))
    }
}

/// A watch's place in the history.
struct Place {
    inner: Arc<Inner>,
    ready: VecDeque<WatchEvent>,
    next: usize,
    epoch: u64,
    goes_on: bool,
}

impl FakeControllerSource {
    fn open(&self, options: &WatchOptions) -> Result<WatchStream, ListWatchError> {
        let mut source = self.inner.source.lock();
        source.requests.push(Request::Watch {
            resource_version: options.resource_version.clone(),
            send_initial_events: options.send_initial_events,
        });
        if let Some(error) = source.refusals.pop_front() {
            return Err(error);
        }
        let from: u64 = options.resource_version.parse().unwrap_or(0);
        if from > source.resource_version {
            let message = "Too large resource version".to_owned();
            return Err(ListWatchError::TooLargeResourceVersion { message });
        }
        let (ready, goes_on, next) = if options.send_initial_events {
            let (events, goes_on) = source.initial_events()?;
            (events.into(), goes_on, source.history.len())
        } else {
            if from < source.forgotten {
                let message = format!("too old resource version: {from} ({})", source.forgotten);
                return Err(ListWatchError::Expired { message });
            }
            let next = source.history.partition_point(|(version, _)| *version <= from);
            (VecDeque::new(), true, next)
        };
        let epoch = source.epoch;
        let place = Place { inner: self.inner.clone(), ready, next, epoch, goes_on };
        Ok(stream::try_unfold(place, Place::next).boxed())
    }
}

impl Place {
    async fn next(mut self) -> Result<Option<(WatchEvent, Self)>, ListWatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some((event, self)));
            }
            if !self.goes_on {
                return Ok(None);
            }
            let inner = self.inner.clone();
            let changed = inner.changed.notified();
            tokio::pin!(changed);
            // From here on nothing is missed.
            changed.as_mut().enable();
            if self.look()? {
                return Ok(None);
            }
            if self.ready.is_empty() {
                changed.await;
            }
        }
    }

    /// Takes what is new; answers whether the watch has ended.
    fn look(&mut self) -> Result<bool, ListWatchError> {
        let source = self.inner.source.lock();
        if source.epoch != self.epoch {
            return source.end.clone().map_or(Ok(true), Err);
        }
        let new = source.history.get(self.next..).unwrap_or_default();
        self.next += new.len();
        self.ready.extend(new.iter().filter_map(|(_, occurrence)| match occurrence {
            Occurrence::Event(event) => Some(event.clone()),
            Occurrence::Dropped => None,
        }));
        Ok(false)
    }
}
