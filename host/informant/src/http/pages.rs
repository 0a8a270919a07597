//! A resource's objects as one JSON list, in pieces of bounded size, so that a large resource is never in
//! memory twice.

use super::query::{Query, continue_after};
use bytes::{BufMut, Bytes, BytesMut};
use informant_apimachinery::LabelSelector;
use informant_apiserver::aside;
use informant_cache::{Indexer, InformerLease, Object, ObjectKey, Projection, Scope, ScopeError};
use std::io;
use std::sync::Arc;

/// A piece of the answer ends with the object that reaches this.
const PIECE_BYTES: usize = 64 * 1024;
/// Handles taken from the indexer at a time; their bytes stay where they are.
const PAGE_ITEMS: usize = 200;
/// What is looked at for selectors before others have their turn.
const LOOKED_BYTES: usize = 4 << 20;

/// The answer `{"member":[...],"continue":"..."}`, piece by piece. It is made aside, in steps, because a selector may look at many objects and select none.
pub(crate) struct Pages {
    indexer: Indexer,
    namespace: Option<String>,
    /// What the query's selectors select.
    selected: Scope,
    /// What is sent of each object; none: all of it.
    projection: Option<Projection>,
    member: &'static str,
    position: Position,
    /// The objects that may still be sent; none: all.
    room: Option<usize>,
    last_sent: Option<ObjectKey>,
    /// So long everything stays there that is yet to be sent.
    _lease: Option<Arc<InformerLease>>,
}

/// While a piece is being sent, no later object is kept: a slow reader keeps no old state alive.
enum Position {
    /// In front of everything, or behind the object of this cursor, which an earlier page has ended with.
    Start(Option<String>),
    /// Behind the object of this cursor.
    After(String),
    /// In front of an answer with this object alone.
    One(Object),
    End,
}

impl Pages {
    pub(crate) fn new(
        indexer: Indexer,
        query: Query,
        member: &'static str,
    ) -> Result<Self, ScopeError> {
        let Query { namespace, labels, fields, projection, limit: room, after, .. } = query;
        let selected = Scope::all().with_labels(labels).with_fields(fields)?;
        let position = Position::Start(after.as_ref().map(Indexer::cursor_after));
        let (last_sent, _lease) = (None, None);
        Ok(Self {
            indexer,
            namespace,
            selected,
            projection,
            member,
            position,
            room,
            last_sent,
            _lease,
        })
    }

    /// The same for the resource of this lease.
    pub(crate) fn of(
        lease: Arc<InformerLease>,
        query: Query,
        member: &'static str,
    ) -> Result<Self, ScopeError> {
        let indexer = lease.informer().indexer();
        Ok(Self { _lease: Some(lease), ..Self::new(indexer, query, member)? })
    }

    /// The answer with this object alone, if it is selected.
    pub(crate) fn of_one(
        object: Object,
        query: Query,
        member: &'static str,
    ) -> Result<Self, ScopeError> {
        let nothing = Self::new(Indexer::default(), query, member)?;
        Ok(Self { position: Position::One(object), ..nothing })
    }

    /// The next piece, in the shape that `futures::stream::try_unfold` takes. An error breaks the connection: the
    /// answer may have begun, and a list that is cut short must not end as a complete one.
    pub(crate) async fn next(self) -> io::Result<Option<(Bytes, Self)>> {
        if matches!(self.position, Position::End) {
            return Ok(None);
        }
        let (mut pages, mut piece) = (self, BytesMut::new());
        loop {
            let step = move || {
                let complete = pages.step(&mut piece);
                (complete, pages, piece)
            };
            let ended = || io::Error::other("the host stops");
            let complete;
            (complete, pages, piece) = aside(step).await.ok_or_else(ended)?;
            if complete? {
                return Ok(Some((piece.freeze(), pages)));
            }
        }
    }

