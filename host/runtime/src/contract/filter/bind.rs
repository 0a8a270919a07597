//! The values of an expression's variables, taken from JSON. Texts are borrowed from it.

use super::READ_BYTES_MAX;
use super::needs::{Needs, ReadPlace};
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

type Boxed<'v> = Box<dyn Val + 'v>;

/// The needed members of an object.
pub(super) fn bind<'v>(
    needs: &Needs,
    json: &'v [u8],
    bytes_left: &mut usize,
) -> Result<Boxed<'v>, String> {
    let values = needs.projection.values(json);
    let bound = bind_place(&needs.root, &values, bytes_left)?;
    bound.ok_or_else(|| "the object cannot be read".to_owned())
}

/// `None` if the place has no value.
fn bind_place<'v>(
    place: &ReadPlace,
    values: &[Option<&'v [u8]>],
    bytes_left: &mut usize,
) -> Result<Option<Boxed<'v>>, String> {
    let Some(json) = values[place.number] else { return Ok(None) };
    match json.first() {
        Some(b'{') if !place.is_whole => {
            let mut members = HashMap::with_capacity(place.members.len());
            for (name, member) in &place.members {
                if let Some(value) = bind_place(member, values, bytes_left)? {
                    members.insert(CelMapKey::from(name.to_string()), value);
                }
            }
            Ok(Some(Box::new(CelMap::from(members))))
        }
        // A list or a text has no members to name.
        Some(b'[') if !place.is_whole => Ok(Some(Box::new(CelList::from(Vec::new())))),
        Some(b'"') if !place.is_whole => Ok(Some(Box::new(CelString::from("")))),
        _ => {
            *bytes_left = bytes_left.checked_sub(json.len()).ok_or_else(|| {
                format!("it reads more than {READ_BYTES_MAX} bytes of the objects")
            })?;
            let mut deserializer = serde_json::Deserializer::from_slice(json);
            let value = Seed.deserialize(&mut deserializer);
            value.map(Some).map_err(|error| format!("the object cannot be read: {error}"))
        }
    }
}

/// Reads a value. serde_json bounds the nesting.
struct Seed;

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Boxed<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Boxed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Box::new(CelBool::from(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Box::new(CelInt::from(value)))
    }

    /// A number that fits is an int, as in Kubernetes.
    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Ok(Box::new(CelUInt::from(value))),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Box::new(CelDouble::from(value)))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Box::new(CelString::from(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Box::new(CelString::from(value.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Box::new(CelNull))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Box::new(CelList::from(items)))
    }

    /// Of a duplicate name, the last value counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: HashMap<CelMapKey<'de>, Boxed<'de>> = HashMap::new();
        while let Some(name) = map.next_key_seed(Self)? {
            let name = CelMapKey::try_from(name).map_err(A::Error::custom)?;
            let value = map.next_value_seed(Self)?;
            members.insert(name, value);
        }
        Ok(Box::new(CelMap::from(members)))
    }
}
