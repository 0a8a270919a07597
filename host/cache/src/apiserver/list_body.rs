//! The items of a list's body, one by one, while the body is still coming in.
//!
//! This module follows only the structure down to the items. serde_json reads every piece (key, item, value), and so
//! finds invalid JSON. One piece is held at a time.
//!
//! A body that is not a list is an error and never an empty list, which would empty the cache. An answer without items
//! is a list only if its kind says so.

use crate::object::{DecodeError, LastApplied, Object, TOKEN_BYTES_MAX, TypeMeta};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The most bytes of one piece. An object in etcd has at most 1.5 MiB by default and 8 MiB by request limits in use;
/// its JSON can be larger than the stored form.
pub(super) const PIECE_BYTES_MAX: usize = 16 << 20;

/// The most bytes of items that wait for their type. Only servers that write `items` before `kind`, and leave out the
/// items' own types, make them wait. A page of 500 objects of 100 KiB fits.
const UNTYPED_BYTES_MAX: usize = 64 << 20;

/// The body is not a list.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListBodyError {
    #[error("list cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("list cannot be read: {0}")]
    Structure(&'static str),
    #[error("list's resourceVersion or continue is longer than {limit} bytes")]
    LongToken { limit: usize },
    #[error("list's answer is a Table, which has no objects")]
    Table,
    /// Another document that came with a success, for example a `Status`.
    #[error("list's answer has no items, it is {kind}{message}")]
    NoItems { kind: String, message: String },
}

/// One item or its failure.
pub(super) type ListItem = Result<Object, Arc<DecodeError>>;

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListMeta {
    #[serde(default)]
    pub(super) resource_version: String,
    #[serde(default, rename = "continue")]
    pub(super) continue_token: String,
}

impl ListMeta {
    fn check(&self) -> Result<(), ListBodyError> {
        match self.resource_version.len().max(self.continue_token.len()) > TOKEN_BYTES_MAX {
            true => Err(ListBodyError::LongToken { limit: TOKEN_BYTES_MAX }),
            false => Ok(()),
        }
    }
}

/// Where in the list's structure the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPlace {
    BeforeList,
    /// Behind the opening brace: a key, or the end.
    BeforeFirstKey,
    Key,
    BeforeColon,
    BeforeValue,
    Value,
    /// A comma, or the end.
    AfterValue,
    BeforeKey,
    BeforeFirstItem,
    Item,
    AfterItem,
    BeforeItem,
    AfterList,
}

pub(super) struct ListBody {
    place: ListPlace,
    /// The open brackets within the piece, and whether the byte is within a string.
    depth: usize,
    in_string: bool,
    escaped: bool,
    piece: Vec<u8>,
    key: String,
    has_items: bool,
    kind: Option<String>,
    api_version: Option<String>,
    /// The message of a `Status`.
    message: Option<String>,
    meta: ListMeta,
    type_meta: Option<TypeMeta>,
    last_applied: LastApplied,
    /// Items in front of the list's type (keys in alphabetical order). Items of custom resources have their own types.
    untyped: Vec<Vec<u8>>,
    /// The sum over `untyped`, and its bound.
    untyped_bytes: usize,
    untyped_bytes_max: usize,
}

impl ListBody {
    pub(super) fn new(last_applied: LastApplied) -> Self {
        Self {
            place: ListPlace::BeforeList,
            depth: 0,
            in_string: false,
            escaped: false,
            piece: Vec::new(),
            key: String::new(),
            has_items: false,
            kind: None,
            api_version: None,
            message: None,
            meta: ListMeta::default(),
            type_meta: None,
            last_applied,
            untyped: Vec::new(),
            untyped_bytes: 0,
            untyped_bytes_max: UNTYPED_BYTES_MAX,
        }
    }

