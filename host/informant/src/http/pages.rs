//! A resource's objects as one JSON list, in pieces of bounded size, so that a large resource is never in
//! memory twice.

use bytes::{BufMut, Bytes, BytesMut};
use informant_apimachinery::LabelSelector;
use informant_cache::{Indexer, InformerLease, Object};
use std::sync::Arc;

/// A piece of the answer ends with the object that reaches this.
const PIECE_BYTES: usize = 256 * 1024;
/// Handles taken from the indexer at a time; their bytes stay where they are.
const PAGE_ITEMS: usize = 500;

/// The answer `{"member":[...]}`, piece by piece.
pub(crate) struct Pages {
    indexer: Indexer,
    selector: LabelSelector,
    member: &'static str,
    position: Position,
    /// So long everything stays there that is yet to be sent.
    _lease: Option<Arc<InformerLease>>,
}

enum Position {
    Start,
    /// In the middle of a page that begins with an object that was not yet sent.
    Within {
        page: std::vec::IntoIter<Object>,
        next: Option<String>,
    },
    End,
}

impl Pages {
    pub(crate) fn new(indexer: Indexer, selector: LabelSelector, member: &'static str) -> Self {
        Self { indexer, selector, member, position: Position::Start, _lease: None }
    }

    /// The same of what this lease is for.
    pub(crate) fn of(
        lease: Arc<InformerLease>,
        selector: LabelSelector,
        member: &'static str,
    ) -> Self {
        let indexer = lease.informer().indexer();
        Self { _lease: Some(lease), ..Self::new(indexer, selector, member) }
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
            Position::Within { page, next } => (page, next),
        };
        loop {
            while piece.len() < PIECE_BYTES
                && let Some(object) = page.next()
            {
                if !std::mem::take(&mut first) {
                    piece.put_u8(b',');
                }
                piece.put_slice(&object.json());
            }
            if piece.len() >= PIECE_BYTES && (!page.as_slice().is_empty() || next.is_some()) {
                self.position = Position::Within { page, next };
                return Some((Ok(piece.freeze()), self));
            }
            let Some(cursor) = next.take() else {
                piece.put_slice(b"]}\n");
                return Some((Ok(piece.freeze()), self));
            };
            (page, next) = match self.page(Some(&cursor)) {
                Ok(page) => page,
                // The answer has begun: cutting the connection is the only way left to say so.
                Err(error) => return Some((Err(error), self)),
            };
        }
    }

    fn page(
        &self,
        cursor: Option<&str>,
    ) -> Result<(std::vec::IntoIter<Object>, Option<String>), std::io::Error> {
        let page = self.indexer.list(None, &self.selector, PAGE_ITEMS, cursor);
        let page = page.map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok((page.items.into_iter(), page.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use informant_apimachinery::GroupVersionResource;
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, SharedInformerFactory};
    use std::sync::Arc;
    use std::time::Duration;

    /// The pieces in which that many ConfigMaps of that size are sent, each of which must keep to the limit.
    async fn check(count: usize, bytes: usize, pieces: std::ops::RangeInclusive<usize>) {
        let source = FakeControllerSource::default();
        for number in 0..count {
            let data = "x".repeat(bytes);
            source.add(&format!(
                r#"{{"metadata":{{"namespace":"a","name":"n-{number:05}"}},"data":{{"x":"{data}"}}}}"#
            ));
        }
        let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let informer = factory.for_resource(&GroupVersionResource::new("", "v1", "configmaps"));
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let pages = Pages::new(informer.indexer(), LabelSelector::default(), "msg");
        let sent: Vec<_> = futures::stream::unfold(pages, Pages::next).collect().await;
        let sent: Vec<Bytes> = sent.into_iter().map(|piece| piece.expect("a piece")).collect();
        assert!(pieces.contains(&sent.len()), "{} pieces", sent.len());
        for piece in &sent {
            assert!(piece.len() < PIECE_BYTES + bytes + 1024, "a piece of {} bytes", piece.len());
        }
        let whole: serde_json::Value = serde_json::from_slice(&sent.concat()).expect("JSON");
        let items = whole["msg"].as_array().expect("a list");
        let names: Vec<&str> =
            items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
        let expect: Vec<String> = (0..count).map(|number| format!("n-{number:05}")).collect();
        assert_eq!(names, expect);
        factory.shutdown().await;
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
}
