//! An API server in memory for tests of informers and of code that uses them.
//!
//! As client-go's `tools/cache/testing/fake_controller_source.go`: one resourceVersion for everything, changes with
//! and without notifying watches, history that can be forgotten, and a note of every request.

mod answers;
mod selection;

use crate::list_watch::{
    Change, ListOptions, ListStream, ListWatchError, ListerWatcher, ListerWatcherSource, Part,
    WatchOptions, WatchStream,
};
use crate::object::Object;
use bytes::Bytes;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;
use parking_lot::Mutex;
use selection::Selection;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// One resource's objects and their history. Cheap to clone; clones share the source.
#[derive(Clone, Default)]
pub struct FakeControllerSource {
    inner: Arc<SourceState>,
}

#[derive(Default)]
struct SourceState {
    source: Mutex<Source>,
    changed: Notify,
    /// CustomResourceDefinitions and APIServices.
    definitions: OnceLock<FakeControllerSource>,
}

#[derive(Default)]
struct Source {
    resource_version: u64,
    objects: BTreeMap<(String, String), Object>,
    /// Watches from before `forgotten` are refused.
    history: Vec<(u64, Occurrence)>,
    forgotten: u64,
    /// Rises when all watches are to end; `end` is their error.
    epoch: u64,
    end: Option<ListWatchError>,
    requests: Vec<(Part, Request)>,
    refusals: VecDeque<ListWatchError>,
    watch_lists: WatchLists,
    /// The number of opened watches, and how many of the first ones have fallen silent.
    opened: u64,
    stalled: u64,
    absent: bool,
    refuses_whole: bool,
    refused_namespaces: BTreeSet<Box<str>>,
    discovery_fails: bool,
}

#[derive(Clone)]
enum Occurrence {
    /// A change that no watch reports.
    Dropped,
    /// Whether it ends the initial events.
    Bookmark(bool),
    /// A change, and the object before it.
    Changed(Change, Object, Option<Object>),
}

/// All objects at one moment.
#[derive(Clone)]
pub struct Backup {
    resource_version: u64,
    objects: BTreeMap<(String, String), Object>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A page.
    List(ListOptions),
    /// A watch or watch-list; its timeout is random and not kept.
    Watch {
        /// The start of the watch.
        resource_version: Box<str>,
        /// Whether it is a watch-list.
        send_initial_events: bool,
    },
}

/// How the source answers a watch-list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchLists {
    /// Correctly.
    #[default]
    Served,
    /// As a server without watch-lists: a bad request.
    Refused,
    /// All objects come, the bookmark never does.
    WithoutBookmark,
    /// The bookmark's annotation says `false`: it is a usual bookmark.
    FalseBookmark,
    /// All objects come, then the stream ends.
    EndedEarly,
}

impl FakeControllerSource {
    /// Adds an object; its JSON needs only metadata, `{"metadata":{"name":"a"}}`. Returns its resourceVersion.
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

