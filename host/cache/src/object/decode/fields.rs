//! Fields of the metadata that are read more leniently, or more strictly, than serde does by itself.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A string; `null` is the empty one, as Go reads it.
pub(super) fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Cow<'de, str>, A::Error> {
    struct Text;
    impl<'de> DeserializeSeed<'de> for Text {
        type Value = Cow<'de, str>;
        fn deserialize<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_option(self)
        }
    }
    impl<'de> Visitor<'de> for Text {
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
    map.next_value_seed(Text)
}

/// Labels in the order of the bytes; a key that stands twice has its last value.
#[derive(Default)]
pub(super) struct Labels(pub(super) Vec<(Box<str>, Box<str>)>);

impl<'de> serde::Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;
        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels: Vec<(Box<str>, Box<str>)> = Vec::new();
                while let Some(key) = map.next_key::<Box<str>>()? {
                    let value = text(&mut map)?.into();
                    match labels.iter_mut().find(|(known, _)| *known == key) {
                        Some(label) => label.1 = value,
                        None => labels.push((key, value)),
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(LabelsVisitor)
    }
}
