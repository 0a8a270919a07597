//! GET with `watch`: a stream of events that ends when the client goes, its time is over, the source has
//! nothing more to say, or the server stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures::stream;
use http::StatusCode;
use informant_apimachinery::Status;
use informant_apimachinery::watch::{WatchEventType, append_event, encode_event};
use jiff::Timestamp;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use crate::list::READ_BYTES;
use crate::negotiation::JSON;
use crate::request::Request;
use crate::response::body_response;
use crate::{
    ApiObject, Change, ChangeFeed, NotAtHand, PiecesOn, Representation, ResourceInfo, Selection,
    Source, UnshownObjects, WatchEnd, WatchLife, WatchQuery, WatchStart, render_object,
    representation,
};

/// A chunk of events is sent when it has grown to this.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of objects that are read at once on the thread of the request: of all passes over them.
const SMALL_BYTES: usize = 16 * 1024;

/// How long a watch lasts whose client names no time: within the 30 to 60 minutes of a real server
/// (`--min-request-timeout`), without its jitter.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45 * 60);

/// How long before the end of a watch its last bookmark comes.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Answers with a stream of events.
pub async fn watch(source: &dyn Source, request: &Request<'_>) -> Result<Response, Status> {
    let options = request.list_options()?;
    let selection = request.selection(&options)?;
    let start = options.watch_start()?;
    let query =
        WatchQuery { resource: Arc::clone(&request.resource), selection: selection.clone(), start };
    let started = source.watch(query).await?;
    let timeout = options.timeout_seconds.filter(|seconds| *seconds > 0);
    let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let timeout = timeout.min(request.options.watch_timeout_max);
    let since = match (&started.initial, start) {
        (Some(initial), _) => initial.resource_version,
        (None, WatchStart::After(version)) => version,
        (None, WatchStart::Now | WatchStart::InitialState { .. }) => started.feed.progress(),
    };
    let view = View {
        resource: Arc::clone(&request.resource),
        selection,
        representation: request.representation,
        headers_shown: false,
    };
    let initial = started.initial.map(|initial| Initial {
        begun: false,
        objects: UnshownObjects::new(initial.objects, initial.more, initial.kept_until),
        end: options.wants_initial_events_end().then_some(initial.resource_version),
    });
    let room = Room {
        view,
        since,
        told: since,
        initial,
        feed: Some(started.feed),
        bookmarks: options
            .allow_watch_bookmarks
            .then(|| Bookmarks::new(Instant::now(), timeout, request.options.bookmark_interval)),
        life: WatchLife::new(timeout, request.options.stop.clone()),
        pieces_on: request.options.pieces,
    };
    let chunks = stream::unfold(room, |mut room| async move {
        let chunk = room.next_chunk().await?;
        Some((Ok::<Bytes, Infallible>(chunk), room))
    });
    Ok(body_response(StatusCode::OK, JSON, Body::from_stream(chunks)))
}

/// How this watch shows objects, and what it has shown.
#[derive(Clone)]
struct View {
    resource: Arc<ResourceInfo>,
    selection: Selection,
    representation: Representation,
    /// Only the first table of a watch has headers.
    headers_shown: bool,
}

/// When bookmarks are due: once in an interval, and shortly before the watch's time is over, so that the
/// client goes on from a fresh place (storage/cacher's `cacheWatcher.nextBookmarkTime`).
struct Bookmarks {
    interval: Duration,
    next: Instant,
    /// The one before the end; `None` once it was due.
    last: Option<Instant>,
}

impl Bookmarks {
    fn new(now: Instant, timeout: Duration, interval: Duration) -> Self {
        let last = timeout.checked_sub(BOOKMARK_BEFORE_END).map(|after| now + after);
        Self { interval, next: now + interval, last }
    }

    fn due(&self) -> Instant {
        self.last.map_or(self.next, |last| last.min(self.next))
    }

    fn advance(&mut self, now: Instant) {
        self.last = self.last.filter(|last| *last > now);
        self.next = self.next.max(now + self.interval);
    }
}

/// What is left of the initial events.
struct Initial {
    begun: bool,
    objects: UnshownObjects,
    /// The version to put into the bookmark that ends them, if the client asked for it.
    end: Option<u64>,
}

/// A running watch.
struct Room {
    view: View,
    /// The resourceVersion after which the changes follow.
    since: u64,
    /// The newest one that a bookmark may say. A feed that learns of changes before it has them goes back meanwhile.
    told: u64,
    initial: Option<Initial>,
    /// `None` once the last event is out.
    feed: Option<Box<dyn ChangeFeed>>,
    /// `None` if the client wants none.
    bookmarks: Option<Bookmarks>,
    life: WatchLife,
    pieces_on: PiecesOn,
}

