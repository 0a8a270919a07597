//! Functions that change objects before they are cached. As client-go's `TransformFunc` (`tools/cache/delta_fifo.go`).
//!
//! client-go's may run twice on one object, and one that clears the resourceVersion loses updates. Here it runs once,
//! when the object arrives, and changes only the bytes. Key, UID, resourceVersion, generation, labels and owners are
//! kept beside them as the server sent them, so that selectors still agree with the server's. A function that renames
//! an object causes an error.

mod remove;

use crate::json::JsonPointer;
use crate::object::{Object, ObjectKey};
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type TransformClosure = dyn Fn(&Object) -> Result<Option<Vec<u8>>, BoxError> + Send + Sync;

/// Changes the bytes of each arriving object, before it is stored and delivered: index functions, handlers and readers
/// see only the result. Deleted objects pass through it too.
///
/// It must depend only on the object. Otherwise the same object would count as changed in every list.
#[derive(Clone)]
pub struct Transform {
    function: Arc<TransformClosure>,
}

/// One object was not transformed. It is cached unchanged, so no data is lost.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// The function's own error.
    #[error("object {key} could not be transformed and is kept as it came: {error}")]
    Failed {
        /// The object.
        key: ObjectKey,
        /// The function's error.
        error: BoxError,
    },
    /// The function panicked.
    #[error("object {key} made its transform panic and is kept as it came")]
    Panicked {
        /// The object.
        key: ObjectKey,
    },
    /// The function's result is not a JSON object.
    #[error(
        "object {key} was transformed into what is no JSON object and is kept as it came: {error}"
    )]
    NotAnObject {
        /// The object.
        key: ObjectKey,
        /// The problem and its place.
        error: serde_json::Error,
    },
    /// The function's result has another name, namespace or UID.
    #[error(
        "object {key} was transformed into one with another {field} and is kept as it came: its key and UID stay those that \
         the server sent"
    )]
    Renamed {
        /// The object.
        key: ObjectKey,
        /// `name`, `namespace` or `uid`.
        field: &'static str,
    },
}

impl Transform {
    /// A function from an object to the JSON to cache in place of [`Object::json`]; `None` leaves it unchanged.
    pub fn new(
        function: impl Fn(&Object) -> Result<Option<Vec<u8>>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self { function: Arc::new(function) }
    }

    /// Removes the values at the pointers. No tree is built; a missing value is ignored. Removing an element of an
    /// array moves the later ones.
    pub fn without(fields: Vec<JsonPointer>) -> Self {
        Self::new(move |object| Ok(remove::remove(&object.json(), &fields)?))
    }

    /// The transformed object; after a failure, the object itself and the error.
    pub fn apply(&self, object: Object) -> (Object, Option<TransformError>) {
        let key = || object.key().clone();
        let error = match catch_unwind(AssertUnwindSafe(|| (self.function)(&object))) {
            Ok(Ok(None)) => return (object, None),
            Ok(Ok(Some(json))) => match identity(&json).map(|found| found.differs_from(&object)) {
                Ok(None) => return (object.with_json(Bytes::from(json.into_boxed_slice())), None),
                Ok(Some(field)) => TransformError::Renamed { key: key(), field },
                Err(error) => TransformError::NotAnObject { key: key(), error },
            },
            Ok(Err(error)) => TransformError::Failed { key: key(), error },
            Err(_panic) => TransformError::Panicked { key: key() },
        };
        (object, Some(error))
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}

/// The identity in the metadata of a transformed object, as far as present.
#[derive(Default, serde::Deserialize)]
struct Identity<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

impl Identity<'_> {
    /// The first field that differs from the object's. A missing field does not count: its value is kept beside the
    /// bytes.
    fn differs_from(&self, object: &Object) -> Option<&'static str> {
        let key = object.key();
        let fields = [
            ("name", &self.name, key.name()),
            ("namespace", &self.namespace, key.namespace()),
            ("uid", &self.uid, &*object.uid()),
        ];
        let mut differing = fields
            .into_iter()
            .filter(|(_, found, is)| found.as_deref().is_some_and(|found| found != *is));
        differing.next().map(|(field, ..)| field)
    }
}

