//! A resource's objects as one JSON list, in pieces of bounded size, so that a large resource is never in
//! memory twice.

use super::aside::aside;
use super::query::Query;
use bytes::{BufMut, Bytes, BytesMut};
use informant_apimachinery::LabelSelector;
use informant_cache::{Indexer, InformerLease, Scope, ScopeError};
use std::io;
use std::sync::Arc;

/// A piece of the answer ends with the object that reaches this.
const PIECE_BYTES: usize = 256 * 1024;
/// Handles taken from the indexer at a time; their bytes stay where they are.
const PAGE_ITEMS: usize = 500;
/// What is looked at for selectors before others have their turn.
const LOOKED_BYTES: usize = 4 << 20;

/// The answer `{"member":[...]}`, piece by piece. It is made aside, in steps, because a selector may look at many objects and select none.
pub(crate) struct Pages {
    indexer: Indexer,
    namespace: Option<String>,
    /// What the query's selectors select.
    selected: Scope,
    member: &'static str,
    position: Position,
    /// Whether an object was sent.
    has_sent: bool,
    /// So long everything stays there that is yet to be sent.
    _lease: Option<Arc<InformerLease>>,
}

/// While a piece is being sent, no later object is kept: a slow reader keeps no old state alive.
enum Position {
    Start,
    /// Behind the object of this cursor.
    After(String),
    End,
}

impl Pages {
    pub(crate) fn new(
        indexer: Indexer,
        query: Query,
        member: &'static str,
    ) -> Result<Self, ScopeError> {
        let Query { namespace, labels, fields } = query;
        let selected = Scope::all().with_labels(labels).with_fields(fields)?;
        let position = Position::Start;
        Ok(Self { indexer, namespace, selected, member, position, has_sent: false, _lease: None })
    }

    /// The same of what this lease is for.
    pub(crate) fn of(
        lease: Arc<InformerLease>,
        query: Query,
        member: &'static str,
    ) -> Result<Self, ScopeError> {
        let indexer = lease.informer().indexer();
        Ok(Self { _lease: Some(lease), ..Self::new(indexer, query, member)? })
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

    /// Adds to the piece what some objects come to. Answers whether it is complete.
    fn step(&mut self, piece: &mut BytesMut) -> io::Result<bool> {
        let cursor = match std::mem::replace(&mut self.position, Position::End) {
            Position::End => return Ok(true),
            Position::After(cursor) => Some(cursor),
            Position::Start => {
                piece.put_slice(format!("{{\"{}\":[", self.member).as_bytes());
                None
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
                if std::mem::replace(&mut self.has_sent, true) {
                    piece.put_u8(b',');
                }
                piece.put_slice(&object.json());
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
}

#[cfg(test)]
mod tests {
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

    /// The pieces that are sent of what is asked for.
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

    /// The names of what is asked for of more than two pages.
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
        check_selected(Some("b"), "metadata.name=n-01001", &["n-01001"]).await;
        check_selected(None, "metadata.name=n-01001,metadata.namespace=b", &["n-01001"]).await;
        check_selected(Some("c"), "", &[]).await;
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
