//! Copies JSON without the values at some pointers. Parts on no pointer's path are copied unchanged.

use crate::json::position;
use crate::json::{JsonPointer, PointerStep};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// `None` if there is nothing to remove.
pub(super) fn remove(
    json: &[u8],
    pointers: &[JsonPointer],
) -> Result<Option<Vec<u8>>, serde_json::Error> {
    let ways = pointers.iter().map(JsonPointer::steps).collect();
    let mut out = Vec::with_capacity(json.len());
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    Copy { ways, out: &mut out }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((out.len() < json.len()).then_some(out))
}

/// Copies one object or array; `ways` are the remaining paths in it.
struct Copy<'a> {
    ways: Vec<&'a [PointerStep]>,
    out: &'a mut Vec<u8>,
}

/// The treatment of a member.
enum MemberFate<'a> {
    Left,
    Whole,
    Entered(Vec<&'a [PointerStep]>),
}

impl<'a> Copy<'a> {
    fn member(&self, takes: impl Fn(&PointerStep) -> bool) -> MemberFate<'a> {
        let taken = self.ways.iter().filter_map(|way| way.split_first());
        let inner: Vec<_> = taken.filter(|(step, _)| takes(step)).map(|(_, rest)| rest).collect();
        match inner {
            inner if inner.iter().any(|rest| rest.is_empty()) => MemberFate::Left,
            inner if inner.is_empty() => MemberFate::Whole,
            inner => MemberFate::Entered(inner),
        }
    }

    /// Writes a kept member, after a comma if it is not the first.
    fn write<E: Error>(
        &mut self,
        member: MemberFate<'_>,
        (first, name): (&mut bool, &str),
        value: &RawValue,
    ) -> Result<(), E> {
        let ways = match member {
            MemberFate::Left => return Ok(()),
            MemberFate::Whole => Vec::new(),
            MemberFate::Entered(ways) => ways,
        };
        if !std::mem::take(first) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(name.as_bytes());
        if ways.is_empty() || !value.get().starts_with(['{', '[']) {
            self.out.extend_from_slice(value.get().as_bytes());
            return Ok(());
        }
        let mut inner = serde_json::Deserializer::from_str(value.get());
        Copy { ways, out: &mut *self.out }.deserialize(&mut inner).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Copy<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Copy<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object or array")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut first = true;
        self.out.push(b'{');
        while let Some((name, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            let text: Cow<'_, str> = serde_json::from_str(name.get()).map_err(A::Error::custom)?;
            let member = self.member(|step| match step {
                PointerStep::Every => true,
                PointerStep::Member(name) => **name == *text,
            });
            self.write(member, (&mut first, &format!("{}:", name.get())), value)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        let mut first = true;
        self.out.push(b'[');
        let mut at = 0;
        while let Some(value) = seq.next_element::<&'de RawValue>()? {
            let member = self.member(|step| match step {
                PointerStep::Every => true,
                PointerStep::Member(name) => position(name) == Some(at),
            });
            self.write(member, (&mut first, ""), value)?;
            at += 1;
        }
        self.out.push(b']');
        Ok(())
    }
}
