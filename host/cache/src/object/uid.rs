//! `metadata.uid`. That of nearly every object is a UUID as Kubernetes writes one, which is kept in 16 bytes instead of 36.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// `metadata.uid`; empty if the server gives none. It is read as a text.
#[derive(Clone, Copy)]
pub struct Uid<'a>(Form<'a>);

#[derive(Clone, Copy)]
enum Form<'a> {
    Text(&'a str),
    /// The text of a UUID.
    Uuid([u8; Hyphenated::LENGTH]),
}

/// The bytes of a UID that an object keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptUid<'a> {
    Text(&'a str),
    Uuid([u8; UUID]),
}

/// The form of a UID's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UidForm {
    /// There are none.
    Empty,
    Uuid,
    /// The length of a text, and the text.
    Text,
}

/// Bytes of a UUID.
const UUID: usize = size_of::<Uuid>();
/// Bytes of a text's length.
const TEXT_LEN: usize = size_of::<u32>();

impl UidForm {
    /// Bits that it takes.
    pub(super) const BITS: u32 = 2;

    pub(super) fn bits(self) -> u8 {
        self as u8
    }

    /// Of [`UidForm::bits`].
    pub(super) fn of_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Empty,
            1 => Self::Uuid,
            _ => Self::Text,
        }
    }

    /// Where the UID's own bytes are, in bytes that begin with it.
    pub(super) fn place(self, bytes: &[u8]) -> Range<usize> {
        match self {
            Self::Empty => 0..0,
            Self::Uuid => 0..UUID,
            Self::Text => {
                let len = bytes.first_chunk().expect("a text's length is before it");
                TEXT_LEN..TEXT_LEN + u32::from_le_bytes(*len) as usize
            }
        }
    }
}

impl<'a> KeptUid<'a> {
    /// Only the form that comes back as the same text is shortened: lowercase digits with hyphens (RFC 9562, section 4).
    pub(super) fn of(uid: &'a str) -> Self {
        let uuid = Uuid::try_parse(uid).ok();
        let same = uuid.filter(|uuid| *Uid::of_uuid(*uuid) == *uid);
        same.map_or(Self::Text(uid), |uuid| Self::Uuid(uuid.into_bytes()))
    }

    /// Of the bytes that begin with those of a UID: [`KeptUid::text_len`] and [`KeptUid::bytes`].
    pub(super) fn of_bytes(bytes: &'a [u8], form: UidForm) -> Self {
        let bytes = &bytes[form.place(bytes)];
        match form {
            UidForm::Uuid => Self::Uuid(bytes.try_into().expect("a UUID has 16 bytes")),
            UidForm::Empty | UidForm::Text => {
                Self::Text(std::str::from_utf8(bytes).expect("it was written from text"))
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Uuid(bytes) => bytes,
        }
    }

    /// What is before the bytes of a text.
    pub(super) fn text_len(&self) -> Option<[u8; TEXT_LEN]> {
        let len = u32::try_from(self.bytes().len()).expect("what is read is bounded");
        (self.form() == UidForm::Text).then(|| len.to_le_bytes())
    }

    pub(super) fn form(&self) -> UidForm {
        match self {
            Self::Text("") => UidForm::Empty,
            Self::Text(_) => UidForm::Text,
            Self::Uuid(_) => UidForm::Uuid,
        }
    }

    pub(super) fn uid(self) -> Uid<'a> {
        match self {
            Self::Text(text) => Uid::of_text(text),
            Self::Uuid(bytes) => Uid::of_uuid(Uuid::from_bytes(bytes)),
        }
    }
}

impl<'a> Uid<'a> {
    pub(super) fn of_text(text: &'a str) -> Self {
        Self(Form::Text(text))
    }

    fn of_uuid(uuid: Uuid) -> Self {
        let mut text = [0; Hyphenated::LENGTH];
        uuid.hyphenated().encode_lower(&mut text);
        Self(Form::Uuid(text))
    }
}

impl Deref for Uid<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Form::Text(text) => text,
            Form::Uuid(text) => std::str::from_utf8(text).expect("it was written from text"),
        }
    }
}

impl From<Uid<'_>> for Box<str> {
    fn from(uid: Uid<'_>) -> Self {
        (*uid).into()
    }
}

impl PartialEq for Uid<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Uid<'_> {}

impl Hash for Uid<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Display for Uid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Uid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a UID takes. Others behind them change nothing.
    #[track_caller]
    fn check(uid: &str, form: UidForm, bytes: usize) {
        let kept = KeptUid::of(uid);
        let text_len = kept.text_len();
        let own = [text_len.as_slice().as_flattened(), kept.bytes()].concat();
        assert_eq!((kept.form(), own.len()), (form, bytes), "{uid:?}");
        let with_others = [&own[..], &[0xff; 40]].concat();
        for all in [&own, &with_others] {
            assert_eq!(form.place(all).end, bytes, "{uid:?}");
            assert_eq!(&*KeptUid::of_bytes(all, form).uid(), uid);
        }
    }

    #[test]
    fn a_uuid_takes_16_bytes_and_each_text_comes_back() {
        check("0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab", UidForm::Uuid, 16);
        check("00000000-0000-0000-0000-000000000000", UidForm::Uuid, 16);
        check("", UidForm::Empty, 0);
        for other in [
            "0F3C5B1E-9A7D-4E2B-8C6F-1234567890AB",
            "{0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab}",
            "urn:uuid:0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab",
            "0f3c5b1e9a7d4e2b8c6f1234567890ab",
            "0f3c5b1e-9a7d-4e2b-8c6f-1234567890ag",
            "0f3c5b1e9-a7d-4e2b-8c6f-1234567890ab",
            "one",
        ] {
            check(other, UidForm::Text, TEXT_LEN + other.len());
        }
        for len in [1, 15, 16, 17, 35, 36, 37, 255, 256, 70_000] {
            check(&"u".repeat(len), UidForm::Text, TEXT_LEN + len);
        }
    }
}
