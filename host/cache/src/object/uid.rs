//! `metadata.uid`. That of nearly every object is a UUID as Kubernetes writes one, which is kept in 16 bytes instead of 36.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
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
    Uuid([u8; 16]),
}

impl<'a> KeptUid<'a> {
    /// Only the form that comes back as the same text is shortened: lowercase digits with hyphens (RFC 9562, section 4).
    pub(super) fn of(uid: &'a str) -> Self {
        let uuid = Uuid::try_parse(uid).ok();
        let same = uuid.filter(|uuid| *Uid::of_uuid(*uuid) == *uid);
        same.map_or(Self::Text(uid), |uuid| Self::Uuid(uuid.into_bytes()))
    }

    /// Of [`KeptUid::bytes`].
    pub(super) fn of_bytes(bytes: &'a [u8], is_uuid: bool) -> Self {
        if is_uuid {
            return Self::Uuid(bytes.try_into().expect("a UUID has 16 bytes"));
        }
        Self::Text(std::str::from_utf8(bytes).expect("it was written from text"))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Uuid(bytes) => bytes,
        }
    }

    pub(super) fn is_uuid(&self) -> bool {
        matches!(self, Self::Uuid(_))
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

    #[track_caller]
    fn check(uid: &str, bytes: usize) {
        let kept = KeptUid::of(uid);
        let again = KeptUid::of_bytes(kept.bytes(), kept.is_uuid());
        assert_eq!((&*again.uid(), kept.bytes().len()), (uid, bytes));
    }

    #[test]
    fn a_uuid_takes_16_bytes_and_each_text_comes_back() {
        check("0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab", 16);
        check("00000000-0000-0000-0000-000000000000", 16);
        for other in [
            "0F3C5B1E-9A7D-4E2B-8C6F-1234567890AB",
            "{0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab}",
            "urn:uuid:0f3c5b1e-9a7d-4e2b-8c6f-1234567890ab",
            "0f3c5b1e9a7d4e2b8c6f1234567890ab",
            "0f3c5b1e-9a7d-4e2b-8c6f-1234567890ag",
            "0f3c5b1e9-a7d-4e2b-8c6f-1234567890ab",
            "one",
            "",
        ] {
            check(other, other.len());
        }
    }
}