    /// Adds some objects to the piece. Returns whether it is complete.
    fn step(&mut self, piece: &mut BytesMut) -> io::Result<bool> {
        let cursor = match std::mem::replace(&mut self.position, Position::End) {
            Position::End => return Ok(true),
            Position::After(cursor) => Some(cursor),
            Position::Start(after) => {
                self.begin(piece);
                after
            }
            Position::One(object) => {
                self.begin(piece);
                if self.selected.contains(&object) {
                    self.send(&object, piece);
                }
                piece.put_slice(b"]}\n");
                return Ok(true);
            }
        };
        let everything = LabelSelector::default();
        let page = self.indexer.list(
            self.namespace.as_deref(),
            &everything,
            PAGE_ITEMS,
            cursor.as_deref(),
        );
        let page = page.map_err(|error| io::Error::other(error.to_string()))?;
        let mut looked = 0;
        for object in page.items {
            looked += object.json_len();
            if self.selected.contains(&object) {
                if self.room == Some(0) {
                    self.end_before_more(piece);
                    return Ok(true);
                }
                self.send(&object, piece);
            }
            if piece.len() >= PIECE_BYTES || looked >= LOOKED_BYTES {
                self.position = Position::After(Indexer::cursor_after(object.key()));
                return Ok(piece.len() >= PIECE_BYTES);
            }
        }
        match page.next {
            Some(cursor) => {
                self.position = Position::After(cursor);
                Ok(false)
            }
            None => {
                piece.put_slice(b"]}\n");
                Ok(true)
            }
        }
    }

    fn begin(&self, piece: &mut BytesMut) {
        piece.put_slice(format!("{{\"{}\":[", self.member).as_bytes());
    }

    fn send(&mut self, object: &Object, piece: &mut BytesMut) {
        if self.last_sent.replace(object.key().clone()).is_some() {
            piece.put_u8(b',');
        }
        piece.put_slice(&shown(object.json(), self.projection.as_ref()));
        self.room = self.room.map(|room| room - 1);
    }

    /// Ends a page that is full, where another one follows.
    fn end_before_more(&self, piece: &mut BytesMut) {
        let token = self.last_sent.as_ref().map(continue_after).unwrap_or_default();
        piece.put_slice(format!("],\"continue\":\"{token}\"}}\n").as_bytes());
    }
}

/// An object's JSON as an answer has it.
pub(super) fn shown(json: Bytes, projection: Option<&Projection>) -> Bytes {
    match projection {
        Some(projection) => projection.kept(&json).into(),
        None => json,
    }
}

