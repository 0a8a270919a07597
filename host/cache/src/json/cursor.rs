//! A place in JSON that somebody has read before and found well formed: an object's.
//!
//! Whatever is written in JSON is walked: white space, escapes in keys, any depth. Nothing is checked again, so of other bytes
//! it may find anything or nothing (`None`), and panics at none.

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

/// Where the name of an object's entry stands, between the quotes.
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

    /// One that stands within a text, before a value.
    pub(crate) fn within(json: &'a [u8], at: usize) -> Self {
        Self { json, at }
    }

    /// Bytes before it.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space: the first of the value that comes next, for who stands before one.
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

    /// Reads an object; `each` is told of the name of each entry and must read its value.
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

    /// Reads an array; `each` is told of each item's position and must read it.
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

    /// Reads any value and answers its text.
    #[inline]
    pub(crate) fn value(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let from = self.at;
        self.at = value_end(self.json, from)?;
        Some(&self.json[from..self.at])
    }

    /// What `read` reads, beside its text.
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
    /// The name that stands there.
    #[inline]
    pub(super) fn new(json: &'a [u8], place: KeyPlace) -> Option<Self> {
        Some(Self { quoted: json.get(place.from.checked_sub(1)?..place.to + 1)?, place })
    }

    /// Between the quotes.
    #[inline]
    fn raw(self) -> &'a [u8] {
        self.quoted.get(1..self.quoted.len() - 1).unwrap_or_default()
    }

    pub(super) fn place(self) -> KeyPlace {
        self.place
    }

    /// Whether it is this name.
    #[inline]
    pub(crate) fn is(self, name: &str) -> bool {
        match self.place.has_escapes {
            false => self.raw() == name.as_bytes(),
            true => escapes::is(self.raw(), name),
        }
    }

    /// Its bytes, in `scratch` if some are escaped. None where it is no text.
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

/// Where the value that begins at `at` ends.
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

/// Behind the closing quote of the string that `at` is in.
#[inline]
fn string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = special(json, at)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        // What is escaped may be a quote.
        at += 2;
    }
}

/// Behind a number, `true`, `false` or `null`.
fn word_end(json: &[u8], at: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    json[at..].iter().position(is_end).map_or(json.len(), |length| at + length)
}
