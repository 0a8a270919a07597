//! The bytes of an object for a subscription's `delivery` setting.

use crate::contract::descriptor::Delivery;
use bytes::Bytes;
use informant_cache::Object;

/// The object's bytes for this setting. `None` for lazy delivery.
pub(crate) fn payload(object: &Object, delivery: Delivery) -> Option<Bytes> {
    match delivery {
        Delivery::Full => Some(object.json()),
        Delivery::Lazy => None,
        Delivery::Metadata => Some(object.metadata_json()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, delivery: Delivery, expect: Option<&str>) {
        let object = Object::decode(json.as_bytes(), None).expect("the test's pod is well formed");
        assert_eq!(payload(&object, delivery).as_deref(), expect.map(str::as_bytes));
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