#[cfg(test)]
mod tests {
    use super::super::field_paths::field_paths;
    use super::super::query::InPath;
    use super::*;
    use futures::StreamExt;
    use informant_apimachinery::GroupVersionResource;
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, ObjectKey, SharedInformerFactory};
    use std::sync::Arc;
    use std::time::Duration;

    /// That many ConfigMaps of that size, half of them in the namespace `b`.
    fn source(count: usize, bytes: usize) -> FakeControllerSource {
        let source = FakeControllerSource::default();
        for number in 0..count {
            let data = "x".repeat(bytes);
            let namespace = if number * 2 < count { "a" } else { "b" };
            source.add(&format!(
                r#"{{"metadata":{{"namespace":"{namespace}","name":"n-{number:05}"}},"data":{{"x":"{data}"}}}}"#
            ));
        }
        source
    }

    /// The pieces of the answer to a query.
    async fn sent(source: FakeControllerSource, query: Query) -> Vec<Bytes> {
        let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let pages = Pages::new(informer.indexer(), query, "msg").expect("its fields are known");
        let sent: Vec<_> = futures::stream::try_unfold(pages, Pages::next).collect().await;
        factory.shutdown().await;
        sent.into_iter().map(|piece| piece.expect("a piece")).collect()
    }

    #[track_caller]
    fn names(sent: &[Bytes]) -> Vec<String> {
        let whole: serde_json::Value = serde_json::from_slice(&sent.concat()).expect("JSON");
        let items = whole["msg"].as_array().expect("a list");
        let name = |item: &serde_json::Value| item["metadata"]["name"].as_str().map(str::to_owned);
        items.iter().filter_map(name).collect()
    }

    /// The pieces in which that many ConfigMaps of that size are sent, each of which must keep to the limit.
    async fn check(count: usize, bytes: usize, pieces: std::ops::RangeInclusive<usize>) {
        let sent = sent(source(count, bytes), Query::default()).await;
        assert!(pieces.contains(&sent.len()), "{} pieces", sent.len());
        for piece in &sent {
            assert!(piece.len() < PIECE_BYTES + bytes + 1024, "a piece of {} bytes", piece.len());
        }
        let expect: Vec<String> = (0..count).map(|number| format!("n-{number:05}")).collect();
        assert_eq!(names(&sent), expect);
    }

    /// The names in the answer to a query, with more than two pages.
    async fn check_selected(namespace: Option<&str>, fields: &str, expect: &[&str]) {
        let query = Query {
            namespace: namespace.map(str::to_owned),
            fields: fields.parse().expect("a selector"),
            ..Query::default()
        };
        let sent = sent(source(2 * PAGE_ITEMS + 2, 0), query).await;
        assert_eq!(names(&sent), expect, "{namespace:?} {fields}");
    }

    #[tokio::test]
    async fn only_what_is_asked_for_is_sent() {
        check_selected(None, "metadata.name=n-00000", &["n-00000"]).await;
        check_selected(Some("b"), "metadata.name=n-00000", &[]).await;
        check_selected(Some("b"), "metadata.name=n-00401", &["n-00401"]).await;
        check_selected(None, "metadata.name=n-00401,metadata.namespace=b", &["n-00401"]).await;
        check_selected(Some("c"), "", &[]).await;
    }

    #[tokio::test]
    async fn one_object_is_sent_as_it_was_found() {
        let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"web"}},"data":{}}"#;
        let object = Object::decode(json, None).expect("it decodes");
        for (labels, expect) in [("app=web", r#"{"msg":[{"data":{}}]}"#), ("!app", r#"{"msg":[]}"#)]
        {
            let labels = labels.parse().expect("a selector");
            let projection = Some(field_paths("data").expect("a field"));
            let query = Query { labels, projection, ..Query::default() };
            let pages = Pages::of_one(object.clone(), query, "msg").expect("no fields");
            let (piece, rest) = pages.next().await.expect("it goes on").expect("a piece");
            assert_eq!(String::from_utf8_lossy(&piece).trim_end(), expect);
            assert!(rest.next().await.expect("it goes on").is_none());
        }
    }

    /// The names of each page, one after the other, of so many objects of a resource.
    async fn check_pages(count: usize, limit: usize, fields: &str, expect: &[usize]) {
        let source = Arc::new(source(count, 0));
        let factory = SharedInformerFactory::new(source, FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let (mut found, mut all, mut next) = (Vec::new(), Vec::new(), String::new());
        loop {
            let text = format!("limit={limit}&fieldSelector={fields}{next}");
            let query = Query::parse(informer.resource(), InPath::default(), Some(&text));
            let pages = Pages::new(informer.indexer(), query.expect("a query"), "msg");
            let pages = pages.expect("its fields are known");
            let sent: Vec<_> = futures::stream::try_unfold(pages, Pages::next).collect().await;
            let sent: Vec<Bytes> = sent.into_iter().map(|piece| piece.expect("a piece")).collect();
            let page = names(&sent);
            found.push(page.len());
            all.extend(page);
            let whole: serde_json::Value = serde_json::from_slice(&sent.concat()).expect("JSON");
            match whole.get("continue") {
                Some(token) => next = format!("&continue={}", token.as_str().expect("a token")),
                None => break,
            }
        }
        factory.shutdown().await;
        assert_eq!(found, expect, "{limit} of {count} with {fields}");
        assert!(all.is_sorted_by(|one, next| one < next), "{all:?}");
    }

    #[tokio::test]
    async fn fields_are_all_that_is_sent() {
        let projection = field_paths("metadata.name,data.y").expect("fields");
        let query = Query { projection: Some(projection), ..Query::default() };
        let sent = sent(source(2, 10), query).await.concat();
        let expect = r#"{"msg":[{"metadata":{"name":"n-00000"}},{"metadata":{"name":"n-00001"}}]}"#;
        assert_eq!(String::from_utf8_lossy(&sent).trim_end(), expect);
    }

    #[tokio::test]
    async fn a_limit_makes_pages_of_which_the_last_one_says_so() {
        let named = "metadata.name!%3Dnone";
        check_pages(0, 3, named, &[0]).await;
        check_pages(3, 3, named, &[3]).await;
        check_pages(7, 3, named, &[3, 3, 1]).await;
        check_pages(2 * PAGE_ITEMS + 2, PAGE_ITEMS, named, &[PAGE_ITEMS, PAGE_ITEMS, 2]).await;
        // Nothing is selected behind the page.
        check_pages(7, 1, "metadata.name%3Dn-00003", &[1]).await;
        check_pages(7, 1, "metadata.namespace%3Da", &[1, 1, 1, 1]).await;
    }

    #[tokio::test]
    async fn few_small_objects_are_one_piece() {
        check(0, 0, 1..=1).await;
        check(1, 0, 1..=1).await;
        check(3, 10, 1..=1).await;
    }

    #[tokio::test]
    async fn many_small_objects_take_several_pages_a_piece() {
        check(PAGE_ITEMS, 0, 1..=1).await;
        check(2 * PAGE_ITEMS + 1, 0, 1..=1).await;
    }

    #[tokio::test]
    async fn large_objects_are_a_piece_each() {
        check(3, PIECE_BYTES, 3..=4).await;
        check(9, PIECE_BYTES / 2, 5..=9).await;
    }

    /// Whether the stream of an answer ends with an error, which breaks the connection.
    async fn is_broken(pages: Pages) -> bool {
        let pieces = futures::stream::try_unfold(pages, Pages::next);
        pieces.collect::<Vec<_>>().await.last().is_some_and(Result::is_err)
    }

    #[tokio::test]
    async fn a_list_that_is_cut_short_does_not_end_as_a_complete_one() {
        let source = Arc::new(source(3, 0));
        let factory = SharedInformerFactory::new(source, FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let pages = || Pages::new(informer.indexer(), Query::default(), "msg").expect("no fields");
        let lost = Pages { position: Position::After("no cursor".to_owned()), ..pages() };
        assert!(is_broken(lost).await);
        assert!(!is_broken(pages()).await);
        factory.shutdown().await;
    }

    /// An object that changes while a piece is on its way is sent in its new state: the old one is freed.
    #[tokio::test]
    async fn a_reader_that_takes_its_time_keeps_no_old_states() {
        let source = Arc::new(source(3, PIECE_BYTES));
        let factory = SharedInformerFactory::new(source.clone(), FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let indexer = informer.indexer();
        let pages = Pages::new(indexer.clone(), Query::default(), "msg").expect("no fields");
        let (first, pages) = pages.next().await.expect("a piece").expect("there is more");
        source.modify(r#"{"metadata":{"namespace":"b","name":"n-00002"},"data":{"x":"new"}}"#);
        let key = ObjectKey::new("b", "n-00002");
        while indexer.get(&key).is_some_and(|object| object.json().len() >= PIECE_BYTES) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rest: Vec<_> = futures::stream::try_unfold(pages, Pages::next).collect().await;
        let sent = std::iter::once(Ok(first)).chain(rest).map(|piece| piece.expect("a piece"));
        let whole = sent.collect::<Vec<Bytes>>().concat();
        let whole: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
        assert_eq!(whole["msg"][2]["data"]["x"], "new");
        factory.shutdown().await;
    }
}
