//! Bounded answers to reads: pages of the objects that a plugin may see.

use super::ReadError;
use crate::guest::call_deadline::CallDeadline;
use informant_cache::{Indexer, IndexerError, Object, Page};
use std::time::Instant;

/// The bounds of one answer, in size and time.
#[derive(Clone, Copy)]
pub(crate) struct AnswerBounds<'a> {
    /// At least one.
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    pub(crate) clock: &'a CallDeadline,
}

impl AnswerBounds<'_> {
    /// Called after every step of a search, because only this check can end a search. Invariant 2.
    pub(super) fn check_deadline(&self) -> Result<(), ReadError> {
        match self.clock.expired(Instant::now()) {
            true => Err(ReadError::DeadlineExceeded),
            false => Ok(()),
        }
    }
}

/// A page that keeps to the answer's byte limit.
pub(crate) struct ReadAnswer<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

/// An entry of an answer.
pub(crate) trait Item {
    /// Its bytes in the answer.
    fn bytes(&self) -> usize;
    /// The cursor behind it.
    fn cursor(&self) -> String;
}

impl Item for Object {
    fn bytes(&self) -> usize {
        self.json_len()
    }

    fn cursor(&self) -> String {
        Indexer::cursor_after(self.key())
    }
}

impl Item for String {
    fn bytes(&self) -> usize {
        self.len()
    }

    fn cursor(&self) -> String {
        self.clone()
    }
}

/// An object of which the answer has only the key.
pub(crate) struct KeyOf(pub(crate) Object);

impl Item for KeyOf {
    fn bytes(&self) -> usize {
        self.0.key().namespace().len() + self.0.key().name().len()
    }

    fn cursor(&self) -> String {
        self.0.cursor()
    }
}

/// Fills an answer with the entries that `show` makes of visible items, within the bounds; the first entry always fits.
/// The cursor is that of the last entry, so it shows nothing about skipped objects.
pub(super) fn fill<F, T: Item>(
    bounds: AnswerBounds<'_>,
    cursor: Option<&str>,
    fetch: impl Fn(usize, Option<&str>) -> Result<Page<F>, IndexerError>,
    show: impl Fn(F) -> Result<Option<T>, ReadError>,
) -> Result<ReadAnswer<T>, ReadError> {
    let mut cursor = cursor.map(str::to_owned);
    let (mut items, mut bytes) = (Vec::<T>::new(), 0);
    loop {
        bounds.check_deadline()?;
        // One more than fits, to find out whether there is more.
        let page = fetch(bounds.items - items.len() + 1, cursor.as_deref())?;
        for item in page.items {
            let Some(item) = show(item)? else { continue };
            let full = items.len() >= bounds.items || bytes + item.bytes() > bounds.bytes;
            if let Some(last) = items.last().filter(|_| full) {
                let next = Some(last.cursor());
                return Ok(ReadAnswer { items, next });
            }
            bytes += item.bytes();
            items.push(item);
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(ReadAnswer { items, next: None });
        }
    }
}