/// Why a watch woke up.
enum Wake {
    Changes(Vec<Change>),
    Failed(Status),
    BookmarkDue,
    Ended(WatchEnd),
}

impl Room {
    /// The next events as they go out; `None` ends the stream.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if let Some(end) = self.life.over() {
            self.feed.take()?.end(end);
            return None;
        }
        while let Some(initial) = self.initial.take() {
            let chunk = self.initial_chunk(initial).await?;
            if !chunk.is_empty() {
                return Some(chunk);
            }
        }
        loop {
            match self.wait().await? {
                Wake::Changes(changes) => {
                    let (chunk, sent) = self.changes_chunk(changes).await?;
                    self.feed.as_mut()?.sent(sent);
                    if !chunk.is_empty() {
                        return Some(chunk);
                    }
                    // There may be thousands of kept changes of which none is selected.
                    yield_now().await;
                }
                Wake::BookmarkDue => {
                    if let Some(bookmarks) = &mut self.bookmarks {
                        bookmarks.advance(Instant::now());
                    }
                    self.told = self.told.max(self.feed.as_ref()?.progress());
                    // None before the resourceVersion has moved on from the start; from then on each time, which shows a client that
                    // the connection is alive (storage/cacher's `cacheWatcher.process`). There the start is after the changes that are
                    // replayed at once.
                    if self.told > self.since {
                        return Some(self.view.bookmark(self.told, false));
                    }
                }
                Wake::Failed(status) => {
                    self.feed = None;
                    return Some(encode_event(WatchEventType::Error, &status.to_json()));
                }
                Wake::Ended(end) => {
                    self.feed.take()?.end(end);
                    return None;
                }
            }
        }
    }

    /// Some of the initial events. None: the server stops.
    async fn initial_chunk(&mut self, mut initial: Initial) -> Option<Bytes> {
        initial.objects.fill().await.ok()?;
        let is_small = |object: &ApiObject| self.view.work(object.json_len()) <= SMALL_BYTES;
        let is_small = initial.objects.peek(is_small).is_ok_and(|small| small.unwrap_or(true));
        let (chunk, more) = if !initial.begun && is_small {
            // A few small objects cost less than a change of threads.
            initial.begun = true;
            self.view.initial_chunk(&mut initial, SMALL_BYTES)
        } else {
            let mut view = self.view.clone();
            let make = move || (view.initial_chunk(&mut initial, READ_BYTES), view, initial);
            let made;
            (made, self.view, initial) = self.pieces_on.make(make).await?;
            made
        };
        if more {
            initial.objects.wait_for_client();
            self.initial = Some(initial);
        }
        Some(chunk)
    }

    /// The events of the selected changes, and how many there are. None: the server stops.
    async fn changes_chunk(&mut self, changes: Vec<Change>) -> Option<(Bytes, usize)> {
        if !self.view.is_made_aside(&changes) {
            return Some(self.view.changes_chunk(&changes));
        }
        let mut view = self.view.clone();
        let made;
        (made, self.view) =
            self.pieces_on.make(move || (view.changes_chunk(&changes), view)).await?;
        Some(made)
    }

    /// Waits for the next reason to wake up. None: the feed has ended.
    async fn wait(&mut self) -> Option<Wake> {
        let feed = self.feed.as_mut()?;
        let bookmark_due = async {
            match &self.bookmarks {
                Some(bookmarks) => sleep_until(bookmarks.due()).await,
                None => std::future::pending().await,
            }
        };
        Some(tokio::select! {
            biased;
            end = self.life.ended() => Wake::Ended(end),
            next = feed.next() => match next? {
                Ok(changes) => Wake::Changes(changes),
                Err(status) => Wake::Failed(status),
            },
            () = bookmark_due => Wake::BookmarkDue,
        })
    }
}

/// The bytes of an object that take about as long as one look at its labels.
const LOOK_BYTES: usize = 32;

impl View {
    /// Whether the events of these changes are no work for the thread of the request: a row or the metadata of a large
    /// object needs a pass over the object, a row of many columns several, and the last state of one that leaves the
    /// selection one. Each requirement of the selection is looked at for each change.
    fn is_made_aside(&self, changes: &[Change]) -> bool {
        let is_copied = matches!(self.representation, Representation::Object)
            && self.selection.has_no_selectors();
        let bytes = || changes.iter().map(Change::json_len).sum::<usize>();
        let looks = changes.len() * self.selection.requirements();
        !is_copied && looks * LOOK_BYTES + self.work(bytes()) > SMALL_BYTES
    }

