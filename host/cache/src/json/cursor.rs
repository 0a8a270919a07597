//! A place in JSON that was read before and is well-formed: an object's.
//!
//! Any JSON is walked: white space, escapes in keys, any depth. Nothing is checked again. On other bytes the result is
//! arbitrary or `None`, without a panic.

use super::blocks::container_end;
use super::escapes;
use super::strings::special;

/// A place in a text.
pub(crate) struct Cursor<'a> {
    json: &'a [u8],
    at: usize,
}

/// The name of an object's entry.
#[derive(Clone, Copy)]
pub(crate) struct EntryKey<'a> {
    /// With the quotes.
    quoted: &'a [u8],
    place: KeyPlace,
}

/// The place of an entry's name, between the quotes.
#[derive(Clone, Copy)]
pub(super) struct KeyPlace {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) has_escapes: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(json: &'a [u8]) -> Self {
        Self::within(json, 0)
    }

    /// A cursor within a text, in front of a value.
    pub(crate) fn within(json: &'a [u8], at: usize) -> Self {
        Self { json, at }
    }

    /// The number of bytes in front of it.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space: the first byte of the next value, if the cursor is in front of one.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.json.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<bool> {
        let is_here = self.peek()? == byte;
        self.at += usize::from(is_here);
        Some(is_here)
    }

    /// Reads an object; `each` gets the name of each entry and must read its value.
    #[inline]
    pub(crate) fn entries(
        &mut self,
        mut each: impl FnMut(&mut Self, EntryKey<'a>) -> Option<()>,
    ) -> Option<()> {
        self.parts(*b"{}", |cursor| {
            let key = cursor.key()?;
            each(cursor, key)
        })
    }

    /// Reads an array; `each` gets each item's position and must read the item.
    #[inline]
    pub(crate) fn items(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        let mut position = 0;
        self.parts(*b"[]", |cursor| {
            each(cursor, position)?;
            position += 1;
            Some(())
        })
    }

    #[inline]
    fn parts(
        &mut self,
        [open, close]: [u8; 2],
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open)?.then_some(())?;
        if self.take(close)? {
            return Some(());
        }
        loop {
            each(self)?;
            if !self.take(b',')? {
                return self.take(close)?.then_some(());
            }
        }
    }

    #[inline]
    fn key(&mut self) -> Option<EntryKey<'a>> {
        self.take(b'"')?.then_some(())?;
        let from = self.at;
        let first = special(self.json, from)?;
        let has_escapes = self.json[first] == b'\\';
        let end = if has_escapes { string_end(self.json, first)? } else { first + 1 };
        self.at = end;
        self.take(b':')?.then_some(())?;
        EntryKey::new(self.json, KeyPlace { from, to: end - 1, has_escapes })
    }

    /// Reads any value and returns its text.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let from = self.at;
        self.at = value_end(self.json, from)?;
        Some(&self.json[from..self.at])
    }

    /// The result of `read`, and the text that it has read.
    pub(crate) fn text_of(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<&'a [u8]> {
        self.peek()?;
        let from = self.at;
        read(self)?;
        self.json.get(from..self.at)
    }
}

impl<'a> EntryKey<'a> {
    /// The name at this place.
    #[inline]
    pub(super) fn new(json: &'a [u8], place: KeyPlace) -> Option<Self> {
        Some(Self { quoted: json.get(place.from.checked_sub(1)?..place.to + 1)?, place })
    }

    /// With its quotes, as it stands.
    pub(super) fn quoted(self) -> &'a [u8] {
        self.quoted
    }

    /// Between the quotes.
    #[inline]
    fn raw(self) -> &'a [u8] {
        self.quoted.get(1..self.quoted.len() - 1).unwrap_or_default()
    }

    pub(super) fn place(self) -> KeyPlace {
        self.place
    }

    /// Whether it equals this name.
    #[inline]
    pub(crate) fn is(self, name: &str) -> bool {
        match self.place.has_escapes {
            false => self.raw() == name.as_bytes(),
            true => escapes::is(self.raw(), name),
        }
    }

    /// Its bytes, in `scratch` if some are escaped. `None` if it is not text.
    #[inline]
    pub(super) fn name<'b>(self, scratch: &'b mut Vec<u8>) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        if !self.place.has_escapes {
            return Some(self.raw());
        }
        escapes::decode(self.raw(), scratch)?;
        Some(scratch)
    }
}

/// The end of the value that begins at `at`.
#[inline]
fn value_end(json: &[u8], at: usize) -> Option<usize> {
    match *json.get(at)? {
        b'"' => string_end(json, at + 1),
        // Many are empty.
        open @ (b'{' | b'[') if json.get(at + 1) == Some(&(open + 2)) => Some(at + 2),
        b'{' | b'[' => container_end(json, at + 1),
        b'}' | b']' => None,
        _ => Some(word_end(json, at)),
    }
}

/// The place behind the closing quote of the string around `at`.
#[inline]
fn string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = special(json, at)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        // The escaped byte may be a quote.
        at += 2;
    }
}

/// The place behind a number, `true`, `false` or `null`.
fn word_end(json: &[u8], at: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    json[at..].iter().position(is_end).map_or(json.len(), |length| at + length)
}