    /// Takes the next bytes, and appends complete items to `items`.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        items: &mut Vec<ListItem>,
    ) -> Result<(), ListBodyError> {
        let mut rest = chunk;
        while let Some(&byte) = rest.first() {
            match self.place {
                ListPlace::Key | ListPlace::Value | ListPlace::Item => {
                    let taken = self.extend_piece(rest);
                    rest = &rest[taken..];
                    if self.piece_is_complete(rest.first()) {
                        self.finish_piece(items)?;
                    }
                }
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => rest = &rest[1..],
                _ => rest = &rest[self.structural(byte)?..],
            }
        }
        Ok(())
    }

    /// Ends the body: returns the items that waited, and the list's metadata.
    pub(super) fn finish(mut self, items: &mut Vec<ListItem>) -> Result<ListMeta, ListBodyError> {
        if self.place != ListPlace::AfterList {
            return Err(ListBodyError::Structure("it broke off"));
        }
        let says_list = self.kind.as_ref().is_some_and(|kind| kind.ends_with("List"));
        if !self.has_items && !says_list {
            return Err(self.no_items());
        }
        for item in std::mem::take(&mut self.untyped) {
            let item = Object::read(&item, self.type_meta.as_ref(), self.last_applied);
            items.push(item.map_err(Arc::new));
        }
        Ok(self.meta)
    }

    fn no_items(self) -> ListBodyError {
        let kind = self.kind.map_or("of no kind".to_owned(), |kind| format!("a {kind:.63}"));
        let message = self.message.map_or(String::new(), |message| format!(": {message:.200}"));
        ListBodyError::NoItems { kind, message }
    }

    /// Handles a byte between pieces; returns the number of used bytes.
    fn structural(&mut self, byte: u8) -> Result<usize, ListBodyError> {
        let (place, used) = match (self.place, byte) {
            (ListPlace::BeforeList, b'{') => (ListPlace::BeforeFirstKey, 1),
            (ListPlace::BeforeFirstKey | ListPlace::BeforeKey, b'"') => (ListPlace::Key, 0),
            (ListPlace::BeforeFirstKey | ListPlace::AfterValue, b'}') => (ListPlace::AfterList, 1),
            (ListPlace::AfterValue, b',') => (ListPlace::BeforeKey, 1),
            (ListPlace::BeforeColon, b':') => (ListPlace::BeforeValue, 1),
            (ListPlace::BeforeValue, b'[') if self.key == "items" => {
                self.meet_items()?;
                (ListPlace::BeforeFirstItem, 1)
            }
            (ListPlace::BeforeValue, _) => (ListPlace::Value, 0),
            (ListPlace::BeforeFirstItem | ListPlace::BeforeItem, b'{') => (ListPlace::Item, 0),
            (ListPlace::BeforeFirstItem | ListPlace::AfterItem, b']') => (ListPlace::AfterValue, 1),
            (ListPlace::AfterItem, b',') => (ListPlace::BeforeItem, 1),
            _ => return Err(ListBodyError::Structure("it is not a JSON object with items")),
        };
        self.place = place;
        Ok(used)
    }

    /// Refuses a second `items`: it is unclear which one counts.
    fn meet_items(&mut self) -> Result<(), ListBodyError> {
        if std::mem::replace(&mut self.has_items, true) {
            return Err(ListBodyError::Structure("its items stand twice"));
        }
        Ok(())
    }

    /// Moves bytes of the current piece; returns their number.
    fn extend_piece(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if self.in_string {
                at += self.skip_string(&bytes[at..]);
            } else {
                match bytes[at] {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    // Ends a scalar; the bracket belongs to the enclosing value.
                    b'}' | b']' | b',' if self.depth == 0 => break,
                    b':' if self.depth == 0 => break,
                    b'}' | b']' => self.depth -= 1,
                    _ => {}
                }
                at += 1;
            }
            if self.depth == 0 && !self.in_string && matches!(bytes[at - 1], b'}' | b']' | b'"') {
                break;
            }
        }
        let room = (PIECE_BYTES_MAX + 1).saturating_sub(self.piece.len());
        self.piece.extend_from_slice(&bytes[..at.min(room)]);
        at
    }

    /// The number of bytes to the end of the string, with its closing quote.
    fn skip_string(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.escaped) {
                at += 1;
                continue;
            }
            match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                None => return bytes.len(),
                Some(found) if bytes[at + found] == b'"' => {
                    self.in_string = false;
                    return at + found + 1;
                }
                Some(found) => {
                    self.escaped = true;
                    at += found + 1;
                }
            }
        }
        at
    }

    /// Strings, objects and arrays end by themselves; a number or word ends at the next other byte.
    fn piece_is_complete(&self, next: Option<&u8>) -> bool {
        let closed = self.depth == 0 && !self.in_string;
        let ends_itself = matches!(self.piece.last(), Some(b'}' | b']' | b'"'));
        closed && (ends_itself || next.is_some())
    }

    fn finish_piece(&mut self, items: &mut Vec<ListItem>) -> Result<(), ListBodyError> {
        let piece = std::mem::take(&mut self.piece);
        match self.place {
            ListPlace::Key => {
                self.key = serde_json::from_slice(&piece)?;
                self.place = ListPlace::BeforeColon;
            }
            ListPlace::Item => {
                self.finish_item(&piece, items)?;
                self.place = ListPlace::AfterItem;
                self.piece = piece;
                self.piece.clear();
            }
            _ => {
                self.finish_value(&piece)?;
                self.place = ListPlace::AfterValue;
            }
        }
        Ok(())
    }

    fn finish_item(
        &mut self,
        piece: &[u8],
        items: &mut Vec<ListItem>,
    ) -> Result<(), ListBodyError> {
        if piece.len() > PIECE_BYTES_MAX {
            items.push(Err(Arc::new(DecodeError::TooLong { limit: PIECE_BYTES_MAX })));
            return Ok(());
        }
        match Object::read(piece, self.type_meta.as_ref(), self.last_applied) {
            Err(DecodeError::NoType { .. }) if self.type_meta.is_none() => {
                self.untyped_bytes += piece.len();
                if self.untyped_bytes > self.untyped_bytes_max {
                    let what = "too many of its items come before it says what they are";
                    return Err(ListBodyError::Structure(what));
                }
                self.untyped.push(piece.to_vec());
            }
            item => items.push(item.map_err(Arc::new)),
        }
        Ok(())
    }

    fn finish_value(&mut self, piece: &[u8]) -> Result<(), ListBodyError> {
        match &*self.key {
            "kind" => self.kind = serde_json::from_slice(piece)?,
            "apiVersion" => self.api_version = serde_json::from_slice(piece)?,
            // Other kinds may have another value of this name.
            "message" if piece.starts_with(b"\"") => self.message = serde_json::from_slice(piece)?,
            "metadata" => {
                self.meta = serde_json::from_slice::<Option<ListMeta>>(piece)?.unwrap_or_default();
                self.meta.check()?;
            }
            // Go writes an empty list as `null` in some cases.
            "items" if piece.trim_ascii() == b"null" => self.meet_items()?,
            "items" => return Err(ListBodyError::Structure("its items are not an array")),
            _ => {
                serde_json::from_slice::<&RawValue>(piece)?;
            }
        }
        if let (Some(kind), Some(api_version)) = (&self.kind, &self.api_version) {
            if kind == "Table" && api_version.starts_with("meta.k8s.io/") {
                return Err(ListBodyError::Table);
            }
            if let Some(kind) = kind.strip_suffix("List") {
                let type_meta =
                    TypeMeta { api_version: api_version.clone(), kind: kind.to_owned() };
                self.type_meta = Some(type_meta);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
