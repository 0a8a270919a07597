//! A resource's objects as one JSON list, in pieces of bounded size, so that a large resource is never in
//! memory twice.

use super::query::Query;
use bytes::{BufMut, Bytes, BytesMut};
use informant_cache::{Indexer, InformerLease, Object, Scope, ScopeError};
use std::sync::Arc;

/// A piece of the answer ends with the object that reaches this.
const PIECE_BYTES: usize = 256 * 1024;
/// Handles taken from the indexer at a time; their bytes stay where they are.
const PAGE_ITEMS: usize = 500;

/// The answer `{"member":[...]}`, piece by piece.
pub(crate) struct Pages {
    indexer: Indexer,
    query: Query,
    /// What the query's field selector selects.
    fields: Scope,
    member: &'static str,
    position: Position,
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
        let fields = Scope::all().with_fields(query.fields.clone())?;
        Ok(Self { indexer, query, fields, member, position: Position::Start, _lease: None })
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

    /// The next piece, in the shape that `futures::stream::unfold` takes.
    pub(crate) async fn next(mut self) -> Option<(Result<Bytes, std::io::Error>, Self)> {
        let mut piece = BytesMut::new();
        let mut first = matches!(self.position, Position::Start);
        let (mut page, mut next) = match std::mem::replace(&mut self.position, Position::End) {
            Position::End => return None,
            Position::Start => {
                piece.put_slice(format!("{{\"{}\":[", self.member).as_bytes());
                match self.page(None) {
                    Ok(page) => page,
                    Err(error) => return Some((Err(error), self)),
                }
            }
            Position::After(cursor) => match self.page(Some(&cursor)) {
                Ok(page) => page,
                // The answer has begun: cutting the connection is the only way left to say so.
                Err(error) => return Some((Err(error), self)),
            },
        };
        loop {
            for object in page {
                if !std::mem::take(&mut first) {
                    piece.put_u8(b',');
                }
                piece.put_slice(&object.json());
                if piece.len() >= PIECE_BYTES {
                    self.position = Position::After(Indexer::cursor_after(object.key()));
                    return Some((Ok(piece.freeze()), self));
                }
            }
            let Some(cursor) = next.take() else {
                piece.put_slice(b"]}\n");
                return Some((Ok(piece.freeze()), self));
            };
            // A selector may leave nothing of many pages.
            tokio::task::yield_now().await;
            (page, next) = match self.page(Some(&cursor)) {
                Ok(page) => page,
                Err(error) => return Some((Err(error), self)),
            };
        }
    }

    fn page(
        &self,
        cursor: Option<&str>,
    ) -> Result<(std::vec::IntoIter<Object>, Option<String>), std::io::Error> {
        let Query { namespace, labels, fields } = &self.query;
        let page = self.indexer.list(namespace.as_deref(), labels, PAGE_ITEMS, cursor);
        let mut page = page.map_err(|error| std::io::Error::other(error.to_string()))?;
        if !fields.is_everything() {
            page.items.retain(|object| self.fields.contains(object));
        }
        Ok((page.items.into_iter(), page.next))
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
        let sent: Vec<_> = futures::stream::unfold(pages, Pages::next).collect().await;
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

    /// What changes while a piece is on its way is sent as it is then: the state before is kept by nobody.
    #[tokio::test]
    async fn a_reader_that_takes_its_time_keeps_no_old_states() {
        let source = Arc::new(source(3, PIECE_BYTES));
        let factory = SharedInformerFactory::new(source.clone(), FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let indexer = informer.indexer();
        let pages = Pages::new(indexer.clone(), Query::default(), "msg").expect("no fields");
        let (first, pages) = pages.next().await.expect("there is more");
        source.modify(r#"{"metadata":{"namespace":"b","name":"n-00002"},"data":{"x":"new"}}"#);
        let key = ObjectKey::new("b", "n-00002");
        while indexer.get(&key).is_some_and(|object| object.json().len() >= PIECE_BYTES) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rest: Vec<_> = futures::stream::unfold(pages, Pages::next).collect().await;
        let sent = std::iter::once(first).chain(rest).map(|piece| piece.expect("a piece"));
        let whole = sent.collect::<Vec<Bytes>>().concat();
        let whole: serde_json::Value = serde_json::from_slice(&whole).expect("JSON");
        assert_eq!(whole["msg"][2]["data"]["x"], "new");
        factory.shutdown().await;
    }
}
