//! The seam between a server and the owner of the objects.

use std::sync::Arc;

use futures::future::BoxFuture;
use informant_apimachinery::Status;

use crate::{ApiObject, Catalogue, Change, KeptUntil, ObjectBatches, ResourceInfo, Selection};

/// Holds objects and can tell of their changes. Every method may wait a little, for instance for an
/// informer to sync; none may hold a lock while it does.
pub trait Source: Send + Sync + 'static {
    /// What is served now.
    fn catalogue(&self) -> Arc<Catalogue>;

    /// One object; 404 if it is not there.
    fn get<'a>(
        &'a self,
        resource: &'a Arc<ResourceInfo>,
        namespace: Option<&'a str>,
        name: &'a str,
        at: ListAt,
    ) -> BoxFuture<'a, Result<Arc<ApiObject>, Status>>;

    /// One page of objects, ordered by namespace and name.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<ListPage, Status>>;

    /// The objects as they are, if asked for, and everything after.
    fn watch(&self, query: WatchQuery) -> BoxFuture<'_, Result<Watch, Status>>;
}

/// Which state of a collection is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListAt {
    /// The newest.
    MostRecent,
    /// Whatever is at hand.
    Any,
    /// At least as new as this; a 504 if the source has not got there.
    NotOlderThan(u64),
    /// Exactly this; a 410 if it is no longer known.
    Exact(u64),
}

/// Asks for one page.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Of which resource.
    pub resource: Arc<ResourceInfo>,
    /// Which of its objects.
    pub selection: Selection,
    /// How many at most; 0 for all.
    pub limit: usize,
    /// In which state.
    pub at: ListAt,
    /// Only keys (`namespace/name`) after this one.
    pub start_after: Option<String>,
}

/// One page.
#[derive(Debug, Default)]
pub struct ListPage {
    /// The selected objects in the order of their keys.
    pub items: Vec<Arc<ApiObject>>,
    /// The selected objects after the items. None: the items are all of the page.
    pub more: Option<Box<dyn ObjectBatches>>,
    /// The state that they belong to: where a watch may go on.
    pub resource_version: u64,
    /// The key of the last item, if there are more.
    pub next: Option<String>,
    /// How many more there are, where that is known without looking at each.
    pub remaining: Option<usize>,
    /// When the source forgets the state, so that no watch goes on from it. A client that has not read all objects by then
    /// gets the others as they are. None: they are kept until the client has them.
    pub kept_until: Option<KeptUntil>,
}

/// Asks for changes.
#[derive(Clone, Debug)]
pub struct WatchQuery {
    /// Of which resource.
    pub resource: Arc<ResourceInfo>,
    /// What the watcher will let through; a source may use it to send less, but need not.
    pub selection: Selection,
    /// From where on.
    pub start: WatchStart,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With the changes after this resourceVersion; a 410 if they are no longer known.
    After(u64),
    /// With the changes after now.
    Now,
    /// With the objects as they are, in a state at least as new as this, then what follows.
    InitialState {
        /// 0 if any state will do.
        not_older_than: u64,
    },
}

/// A started watch.
pub struct Watch {
    /// The objects as they are, where [`WatchStart::InitialState`] asked for them.
    pub initial: Option<InitialState>,
    /// What comes after.
    pub feed: Box<dyn ChangeFeed>,
}

/// The state that a watch begins with.
#[derive(Debug, Default)]
pub struct InitialState {
    /// The selected objects in the order of their keys.
    pub objects: Vec<Arc<ApiObject>>,
    /// Those after these. None: these are all.
    pub more: Option<Box<dyn ObjectBatches>>,
    /// The state's resourceVersion; the feed goes on right after it.
    pub resource_version: u64,
    /// When the source forgets the state: the next event of the feed is an error, and objects that the client does not
    /// have by then are not shown. None: they are kept until the client has them.
    pub kept_until: Option<KeptUntil>,
}

/// The changes of a resource, in order, without a gap.
pub trait ChangeFeed: Send {
    /// Waits for the next changes; never empty. An error ends the watch after it is shown to the client;
    /// `None` ends it without a word. Dropping the future loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>>;

    /// The newest resourceVersion up to which every change was given out by [`Self::next`]: what a bookmark
    /// may say.
    fn progress(&self) -> u64;

    /// So many of the changes were selected, and go to the client.
    fn sent(&mut self, _changes: usize) {}

    /// The server ends the watch. A watch that is dropped without this was ended by its client or by the feed.
    fn end(&mut self, _end: WatchEnd) {}
}

/// Why a server ends a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// Its time is over.
    TimedOut,
    /// The server stops.
    Stopped,
}