/// The identity of the JSON object, after a check of its whole text.
fn identity(json: &[u8]) -> Result<Identity<'_>, serde_json::Error> {
    struct Entries;
    impl<'de> serde::de::Visitor<'de> for Entries {
        type Value = Identity<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Identity<'de>, A::Error> {
            let mut identity = Identity::default();
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                if key == "metadata" {
                    identity = map.next_value::<Option<Identity<'de>>>()?.unwrap_or_default();
                } else {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
            Ok(identity)
        }
    }
    // serde_json does not check skipped values, but readers expect text.
    let text = std::str::from_utf8(json).map_err(serde::de::Error::custom)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let identity = serde::Deserializer::deserialize_map(&mut deserializer, Entries)?;
    deserializer.end()?;
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":"a","uid":"u","resourceVersion":"7","labels":{"app":"x"},"annotations":{"big":"..."}},"spec":{"nodeName":"n1","containers":[{"name":"c","env":[{"name":"A"},{"name":"B"}]},{"name":"s","env":[]}]}}"#;

    fn pod() -> Object {
        Object::decode(POD.as_bytes(), None).expect("it decodes")
    }

    fn without(pointers: &[&str]) -> Transform {
        Transform::without(pointers.iter().map(|p| p.parse().expect("a pointer")).collect())
    }

    #[track_caller]
    fn check(transform: &Transform, expect: &str) {
        let (object, error) = transform.apply(pod());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(object.json(), expect.as_bytes());
        check_metadata(&object);
    }

    #[track_caller]
    fn check_metadata(object: &Object) {
        assert_eq!(object.key(), &ObjectKey::new("d", "a"));
        assert_eq!((&*object.uid(), object.resource_version()), ("u", "7"));
        assert_eq!(object.label("app"), Some("x"));
    }

    #[track_caller]
    fn check_failure(transform: &Transform, expect: &str) {
        let (object, error) = transform.apply(pod());
        assert_eq!(object.json(), POD.as_bytes(), "nothing is lost");
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(expect), "{error}");
    }

    #[test]
    fn fields_are_left_out_by_their_pointers() {
        let expect = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":"a","uid":"u","resourceVersion":"7","labels":{"app":"x"}},"spec":{"containers":[{"name":"c"},{"name":"s"}]}}"#;
        let fields = ["/metadata/annotations", "/spec/nodeName", "/spec/containers/*/env", "/x/y"];
        check(&without(&fields), expect);
        check(&without(&["/x", "/spec/containers/9", "/kind/x"]), POD);
        let expect = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":"a","uid":"u","resourceVersion":"7","labels":{"app":"x"},"annotations":{}},"spec":{"containers":[{"name":"s","env":[]}]}}"#;
        check(
            &without(&["/metadata/annotations/*", "/spec/nodeName", "/spec/containers/0"]),
            expect,
        );
    }

    #[test]
    fn a_transform_cannot_lose_key_uid_version_or_labels() {
        check(&Transform::new(|_| Ok(Some(b"{}".to_vec()))), "{}");
        check(&without(&["/*"]), "{}");
        check(&Transform::new(|_| Ok(None)), POD);
    }

    #[test]
    fn a_transform_that_renames_is_an_error() {
        for (from, to, field) in [
            (r#""name":"a""#, r#""name":"b""#, "name"),
            (r#""namespace":"d""#, r#""namespace":"""#, "namespace"),
            (r#""uid":"u""#, r#""uid":"v""#, "uid"),
        ] {
            let renamed = POD.replacen(from, to, 1).into_bytes();
            check_failure(
                &Transform::new(move |_| Ok(Some(renamed.clone()))),
                &format!("object d/a was transformed into one with another {field} and is kept"),
            );
        }
        let escaped = POD.replacen(r#""name":"a""#, r#""name":"\u0061""#, 1);
        let same = escaped.clone().into_bytes();
        check(&Transform::new(move |_| Ok(Some(same.clone()))), &escaped);
    }

    #[test]
    fn an_object_that_cannot_be_transformed_is_kept_as_it_came() {
        check_failure(
            &Transform::new(|_| Err("no".into())),
            "object d/a could not be transformed and is kept as it came: no",
        );
        check_failure(
            &Transform::new(|_| panic!("on purpose")),
            "object d/a made its transform panic",
        );
        for nonsense in ["", "[]", "{", "{}x", "{\"a\":1,}", "\"text\"", "{\"metadata\":1}"] {
            check_failure(
                &Transform::new(|_| Ok(Some(nonsense.as_bytes().to_vec()))),
                "object d/a was transformed into what is no JSON object",
            );
        }
    }
}
