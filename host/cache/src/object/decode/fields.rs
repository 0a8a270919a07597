//! Fields of the metadata that are read more leniently, or more strictly, than serde does by itself; nothing is copied that has no
//! escapes.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// A string; `null` is the empty one, as Go reads it.
pub(super) fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Cow<'de, str>, A::Error> {
    struct TextSeed;
    impl<'de> DeserializeSeed<'de> for TextSeed {
        type Value = Cow<'de, str>;
        fn deserialize<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_option(self)
        }
    }
    impl<'de> Visitor<'de> for TextSeed {
        type Value = Cow<'de, str>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(""))
        }
        fn visit_some<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_str(self)
        }
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }
        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }
    }
    map.next_value_seed(TextSeed)
}

/// So many labels are compared one by one, which is quicker than hashing them; objects rarely have more.
const FEW_LABELS: usize = 16;

/// Labels in the order of the bytes; a key that stands twice has its last value.
#[derive(Default)]
pub(super) struct Labels<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de> serde::Deserialize<'de> for Labels<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;
        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
                let mut labels: Vec<(Cow<'de, str>, Cow<'de, str>)> = Vec::new();
                // Where each key is, once there are many: the server decides how many there are.
                let mut places: HashMap<Cow<'de, str>, usize> = HashMap::new();
                while let Some(BorrowedKey(key)) = map.next_key()? {
                    let value = text(&mut map)?;
                    let known = if labels.len() < FEW_LABELS {
                        labels.iter().position(|(known, _)| *known == key)
                    } else {
                        if places.is_empty() {
                            let keys = labels.iter().map(|(key, _)| key.clone());
                            places = keys.zip(0..).collect();
                        }
                        let place = *places.entry(key.clone()).or_insert(labels.len());
                        (place < labels.len()).then_some(place)
                    };
                    match known {
                        Some(place) => labels[place].1 = value,
                        None => labels.push((key, value)),
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(LabelsVisitor)
    }
}

/// A key, borrowed where it has no escapes: serde's own `Cow` never is.
struct BorrowedKey<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for BorrowedKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = BorrowedKey<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(BorrowedKey(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(BorrowedKey(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
