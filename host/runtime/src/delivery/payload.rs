//! The bytes of an object for a subscription's `delivery` setting.

use crate::contract::descriptor::Delivery;
use bytes::Bytes;
use informant_cache::Object;
use std::ops::Deref;

/// The bytes for a call. All plugins read the same text: a count of its readers would move between their processors.
pub(crate) enum Payload<'a> {
    Carried(&'a Bytes),
    /// Of an object at rest.
    Unpacked(Bytes),
}

impl Deref for Payload<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Carried(json) => json,
            Self::Unpacked(json) => json,
        }
    }
}

/// The object's bytes for this setting. `None` for lazy delivery.
pub(crate) fn payload(object: &Object, delivery: Delivery) -> Option<Payload<'_>> {
    let carried = match delivery {
        Delivery::Lazy => return None,
        Delivery::Full => object.carried_json(),
        Delivery::Metadata => object.carried_metadata_json(),
    };
    let unpacked = || match delivery {
        Delivery::Metadata => object.metadata_json(),
        Delivery::Full | Delivery::Lazy => object.json(),
    };
    Some(carried.map_or_else(|| Payload::Unpacked(unpacked()), Payload::Carried))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, delivery: Delivery, expect: Option<&str>) {
        let object = Object::decode(json.as_bytes(), None).expect("the test's pod is well formed");
        for object in [object.at_rest(), object] {
            assert_eq!(payload(&object, delivery).as_deref(), expect.map(str::as_bytes));
        }
    }

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","spec":{"a":[]},"metadata":{"name":"web","labels":{"a":"{"}}}"#;

    #[test]
    fn an_object_is_delivered_as_it_is_wanted() {
        check(POD, Delivery::Full, Some(POD));
        check(POD, Delivery::Lazy, None);
        let metadata =
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"{"}}}"#;
        check(POD, Delivery::Metadata, Some(metadata));
    }
}