    /// The bytes of all passes over objects of so many bytes.
    fn work(&self, bytes: usize) -> usize {
        bytes * representation::passes(&self.resource, self.representation)
    }

    /// The initial events of so many bytes of objects, and whether there are more. There are none of a forgotten state: the
    /// feed goes on with an error.
    fn initial_chunk(&mut self, initial: &mut Initial, read_max: usize) -> (Bytes, bool) {
        let (mut chunk, mut read) = (BytesMut::new(), 0);
        while chunk.len() < CHUNK_BYTES && read < read_max {
            let object = match initial.objects.take_next() {
                Ok(Some(object)) => object,
                Ok(None) => {
                    let end = initial.end.map(|version| self.bookmark(version, true));
                    chunk.extend_from_slice(&end.unwrap_or_default());
                    return (chunk.freeze(), false);
                }
                Err(NotAtHand::Yet) => return (chunk.freeze(), true),
                Err(NotAtHand::StateForgotten) => return (chunk.freeze(), false),
            };
            if self.selection.selects(&object) {
                self.append(&mut chunk, WatchEventType::Added, &object);
            }
            read += self.work(object.json_len());
        }
        (chunk.freeze(), true)
    }

    /// The events of the selected changes, and how many there are.
    fn changes_chunk(&mut self, changes: &[Change]) -> (Bytes, usize) {
        let (mut chunk, mut count) = (BytesMut::new(), 0);
        for change in changes {
            if let Some((event_type, object)) = self.selection.event(change) {
                self.append(&mut chunk, event_type, &object);
                count += 1;
            }
        }
        (chunk.freeze(), count)
    }

    fn append(&mut self, chunk: &mut BytesMut, event_type: WatchEventType, object: &ApiObject) {
        let json = render_object(
            object,
            &self.resource,
            self.representation,
            Timestamp::now(),
            self.headers_shown,
        );
        self.headers_shown = true;
        append_event(chunk, event_type, &json);
    }

    fn bookmark(&self, version: u64, initial_events_end: bool) -> Bytes {
        let resource = &self.resource;
        let json =
            representation::bookmark(resource, version, initial_events_end, self.representation);
        encode_event(WatchEventType::Bookmark, &json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeptUntil;
    use crate::table::IncludeObject;
    use futures::future::{BoxFuture, pending};
    use serde_json::json;
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use tokio_util::sync::CancellationToken;

    /// A watch of a custom resource with so many columns.
    fn view(representation: Representation, columns: usize, labels: &str) -> View {
        let labels = labels.parse().expect("a selector");
        let selection = Selection { labels, ..Selection::default() };
        let column = json!({"name": "C", "type": "string", "jsonPath": ".data"});
        let printer_columns = vec![column; columns].into();
        let thing = ResourceInfo::of_test("example.com/v1/things");
        let resource = Arc::new(ResourceInfo { custom: true, printer_columns, ..thing });
        View { resource, selection, representation, headers_shown: false }
    }

    /// A change of an object of so many bytes, in a watch of a custom resource with so many columns.
    #[track_caller]
    fn check_aside(
        (representation, columns): (Representation, usize),
        labels: &str,
        bytes: usize,
        expect: bool,
    ) {
        let data = json!({"metadata": {"name": "a"}, "data": "x".repeat(bytes)});
        let change = Change::Added(Arc::new(ApiObject::from_value(&data, &[])));
        let view = view(representation, columns, labels);
        assert_eq!(view.is_made_aside(&[change]), expect, "{columns} columns, {bytes} bytes");
    }

    #[test]
    fn large_changes_are_made_aside_unless_they_are_copied() {
        let check = |representation, labels: &str, bytes: usize, expect| {
            check_aside((representation, 0), labels, bytes, expect);
        };
        check(Representation::Object, "", SMALL_BYTES, false);
        check(Representation::Object, "app=web", 10, false);
        check(Representation::Object, "app=web", SMALL_BYTES, true);
        check(Representation::PartialMetadata, "", 10, false);
        check(Representation::PartialMetadata, "", SMALL_BYTES, true);
        check(Representation::Table(IncludeObject::Metadata), "", SMALL_BYTES, true);
        let labels =
            |count: usize| (0..count).map(|n| format!("a{n}")).collect::<Vec<_>>().join(",");
        let looks_max = SMALL_BYTES / LOOK_BYTES;
        check(Representation::Object, &labels(looks_max - 9), 10, false);
        check(Representation::Object, &labels(looks_max + 1), 10, true);
    }

    /// A feed with kept changes, each at once.
    struct Kept(usize);

    impl ChangeFeed for Kept {
        fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
            let data = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
            let change = Change::Added(Arc::new(ApiObject::from_value(&data, &[])));
            let next = self.0.checked_sub(1).map(|left| {
                self.0 = left;
                Ok(vec![change])
            });
            Box::pin(async { next })
        }

        fn progress(&self) -> u64 {
            0
        }
    }

    /// A watch from an old version.
    fn room(feed: Kept, labels: &str) -> Room {
        Room {
            view: view(Representation::Object, 0, labels),
            since: 0,
            told: 0,
            initial: None,
            feed: Some(Box::new(feed)),
            bookmarks: None,
            life: WatchLife::new(Duration::from_secs(60), CancellationToken::new()),
            pieces_on: PiecesOn::Here,
        }
    }

    /// A feed whose changes since its beginning are not kept any more.
    struct TooLate;

    impl ChangeFeed for TooLate {
        fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
            Box::pin(async { Some(Err(Status::too_old_resource_version(5, 9))) })
        }

        fn progress(&self) -> u64 {
            5
        }
    }

