//! Answers of host functions as JSON, and back. Bytes are text where they are UTF-8, as Kubernetes'
//! objects are.

use crate::guest::bindings::informant::plugin::kube::{Error as WriteError, StatusError};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::bindings::informant::plugin::{http, indexer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The answer of a host function.
pub(crate) trait Taped: Sized {
    fn to_tape(&self) -> Value;
    /// `None` for another type of value.
    fn from_tape(value: &Value) -> Option<Self>;
}

impl Taped for () {
    fn to_tape(&self) -> Value {
        Value::Null
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.is_null().then_some(())
    }
}

impl Taped for bool {
    fn to_tape(&self) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Taped for u64 {
    fn to_tape(&self) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_u64()
    }
}

impl Taped for u32 {
    fn to_tape(&self) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl Taped for f64 {
    fn to_tape(&self) -> Value {
        (*self).into()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Taped for String {
    fn to_tape(&self) -> Value {
        self.as_str().into()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Taped for Vec<u8> {
    fn to_tape(&self) -> Value {
        match std::str::from_utf8(self) {
            Ok(text) => text.into(),
            Err(_) => json!({ "base64": STANDARD.encode(self) }),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text.clone().into_bytes()),
            Value::Object(_) => STANDARD.decode(value["base64"].as_str()?).ok(),
            _ => None,
        }
    }
}

impl<T: Taped> Taped for Vec<T> {
    fn to_tape(&self) -> Value {
        self.iter().map(T::to_tape).collect()
    }

    fn from_tape(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_tape).collect()
    }
}

impl<T: Taped> Taped for Option<T> {
    fn to_tape(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_tape)
    }

    fn from_tape(value: &Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_tape(value).map(Some) }
    }
}

impl<T: Taped, E: Taped> Taped for Result<T, E> {
    fn to_tape(&self) -> Value {
        match self {
            Ok(answer) => json!({ "ok": answer.to_tape() }),
            Err(error) => json!({ "error": error.to_tape() }),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        match (value.get("ok"), value.get("error")) {
            (Some(answer), None) => T::from_tape(answer).map(Ok),
            (None, Some(error)) => E::from_tape(error).map(Err),
            _ => None,
        }
    }
}

impl<A: Taped, B: Taped> Taped for (A, B) {
    fn to_tape(&self) -> Value {
        json!([self.0.to_tape(), self.1.to_tape()])
    }

    fn from_tape(value: &Value) -> Option<Self> {
        match value.as_array()?.as_slice() {
            [a, b] => Some((A::from_tape(a)?, B::from_tape(b)?)),
            _ => None,
        }
    }
}

/// `namespace/name`, or the name of an object without a namespace.
impl Taped for GuestKey {
    fn to_tape(&self) -> Value {
        match self.namespace.as_str() {
            "" => self.name.as_str().into(),
            namespace => format!("{namespace}/{}", self.name).into(),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        let text = value.as_str()?;
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// A page of answers: its items under one name, and the cursor.
fn page<T: Taped>(name: &str, items: &[T], next: Option<&String>) -> Value {
    let items: Value = items.iter().map(T::to_tape).collect();
    json!({ name: items, "next": next })
}

fn from_page<T: Taped>(name: &str, value: &Value) -> Option<(Vec<T>, Option<String>)> {
    Some((Taped::from_tape(value.get(name)?)?, Taped::from_tape(value.get("next")?)?))
}

impl Taped for indexer::Page {
    fn to_tape(&self) -> Value {
        page("items", &self.items, self.next.as_ref())
    }

    fn from_tape(value: &Value) -> Option<Self> {
        from_page("items", value).map(|(items, next)| Self { items, next })
    }
}

impl Taped for indexer::KeyPage {
    fn to_tape(&self) -> Value {
        page("keys", &self.keys, self.next.as_ref())
    }

    fn from_tape(value: &Value) -> Option<Self> {
        from_page("keys", value).map(|(keys, next)| Self { keys, next })
    }
}

impl Taped for indexer::ValuePage {
    fn to_tape(&self) -> Value {
        page("values", &self.values, self.next.as_ref())
    }

    fn from_tape(value: &Value) -> Option<Self> {
        from_page("values", value).map(|(values, next)| Self { values, next })
    }
}

/// An error as its name, with a text or null.
fn named(name: &str, text: Option<&str>) -> Value {
    let text = text.map_or(Value::Null, Into::into);
    Value::Object(Map::from_iter([(name.to_owned(), text)]))
}

/// The only member of an object.
fn only(value: &Value) -> Option<(&str, &Value)> {
    let mut members = value.as_object()?.iter();
    let (name, value) = members.next()?;
    members.next().is_none().then_some((name, value))
}

impl Taped for indexer::Error {
    fn to_tape(&self) -> Value {
        match self {
            Self::NotGranted(text) => named("not-granted", Some(text)),
            Self::UnknownResource(text) => named("unknown-resource", Some(text)),
            Self::UnknownIndex(text) => named("unknown-index", Some(text)),
            Self::NotSynced(text) => named("not-synced", Some(text)),
            Self::Expired => named("expired", None),
            Self::Invalid(text) => named("invalid", Some(text)),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        let (name, text) = only(value)?;
        let text = || String::from_tape(text);
        match name {
            "not-granted" => text().map(Self::NotGranted),
            "unknown-resource" => text().map(Self::UnknownResource),
            "unknown-index" => text().map(Self::UnknownIndex),
            "not-synced" => text().map(Self::NotSynced),
            "expired" => Some(Self::Expired),
            "invalid" => text().map(Self::Invalid),
            _ => None,
        }
    }
}

impl Taped for StatusError {
    fn to_tape(&self) -> Value {
        let Self { code, reason, message, retry_after_ms } = self;
        json!({ "code": code, "reason": reason, "message": message, "retryAfterMs": retry_after_ms })
    }

    fn from_tape(value: &Value) -> Option<Self> {
        Some(Self {
            code: value["code"].as_u64()?.try_into().ok()?,
            reason: Taped::from_tape(&value["reason"])?,
            message: Taped::from_tape(&value["message"])?,
            retry_after_ms: Taped::from_tape(&value["retryAfterMs"])?,
        })
    }
}

impl Taped for WriteError {
    fn to_tape(&self) -> Value {
        match self {
            Self::NotGranted(text) => named("not-granted", Some(text)),
            Self::NotLeader => named("not-leader", None),
            Self::Invalid(text) => named("invalid", Some(text)),
            Self::Status(status) => json!({ "status": status.to_tape() }),
            Self::Transport(text) => named("transport", Some(text)),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        let (name, said) = only(value)?;
        let text = || String::from_tape(said);
        match name {
            "not-granted" => text().map(Self::NotGranted),
            "not-leader" => Some(Self::NotLeader),
            "invalid" => text().map(Self::Invalid),
            "status" => Taped::from_tape(said).map(Self::Status),
            "transport" => text().map(Self::Transport),
            _ => None,
        }
    }
}

impl Taped for http::Response {
    fn to_tape(&self) -> Value {
        let (headers, body) = (self.headers.to_tape(), self.body.to_tape());
        json!({ "status": self.status, "headers": headers, "body": body })
    }

    fn from_tape(value: &Value) -> Option<Self> {
        Some(Self {
            status: value["status"].as_u64()?.try_into().ok()?,
            headers: Taped::from_tape(&value["headers"])?,
            body: Taped::from_tape(&value["body"])?,
        })
    }
}

impl Taped for http::Error {
    fn to_tape(&self) -> Value {
        match self {
            Self::NotGranted(text) => named("not-granted", Some(text)),
            Self::NotLeader => named("not-leader", None),
            Self::Invalid(text) => named("invalid", Some(text)),
            Self::TimedOut(text) => named("timed-out", Some(text)),
            Self::TooLarge(text) => named("too-large", Some(text)),
            Self::Transport(text) => named("transport", Some(text)),
        }
    }

    fn from_tape(value: &Value) -> Option<Self> {
        let (name, text) = only(value)?;
        let text = || String::from_tape(text);
        match name {
            "not-granted" => text().map(Self::NotGranted),
            "not-leader" => Some(Self::NotLeader),
            "invalid" => text().map(Self::Invalid),
            "timed-out" => text().map(Self::TimedOut),
            "too-large" => text().map(Self::TooLarge),
            "transport" => text().map(Self::Transport),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer is the same after it was written and read again, and has this written form.
    #[track_caller]
    fn check<T: Taped>(answer: &T, expect: &Value) {
        let written = answer.to_tape();
        assert_eq!(written, *expect);
        let read: Value = serde_json::from_str(&written.to_string()).expect("it is JSON");
        let back = T::from_tape(&read).expect("it can be read");
        assert_eq!(back.to_tape(), written);
        let nonsense = json!([[["nonsense"]], {}, {}]);
        assert!(T::from_tape(&nonsense).is_none(), "something else is refused");
    }

    #[test]
    fn answers_are_what_they_were() {
        check(&true, &json!(true));
        check(&7_u64, &json!(7));
        check(&Some("text".to_owned()), &json!("text"));
        check(&b"{\"a\": 1}".to_vec(), &json!("{\"a\": 1}"));
        check(&vec![0xff_u8], &json!({ "base64": "/w==" }));
        type Fields = Result<Option<Vec<Option<String>>>, indexer::Error>;
        check(&Fields::Ok(Some(vec![Some("1".to_owned()), None])), &json!({ "ok": ["1", null] }));
        check(&Fields::Ok(None), &json!({ "ok": null }));
        check(&Fields::Err(indexer::Error::Expired), &json!({ "error": { "expired": null } }));
        let page = indexer::Page { items: vec![b"{}".to_vec()], next: Some("a/b".to_owned()) };
        check(&page, &json!({ "items": ["{}"], "next": "a/b" }));
        let key = GuestKey { namespace: "a".to_owned(), name: "b".to_owned() };
        check(
            &indexer::KeyPage { keys: vec![key], next: None },
            &json!({ "keys": ["a/b"], "next": null }),
        );
    }

    #[test]
    fn answers_from_outside_are_what_they_were() {
        let (reason, message) = ("Conflict".to_owned(), "changed".to_owned());
        let status = StatusError { code: 409, reason, message, retry_after_ms: Some(5) };
        let shown =
            json!({ "code": 409, "reason": "Conflict", "message": "changed", "retryAfterMs": 5 });
        check(&WriteError::Status(status), &json!({ "status": shown }));
        check(&WriteError::NotLeader, &json!({ "not-leader": null }));
        let headers = vec![("a".to_owned(), "b".to_owned())];
        let response = http::Response { status: 200, headers, body: b"x".to_vec() };
        check(&response, &json!({ "status": 200, "headers": [["a", "b"]], "body": "x" }));
        check(&http::Error::TimedOut("late".to_owned()), &json!({ "timed-out": "late" }));
    }
}
