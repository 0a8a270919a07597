//! A watch of a resource as server-sent events, for `EventSource` of browsers and for `curl -N`.
//!
//! The id of an event is a resourceVersion up to which the client knows every change, so a client that comes back
//! with the last one misses none. The objects that are there at the beginning have no id: they are in the order of
//! their names, and a client that has lost some of them begins anew.
//!
//! Events are made aside: selectors, unpacking and fields of many watches would hold the thread that answers all requests of an address.

use super::answers::message;
use super::gzip::Live;
use super::header_lists::{is_accepted, items};
use super::pages::shown;
use super::query::Query;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use informant_apimachinery::Status;
use informant_apimachinery::watch::WatchEventType;
use informant_apiserver::aside;
use informant_apiserver::{
    ApiObject, Change, ChangeFeed, InitialState, NotAtHand, Selection, UnshownObjects, Watch,
    WatchLife, WatchStart,
};
use informant_cache::Projection;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use std::vec;
use tokio::time::{Instant, sleep_until};

/// The name of the header with which a client goes on.
const LAST_EVENT_ID: &str = "last-event-id";
const MEDIA_TYPE: &str = "text/event-stream";
/// Proxies close connections that are silent for longer.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes of initial objects of which events are made at once, if it is more than one object.
const MADE_BYTES: usize = 256 << 10;
/// The ids of a client whose selectors select few changes would grow too old.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// Where the watch begins that a request asks for; none: it asks for a list.
pub(super) fn watch_start(
    query: &Query,
    headers: &HeaderMap,
) -> Result<Option<WatchStart>, String> {
    if !query.watch.unwrap_or_else(|| accepts_events(headers)) {
        return match query.resource_version {
            Some(_) => Err("resourceVersion is for watch=true; leave it out of a list".to_owned()),
            None => Ok(None),
        };
    }
    if query.limit.is_some() || query.after.is_some() {
        return Err("limit and continue are for lists; leave them out of a watch".to_owned());
    }
    // A browser comes back with the query that it began with, and with the id of the last event.
    let version = match last_event_id(headers)? {
        None => query.resource_version.unwrap_or_default(),
        Some(version) => version,
    };
    Ok(Some(match version {
        0 => WatchStart::InitialState { not_older_than: 0 },
        version => WatchStart::After(version),
    }))
}