    #[tokio::test]
    async fn a_beginning_that_is_read_too_slowly_ends_as_a_watch_that_is_too_late() {
        let object = |name| {
            let metadata = json!({"name": name, "resourceVersion": "5"});
            let object = json!({"metadata": metadata, "data": "x".repeat(SMALL_BYTES)});
            Arc::new(ApiObject::from_value(&object, &[]))
        };
        let objects = (0..100).map(|number| object(number.to_string())).collect();
        let kept_until = KeptUntil::when(std::future::ready(()));
        let objects = UnshownObjects::new(objects, None, Some(kept_until));
        let mut room = room(Kept(0), "");
        room.initial = Some(Initial { begun: false, objects, end: Some(5) });
        room.feed = Some(Box::new(TooLate));
        let mut lines = Vec::new();
        while let Some(chunk) = room.next_chunk().await {
            lines.extend(chunk.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            // The objects are dropped while the client reads.
            tokio::task::yield_now().await;
        }
        lines.retain(|line| !line.is_empty());
        let events = lines.iter().map(|line| serde_json::from_slice(line).expect("JSON"));
        let events: Vec<serde_json::Value> = events.collect();
        let (last, added) = events.split_last().expect("an event");
        assert!(added.iter().all(|event| event["type"] == "ADDED"), "{added:?}");
        assert!((1..100).contains(&added.len()), "{}", added.len());
        assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
    }

    /// A feed without changes, with another progress each time.
    struct Progress(Mutex<VecDeque<u64>>);

    impl ChangeFeed for Progress {
        fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
            Box::pin(pending())
        }

        fn progress(&self) -> u64 {
            self.0.lock().expect("nobody panics").pop_front().expect("no bookmark is asked for")
        }
    }

    #[tokio::test]
    async fn bookmarks_begin_after_the_start_and_are_repeated_and_never_go_back() {
        let mut room = room(Kept(0), "");
        room.feed = Some(Box::new(Progress(Mutex::new([4, 5, 8, 6, 9].into()))));
        (room.since, room.told) = (5, 5);
        let interval = Duration::from_millis(1);
        room.bookmarks = Some(Bookmarks::new(Instant::now(), Duration::from_secs(60), interval));
        for expect in ["8", "8", "9"] {
            let chunk = room.next_chunk().await.expect("the watch goes on");
            let event: serde_json::Value = serde_json::from_slice(&chunk).expect("JSON");
            let version = &event["object"]["metadata"]["resourceVersion"];
            assert_eq!((&event["type"], version), (&json!("BOOKMARK"), &json!(expect)));
        }
    }

    #[tokio::test]
    async fn changes_that_are_not_selected_leave_others_their_turns() {
        let mut room = room(Kept(1_000), "app=web");
        let mut turns = 0;
        let mut chunk = std::pin::pin!(room.next_chunk());
        while futures::poll!(chunk.as_mut()).is_pending() {
            turns += 1;
        }
        assert_eq!(turns, 1_000);
    }

    #[test]
    fn rows_of_many_columns_are_made_aside_for_smaller_changes() {
        let check = |columns: usize, bytes: usize, expect| {
            let table = Representation::Table(IncludeObject::None);
            check_aside((table, columns), "", bytes, expect);
        };
        check(4, SMALL_BYTES - 100, false);
        check(5, SMALL_BYTES - 100, true);
        check(200, SMALL_BYTES / 50 - 100, false);
        check(200, SMALL_BYTES / 50, true);
    }
}