    /// As `add`; no watch gets it.
    pub fn add_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Added, json, false)
    }

    /// As `modify`; no watch gets it.
    pub fn modify_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Modified, json, false)
    }

    /// As `delete`; no watch gets it.
    pub fn delete_drop_watch(&self, json: &str) -> u64 {
        self.change(Change::Deleted, json, false)
    }

    /// Sends every watch a bookmark.
    pub fn bookmark(&self) {
        self.send_bookmark(false);
    }

    /// Sends every watch the bookmark that ends the initial events.
    pub fn end_initial_events(&self) {
        self.send_bookmark(true);
    }

    fn send_bookmark(&self, initial_events_end: bool) {
        let mut source = self.inner.source.lock();
        let resource_version = source.resource_version;
        source.history.push((resource_version, Occurrence::Bookmark(initial_events_end)));
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

    /// Makes every open watch silent, like a connection whose peer is gone.
    pub fn stall_watches(&self) {
        let mut source = self.inner.source.lock();
        source.stalled = source.opened;
    }

    /// Sets whether the resource is served, which it is at first. Otherwise lists and watches get `NotFound`, and
    /// watches end. Its objects are gone for good.
    pub fn set_served(&self, served: bool) {
        {
            let mut source = self.inner.source.lock();
            source.absent = !served;
            if !served {
                source.resource_version += 1;
                source.forgotten = source.resource_version;
                source.history.clear();
                source.objects.clear();
            }
        }
        self.end_watches(None);
    }

    /// Sets whether discovery answers.
    pub fn set_discovery(&self, answers: bool) {
        self.inner.source.lock().discovery_fails = !answers;
    }

    /// The definitions of resources, a source of its own: for both `customresourcedefinitions` and `apiservices`.
    pub fn definitions(&self) -> Self {
        self.inner.definitions.get_or_init(Self::default).clone()
    }

    /// Ends all watches and forgets the history: a watch from before now is `Expired`.
    pub fn reset_watch(&self) {
        {
            let mut source = self.inner.source.lock();
            source.resource_version += 1;
            source.forgotten = source.resource_version;
            source.history.clear();
        }
        self.end_watches(None);
    }

    /// The present objects, for [`FakeControllerSource::restore`].
    pub fn backup(&self) -> Backup {
        let source = self.inner.source.lock();
        Backup { resource_version: source.resource_version, objects: source.objects.clone() }
    }

    /// Sets the server back, as a restored etcd does. The history since the backup is forgotten, its numbers are used
    /// again, and watches end. A watch from before the backup is `Expired`; one from a number that was not reached
    /// again is silent up to it.
    pub fn restore(&self, backup: &Backup) {
        {
            let mut source = self.inner.source.lock();
            source.resource_version = backup.resource_version;
            source.forgotten = backup.resource_version;
            source.history.clear();
            source.objects = backup.objects.clone();
        }
        self.end_watches(None);
    }

    /// As [`FakeControllerSource::restore`], with an empty backup.
    pub fn rewind(&self, to: u64) {
        self.restore(&Backup { resource_version: to, objects: BTreeMap::new() });
    }

    /// Answers the next request, list or watch, with an error.
    pub fn refuse_next(&self, error: ListWatchError) {
        self.inner.source.lock().refusals.push_back(error);
    }

    /// Sets whether requests for all namespaces are refused, also watches under way; then only requests for single
    /// namespaces are answered.
    pub fn set_refuses_whole(&self, refuses: bool) {
        self.inner.source.lock().refuses_whole = refuses;
        self.end_watches(None);
    }

    /// Sets whether requests for this namespace alone are refused, also watches under way.
    pub fn set_refuses_namespace(&self, namespace: &str, refuses: bool) {
        let mut source = self.inner.source.lock();
        match refuses {
            true => _ = source.refused_namespaces.insert(namespace.into()),
            false => _ = source.refused_namespaces.remove(namespace),
        }
        drop(source);
        self.end_watches(None);
    }

    /// Sets the answers to watch-lists.
    pub fn set_watch_lists(&self, watch_lists: WatchLists) {
        self.inner.source.lock().watch_lists = watch_lists;
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        let source = self.inner.source.lock();
        source.requests.iter().map(|(_, request)| request.clone()).collect()
    }

    /// Every request so far, with its part.
    pub fn requests_by_part(&self) -> Vec<(Part, Request)> {
        self.inner.source.lock().requests.clone()
    }

    /// The present objects, by key.
    pub fn objects(&self) -> Vec<Object> {
        self.inner.source.lock().objects.values().cloned().collect()
    }

    /// The present objects, by key: `name@resourceVersion`.
    pub fn truth(&self) -> Vec<String> {
        let source = self.inner.source.lock();
        let shown = |o: &Object| format!("{}@{}", o.key(), o.resource_version());
        source.objects.values().map(shown).collect()
    }

    /// As [`FakeControllerSource::truth`], the objects' JSON.
    pub fn truth_bytes(&self) -> Vec<Bytes> {
        self.inner.source.lock().objects.values().map(Object::json).collect()
    }

    fn change(&self, change: Change, json: &str, told: bool) -> u64 {
        let mut source = self.inner.source.lock();
        source.resource_version += 1;
        let resource_version = source.resource_version;
        let object = stamped(json, resource_version);
        let key = (object.key().namespace().to_owned(), object.key().name().to_owned());
        let old = match change {
            Change::Added | Change::Modified => source.objects.insert(key, object.clone()),
            Change::Deleted => source.objects.remove(&key),
        };
        let changed = Occurrence::Changed(change, object, old);
        let occurrence = if told { changed } else { Occurrence::Dropped };
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
    /// The same objects for every resource but definitions; the part selects among them as an API server does.
    fn lister_watcher(&self, gvr: &GroupVersionResource, part: &Part) -> Arc<dyn ListerWatcher> {
        let defines = matches!(&*gvr.group, "apiextensions.k8s.io" | "apiregistration.k8s.io");
        let source = if defines { self.definitions() } else { self.clone() };
        Arc::new(SelectedSource { source, part: part.clone() })
    }
}

/// The part of all objects.
impl ListerWatcher for FakeControllerSource {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        Box::pin(std::future::ready(self.open_list(&Part::all(), options)))
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        Box::pin(std::future::ready(self.open_watch(&Part::all(), &options)))
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, ListWatchError>> {
        let source = self.inner.source.lock();
        let served = if source.discovery_fails {
            Err(ListWatchError::transient("discovery does not answer"))
        } else {
            Ok(!source.absent)
        };
        Box::pin(std::future::ready(served))
    }
}

struct SelectedSource {
    source: FakeControllerSource,
    part: Part,
}

impl ListerWatcher for SelectedSource {
    fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        Box::pin(std::future::ready(self.source.open_list(&self.part, options)))
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        Box::pin(std::future::ready(self.source.open_watch(&self.part, &options)))
    }

    fn is_served(&self) -> BoxFuture<'_, Result<bool, ListWatchError>> {
        let source = self.source.inner.source.lock();
        let served = if source.discovery_fails {
            Err(ListWatchError::transient("discovery does not answer"))
        } else {
            Ok(!source.absent)
        };
        Box::pin(std::future::ready(served))
    }
}

impl Source {
    /// Notes the request and returns its answer.
    fn receive(&mut self, part: &Part, request: Request) -> Result<Selection, ListWatchError> {
        self.requests.push((part.clone(), request));
        self.refusals.pop_front().map_or(Ok(()), Err)?;
        if self.absent {
            let message = "the server could not find the requested resource".to_owned();
            return Err(ListWatchError::NotFound { message });
        }
        let is_refused = match &part.namespace {
            None => self.refuses_whole,
            Some(namespace) => self.refused_namespaces.contains(namespace),
        };
        if is_refused {
            let message = "there is no role for it".to_owned();
            return Err(ListWatchError::Forbidden { message });
        }
        Selection::of(part)
    }
}