/// Whether the first types of `Accept` name that of server-sent events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    items(headers, &header::ACCEPT).any(|one| {
        let plain = one.split(';').next().unwrap_or_default().trim();
        plain.eq_ignore_ascii_case(MEDIA_TYPE) && is_accepted(one)
    })
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, String> {
    let Some(value) = headers.get(LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    let problem = || format!("Last-Event-ID is {value:?}; it is the id of an event");
    number.map(Some).ok_or_else(problem)
}

/// Answers with the events of a watch, or why there is none.
pub(super) fn respond(
    watch: Result<Watch, Status>,
    selection: Selection,
    projection: Option<Projection>,
    life: WatchLife,
) -> Response {
    let events = match watch {
        Ok(watch) => Events::new(watch, selection, projection, life),
        // A browser does not come back after another status than 200.
        Err(status) if status.code == StatusCode::GONE.as_u16() => {
            let only = stream::iter([Ok::<_, Infallible>(error(&status))]);
            return live(Sse::new(only));
        }
        Err(status) => return refused(&status),
    };
    let events = stream::unfold(events, |mut events| async move {
        let event = events.next().await?;
        Some((Ok::<_, Infallible>(event), events))
    });
    stream_of(events)
}

/// Answers with events as they come, with a comment where they are silent for long.
pub(super) fn stream_of(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    live(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn live(events: impl IntoResponse) -> Response {
    let mut response = events.into_response();
    response.extensions_mut().insert(Live);
    response
}

pub(super) fn refused(status: &Status) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    message(code, &*status.message)
}

/// A running watch.
struct Events {
    view: Arc<EventView>,
    /// The objects that were there at the beginning and are yet to be sent.
    initial: Option<UnshownObjects>,
    /// The version of a bookmark that is due.
    bookmark: Option<u64>,
    /// Events that are made and yet to be sent.
    ready: vec::IntoIter<Event>,
    /// None once nothing more comes.
    feed: Option<Box<dyn ChangeFeed>>,
    /// The newest id that the client has.
    known: u64,
    next_bookmark: Instant,
    life: WatchLife,
}

/// The objects of a watch, and the parts of them in its events.
struct EventView {
    selection: Selection,
    projection: Option<Projection>,
}

/// What a watch waits for.
enum Awaited {
    Changes(Vec<Change>),
    Failure(Status),
    Bookmark,
    End,
}

impl Events {
    fn new(
        watch: Watch,
        selection: Selection,
        projection: Option<Projection>,
        life: WatchLife,
    ) -> Self {
        let now = Instant::now();
        let (initial, bookmark) = match watch.initial {
            Some(InitialState { objects, more, resource_version, kept_until }) => {
                (Some(UnshownObjects::new(objects, more, kept_until)), Some(resource_version))
            }
            None => (None, None),
        };
        Self {
            view: Arc::new(EventView { selection, projection }),
            initial,
            bookmark,
            ready: Vec::new().into_iter(),
            feed: Some(watch.feed),
            known: 0,
            next_bookmark: now + BOOKMARK_INTERVAL,
            life,
        }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.life.over() {
                self.feed.take()?.end(end);
                return None;
            }
            if let Some(event) = self.ready.next() {
                return Some(event);
            }
            if let Some(initial) = self.initial.take() {
                self.make_initial(initial).await?;
                continue;
            }
            if let Some(version) = self.bookmark.take() {
                self.known = self.known.max(version);
                return Some(bookmark(version));
            }
            match self.wait().await? {
                Awaited::Changes(changes) => self.make(changes).await?,
                Awaited::Failure(status) => {
                    self.feed = None;
                    return Some(error(&status));
                }
                Awaited::Bookmark => {
                    self.next_bookmark = Instant::now() + BOOKMARK_INTERVAL;
                    let version = self.feed.as_ref()?.progress();
                    self.bookmark = (version > self.known).then_some(version);
                }
                // Its time is over.
                Awaited::End => {}
            }
        }
    }

    /// Makes the events of the next initial objects. Of a forgotten state there are no more: the feed goes on with an
    /// error. None: the host ends.
    async fn make_initial(&mut self, mut initial: UnshownObjects) -> Option<()> {
        initial.fill().await.ok()?;
        let view = self.view.clone();
        let make = move || {
            let (mut events, mut bytes) = (Vec::new(), 0);
            loop {
                let next = initial.peek(ApiObject::json_len);
                // A large object alone is more than these bytes.
                let is_room = |next: &usize| bytes == 0 || bytes + next <= MADE_BYTES;
                if !matches!(&next, Ok(Some(bytes)) if is_room(bytes)) {
                    return (events, next.map(|next| next.is_some()), initial);
                }
                if let Ok(Some(object)) = initial.take_next() {
                    events.push(view.event(WatchEventType::Added, &object));
                    bytes += object.json_len();
                }
            }
        };
        let (events, has_more, mut initial) = aside(make).await?;
        self.ready = events.into_iter();
        match has_more {
            Ok(true) | Err(NotAtHand::Yet) => {
                initial.wait_for_client();
                self.initial = Some(initial);
            }
            Ok(false) => {}
            Err(NotAtHand::StateForgotten) => self.bookmark = None,
        }
        Some(())
    }

    /// Makes the events of the selected changes. None: the host ends.
    async fn make(&mut self, changes: Vec<Change>) -> Option<()> {
        let view = self.view.clone();
        let make = move || {
            let selected = changes.iter().filter_map(|change| view.selection.event(change));
            let event = |(event_type, object): (WatchEventType, Arc<ApiObject>)| {
                let version = object.resource_version();
                (version, view.event(event_type, &object).id(version.to_string()))
            };
            selected.map(event).unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let (versions, events) = aside(make).await?;
        if let Some(last) = versions.last() {
            self.feed.as_mut()?.sent(events.len());
            self.known = self.known.max(*last);
        }
        self.ready = events.into_iter();
        Some(())
    }

    async fn wait(&mut self) -> Option<Awaited> {
        let feed = self.feed.as_mut()?;
        Some(tokio::select! {
            biased;
            _ = self.life.ended() => Awaited::End,
            next = feed.next() => match next {
                Some(Ok(changes)) => Awaited::Changes(changes),
                Some(Err(status)) => Awaited::Failure(status),
                None => return None,
            },
            () = sleep_until(self.next_bookmark) => Awaited::Bookmark,
        })
    }
}

impl EventView {
    fn event(&self, event_type: WatchEventType, object: &ApiObject) -> Event {
        let json = shown(object.json(), self.projection.as_ref());
        named(event_type).data(String::from_utf8_lossy(&json))
    }
}

fn bookmark(version: u64) -> Event {
    let data = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#);
    named(WatchEventType::Bookmark).data(data).id(version.to_string())
}

/// The last event of a watch that has missed changes. With its id the client begins anew, whatever its query says.
fn error(status: &Status) -> Event {
    named(WatchEventType::Error).data(String::from_utf8_lossy(&status.to_json())).id("0")
}

fn named(event_type: WatchEventType) -> Event {
    Event::default().event(event_type.as_str().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::super::query::InPath;
    use super::*;
    use axum::body::{Body, to_bytes};
    use futures::future::BoxFuture;
    use http_body_util::BodyExt as _;
    use informant_apiserver::KeptUntil;
    use serde_json::{Value, json};
    use std::collections::VecDeque;
    use tokio::sync::oneshot;
    use tokio_util::sync::CancellationToken;

    /// Where a watch begins (`list`: there is none), or why it is refused. Headers are `name: value`.
    #[track_caller]
    fn check_start(text: &str, lines: &[&str], expect: Result<&str, &str>) {
        let pods = "v1/pods".parse().expect("a resource");
        let query = Query::parse(&pods, InPath::default(), Some(text)).expect("a query");
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a header");
            let name = header::HeaderName::from_bytes(name.as_bytes()).expect("a name");
            headers.append(name, value.parse().expect("a value"));
        }
        let found = watch_start(&query, &headers).map(|start| match start {
            None => "list".to_owned(),
            Some(WatchStart::After(version)) => version.to_string(),
            Some(WatchStart::InitialState { .. }) => "all".to_owned(),
            Some(WatchStart::Now) => "now".to_owned(),
        });
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{text} {lines:?}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{text}: {found}"),
            (found, expect) => panic!("{text} {lines:?}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_watch_is_asked_for_by_parameter_or_by_media_type() {
        check_start("", &[], Ok("list"));
        check_start("watch=true", &[], Ok("all"));
        check_start("watch=1", &["accept: application/json"], Ok("all"));
        check_start("", &["accept: text/html, Text/Event-Stream;q=0.9"], Ok("all"));
        check_start("", &["accept: application/json, text/event-stream;q=0"], Ok("list"));
        check_start("watch=false", &["accept: text/event-stream"], Ok("list"));
        check_start("", &["accept: */*", "last-event-id: 7"], Ok("list"));
    }

    #[test]
    fn a_watch_goes_on_after_what_its_client_knows() {
        check_start("watch=true&resourceVersion=7", &[], Ok("7"));
        check_start("watch=true&resourceVersion=0", &[], Ok("all"));
        check_start("watch=true", &["last-event-id: 9"], Ok("9"));
        check_start("watch=true&resourceVersion=7", &["last-event-id: 9"], Ok("9"));
        check_start("watch=true&resourceVersion=7", &["last-event-id: "], Ok("7"));
        check_start("watch=true", &["last-event-id: soon"], Err("Last-Event-ID is \"soon\""));
    }

    #[test]
    fn parameters_of_lists_are_no_parameters_of_watches() {
        check_start("resourceVersion=7", &[], Err("resourceVersion is for watch=true"));
        check_start("watch=true&limit=7", &[], Err("limit and continue are for lists"));
    }

    /// Gives these changes, and then the end.
    struct Told(VecDeque<Result<Vec<Change>, Status>>);

    impl ChangeFeed for Told {
        fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
            Box::pin(std::future::ready(self.0.pop_front()))
        }

        fn progress(&self) -> u64 {
            90
        }
    }

    /// `NAME@VERSION`, with the label `app`.
    fn object(text: &str, app: &str) -> Arc<ApiObject> {
        let (name, version) = text.split_once('@').expect("a version");
        let metadata = json!({"name": name, "resourceVersion": version, "labels": {"app": app}});
        Arc::new(ApiObject::from_value(&json!({"metadata": metadata}), &[]))
    }

    /// A watch for `app=web` that has the names alone.
    fn body(watch: Result<Watch, Status>) -> Body {
        let labels = "app=web".parse().expect("a selector");
        let selection = Selection { labels, ..Selection::default() };
        let projection = Some(Projection::new(["/metadata/name"]));
        let stop = CancellationToken::new();
        let life = WatchLife::new(Duration::from_secs(600), stop);
        respond(watch, selection, projection, life).into_body()
    }

    /// The text of such a watch, or of its rest.
    async fn text(body: Body) -> String {
        let body = to_bytes(body, usize::MAX).await.expect("it ends");
        String::from_utf8(body.to_vec()).expect("text")
    }

    #[tokio::test]
    async fn objects_changes_and_the_end_of_what_is_known_are_events() {
        let objects = vec![object("a@7", "web"), object("b@5", "web")];
        let initial = InitialState { objects, resource_version: 8, ..InitialState::default() };
        let initial = Some(initial);
        let changes = vec![
            Change::Added(object("c@9", "web")),
            Change::Added(object("d@10", "db")),
            Change::Modified { old: object("c@9", "web"), new: object("c@11", "web") },
            Change::Modified { old: object("c@11", "web"), new: object("c@12", "db") },
        ];
        let gone = Status::too_old_resource_version(12, 20);
        let feed = Box::new(Told([Ok(changes), Err(gone.clone()), Ok(Vec::new())].into()));
        let sent = text(body(Ok(Watch { initial, feed }))).await;
        let (told, failure) = sent.split_once("event: error\n").expect("it fails");
        let named = |event: &str, name: &str| {
            format!("event: {event}\ndata: {{\"metadata\":{{\"name\":\"{name}\"}}}}\n")
        };
        let expect = [
            format!("{}\n", named("added", "a")),
            format!("{}\n", named("added", "b")),
            "event: bookmark\ndata: {\"metadata\":{\"resourceVersion\":\"8\"}}\nid: 8\n\n".into(),
            format!("{}id: 9\n\n", named("added", "c")),
            format!("{}id: 11\n\n", named("modified", "c")),
            format!("{}id: 12\n\n", named("deleted", "c")),
        ];
        assert_eq!(told, expect.concat());
        let data = failure.strip_prefix("data: ").and_then(|text| text.strip_suffix("\nid: 0\n\n"));
        let data: Value = serde_json::from_str(data.expect("one event")).expect("JSON");
        assert_eq!((&data["code"], &data["reason"]), (&json!(410), &json!("Expired")));
        // A past that is gone at the beginning has the same event.
        assert_eq!(text(body(Err(gone))).await, format!("event: error\n{failure}"));
    }

    #[tokio::test]
    async fn a_beginning_that_is_read_too_slowly_ends_with_an_error() {
        let large = |name: &str| {
            let metadata = json!({"name": name, "labels": {"app": "web"}});
            let object = json!({"metadata": metadata, "data": "x".repeat(MADE_BYTES)});
            Arc::new(ApiObject::from_value(&object, &[]))
        };
        let (keep, kept) = oneshot::channel::<()>();
        let kept_until = Some(KeptUntil::when(async { drop(kept.await) }));
        let objects = vec![large("a"), large("b"), large("c")];
        let last = Arc::downgrade(&objects[2]);
        let initial = Some(InitialState { objects, more: None, resource_version: 8, kept_until });
        let gone = Status::too_old_resource_version(8, 20);
        let feed = Box::new(Told([Err(gone)].into()));
        let mut body = body(Ok(Watch { initial, feed }));
        let first = body.frame().await.expect("an event").expect("no error");
        let first = first.into_data().expect("bytes");
        assert!(first.starts_with(b"event: added\n"), "{first:?}");
        // The client reads no more, and the state is forgotten.
        drop(keep);
        while last.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        let rest = text(body).await;
        assert!(rest.starts_with("event: error\n"), "{rest}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_watch_has_heartbeats_and_bookmarks_until_its_time_is_over() {
        struct Silent;
        impl ChangeFeed for Silent {
            fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<Change>, Status>>> {
                Box::pin(std::future::pending())
            }
            fn progress(&self) -> u64 {
                90
            }
        }
        let sent = text(body(Ok(Watch { initial: None, feed: Box::new(Silent) }))).await;
        let count = |what: &str| sent.lines().filter(|line| *line == what).count();
        assert_eq!(count("id: 90"), 1, "{sent}");
        // An event counts as a heartbeat.
        assert!((38..=39).contains(&count(":")), "{sent}");
    }

    #[tokio::test]
    async fn other_failures_are_answers() {
        let life = || WatchLife::new(Duration::from_secs(1), CancellationToken::new());
        for (status, expect) in [
            (Status::too_many_requests("256 watches are open", 1), 429),
            (Status::service_unavailable("it lists again"), 503),
        ] {
            let response = respond(Err(status), Selection::default(), None, life());
            assert_eq!(response.status().as_u16(), expect);
            assert!(response.headers().contains_key(header::RETRY_AFTER), "{expect}");
        }
    }
}
