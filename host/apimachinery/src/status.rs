//! `Status`, the object with which an API server answers when it does not answer with another one.
//!
//! Codes, reasons and texts are those of apimachinery's `api/errors`: clients, client-go's informers
//! among them, decide by them.

use std::borrow::Cow;
use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::GroupVersionResource;

/// The machine-readable reasons that are used here.
pub mod reason {
    #![allow(missing_docs, reason = "each is the word it stands for")]
    pub const UNAUTHORIZED: &str = "Unauthorized";
    pub const FORBIDDEN: &str = "Forbidden";
    pub const NOT_FOUND: &str = "NotFound";
    pub const ALREADY_EXISTS: &str = "AlreadyExists";
    pub const CONFLICT: &str = "Conflict";
    pub const GONE: &str = "Gone";
    pub const EXPIRED: &str = "Expired";
    pub const INVALID: &str = "Invalid";
    pub const TIMEOUT: &str = "Timeout";
    pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
    pub const BAD_REQUEST: &str = "BadRequest";
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
    pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
    pub const INTERNAL_ERROR: &str = "InternalError";
    pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
    /// A cause, not a reason of its own: the client asks for a future resourceVersion.
    pub const RESOURCE_VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
}

/// `v1/Status`: the outcome of a request, most often of one that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    api_version: ApiVersion,
    /// Carries the continue token of a 410 to a list; empty otherwise.
    #[serde(default)]
    pub metadata: StatusMetadata,
    /// `Success` or `Failure`.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub status: Cow<'static, str>,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs; one of [`reason`], or another server's word.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub reason: Cow<'static, str>,
    /// What the failure is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP status code; 0 where a success leaves it out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
}

/// The list metadata of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusMetadata {
    /// With a 410 to a list: the token of the inconsistent remainder.
    #[serde(rename = "continue", default, skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The object's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The resource's group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (for a 422 the kind), despite its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's UID.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What is wrong, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// When to try again; 0 says nothing.
    #[serde(default, skip_serializing_if = "is_zero_seconds")]
    pub retry_after_seconds: u32,
}

/// One of several things that are wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCause {
    /// For programs, for example `FieldValueRequired`.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub reason: Cow<'static, str>,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field's path, for example `spec.containers`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// Writes itself as `Status` and takes anything; keeps `Status` small, as it is the error of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kind;

/// Writes itself as `v1` and takes anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ApiVersion;

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("Status")
    }
}

impl Serialize for ApiVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("v1")
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl<'de> Deserialize<'de> for ApiVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

fn is_zero(code: &u16) -> bool {
    *code == 0
}

fn is_zero_seconds(seconds: &u32) -> bool {
    *seconds == 0
}

impl Status {
    /// A failure with any code and reason.
    pub fn failure(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: Kind,
            api_version: ApiVersion,
            metadata: StatusMetadata::default(),
            status: Cow::Borrowed("Failure"),
            message: message.into(),
            reason: Cow::Borrowed(reason),
            details: None,
            code,
        }
    }

    /// A success that has no object to show, such as a deletion.
    pub fn success(details: Option<StatusDetails>) -> Self {
        let details = details.map(Box::new);
        Self {
            status: Cow::Borrowed("Success"),
            reason: Cow::Borrowed(""),
            code: 0,
            details,
            ..Self::failure(0, "", "")
        }
    }

    /// 404: no such object.
    pub fn not_found(gvr: &GroupVersionResource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", gvr.group_resource());
        Self::failure(404, reason::NOT_FOUND, message).about(gvr, name)
    }

    /// 404: no such resource or path.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        let mut status = Self::failure(404, reason::NOT_FOUND, message);
        status.details = Some(Box::default());
        status
    }

    /// 409: an object of this name is there already.
    pub fn already_exists(gvr: &GroupVersionResource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", gvr.group_resource());
        Self::failure(409, reason::ALREADY_EXISTS, message).about(gvr, name)
    }

    /// 409: the object is not the one, or not in the state, that the client thinks; `why` says how.
    pub fn conflict(gvr: &GroupVersionResource, name: &str, why: &str) -> Self {
        let resource = gvr.group_resource();
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::failure(409, reason::CONFLICT, message).about(gvr, name)
    }

    /// 409: the client's resourceVersion is not the object's.
    pub fn modified(gvr: &GroupVersionResource, name: &str) -> Self {
        let why = "the object has been modified; \
                   please apply your changes to the latest version and try again";
        Self::conflict(gvr, name, why)
    }

    /// 410: the resourceVersion is older than what the server remembers.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, reason::EXPIRED, message)
    }

    /// 410 as a watch says it.
    pub fn too_old_resource_version(requested: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {requested} ({oldest})"))
    }

    /// 403: the client may not do this to the resource.
    pub fn forbidden(gvr: &GroupVersionResource, name: &str, why: &str) -> Self {
        let resource = gvr.group_resource();
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} {name:?} is forbidden: {why}"),
        };
        Self::failure(403, reason::FORBIDDEN, message).about(gvr, name)
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, reason::BAD_REQUEST, message)
    }

    /// 422: the object, or the options, break rules; `kind` is the kind's name with its group.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<StatusCause>) -> Self {
        let qualified_kind = match group {
            "" => kind.to_owned(),
            group => format!("{kind}.{group}"),
        };
        let shown = |c: &StatusCause| match c.field.as_str() {
            "" => c.message.clone(),
            field => format!("{field}: {}", c.message),
        };
        let problems = match causes.as_slice() {
            [one] => shown(one),
            several => format!("[{}]", several.iter().map(shown).collect::<Vec<_>>().join(", ")),
        };
        let message = format!("{qualified_kind} {name:?} is invalid: {problems}");
        let mut status = Self::failure(422, reason::INVALID, message);
        status.details = Some(Box::new(StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..StatusDetails::default()
        }));
        status
    }

    /// 504: the client asks for a resourceVersion that the server has not reached
    /// (apiserver's `storage.NewTooLargeResourceVersionError`).
    pub fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message =
            format!("Timeout: Too large resource version: {requested}, current: {current}");
        let mut status = Self::failure(504, reason::TIMEOUT, message);
        status.details = Some(Box::new(StatusDetails {
            causes: vec![StatusCause {
                reason: Cow::Borrowed(reason::RESOURCE_VERSION_TOO_LARGE),
                message: "Too large resource version".to_owned(),
                field: String::new(),
            }],
            retry_after_seconds: 1,
            ..StatusDetails::default()
        }));
        status
    }

    /// 405: the resource does not have this verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut status = Self::failure(405, reason::METHOD_NOT_ALLOWED, message);
        status.details = Some(Box::default());
        status
    }

    /// 406: none of the representations the client accepts is served.
    pub fn not_acceptable(accepted: &str) -> Self {
        let message = format!("only the following media types are accepted: {accepted}");
        Self::failure(406, reason::NOT_ACCEPTABLE, message)
    }

    /// 413: the request's body is larger than the server reads.
    pub fn request_entity_too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message)
    }

    /// 415: the body's media type is not understood.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// 429: come back after some seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut status = Self::failure(429, reason::TOO_MANY_REQUESTS, message);
        status.details =
            Some(Box::new(StatusDetails { retry_after_seconds, ..StatusDetails::default() }));
        status
    }

    /// 500: the server broke a promise of its own.
    pub fn internal_error(message: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {message}");
        Self::failure(500, reason::INTERNAL_ERROR, message)
    }

    /// 503: the server cannot answer now.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, reason::SERVICE_UNAVAILABLE, message)
    }

    /// Whether this is a success.
    pub fn is_success(&self) -> bool {
        self.status == "Success"
    }

    /// The JSON, which has no newlines.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a Status has only strings and integers")
    }

    fn about(mut self, gvr: &GroupVersionResource, name: &str) -> Self {
        self.details = Some(Box::new(StatusDetails {
            name: name.to_owned(),
            group: gvr.group.clone(),
            kind: gvr.resource.clone(),
            ..StatusDetails::default()
        }));
        self
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for Status {}

impl StatusCause {
    /// A field that must be there and is not.
    pub fn required(field: &str, why: &str) -> Self {
        Self::new("FieldValueRequired", field, with_why("Required value", why))
    }

    /// A field whose value breaks a rule; `value` is shown as JSON.
    pub fn invalid(field: &str, value: impl fmt::Display, why: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {why}"))
    }

    /// A field that must not be set here.
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, with_why("Forbidden", why))
    }

    /// A field whose value is not one of those that are known.
    pub fn not_supported(field: &str, value: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(", ");
        let message = format!("Unsupported value: {value:?}: supported values: {known}");
        Self::new("FieldValueNotSupported", field, message)
    }

    fn new(reason: &'static str, field: &str, message: String) -> Self {
        Self { reason: Cow::Borrowed(reason), message, field: field.to_owned() }
    }
}

fn with_why(what: &str, why: &str) -> String {
    if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(status: &Status, expect: &Expect) {
        let json = String::from_utf8(status.to_json()).expect("JSON is UTF-8");
        expect.assert_eq(&json);
        assert_eq!(serde_json::from_str::<Status>(&json).ok().as_ref(), Some(status));
    }

    fn pods() -> GroupVersionResource {
        GroupVersionResource::new("", "v1", "pods")
    }

    fn deployments() -> GroupVersionResource {
        GroupVersionResource::new("apps", "v1", "deployments")
    }

    #[test]
    fn missing_object() {
        check(
            &Status::not_found(&pods(), "web"),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web\" not found","reason":"NotFound","details":{"name":"web","kind":"pods"},"code":404}"#
            ]],
        );
        check(
            &Status::not_found(&deployments(), "web"),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"web\" not found","reason":"NotFound","details":{"name":"web","group":"apps","kind":"deployments"},"code":404}"#
            ]],
        );
    }

    #[test]
    fn conflicts() {
        check(
            &Status::modified(&pods(), "web"),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply your changes to the latest version and try again","reason":"Conflict","details":{"name":"web","kind":"pods"},"code":409}"#
            ]],
        );
        check(
            &Status::already_exists(&pods(), "web"),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web\" already exists","reason":"AlreadyExists","details":{"name":"web","kind":"pods"},"code":409}"#
            ]],
        );
    }

    #[test]
    fn resource_versions_out_of_range() {
        check(
            &Status::too_old_resource_version(3, 9),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 3 (9)","reason":"Expired","code":410}"#
            ]],
        );
        check(
            &Status::too_large_resource_version(9, 3),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 9, current: 3","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#
            ]],
        );
    }

    #[test]
    fn invalid_object_lists_its_causes() {
        let causes = vec![
            StatusCause::required("spec.containers", ""),
            StatusCause::invalid("metadata.name", "\"A\"", "must be lower case"),
        ];
        check(
            &Status::invalid("", "Pod", "A", causes),
            &expect![[
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Pod \"A\" is invalid: [spec.containers: Required value, metadata.name: Invalid value: \"A\": must be lower case]","reason":"Invalid","details":{"name":"A","kind":"Pod","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.containers"},{"reason":"FieldValueInvalid","message":"Invalid value: \"A\": must be lower case","field":"metadata.name"}]},"code":422}"#
            ]],
        );
    }

    #[test]
    fn success_has_neither_code_nor_reason() {
        check(
            &Status::success(None),
            &expect![[r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#]],
        );
    }

    #[test]
    fn another_servers_status_is_read_whatever_it_leaves_out() {
        let status: Status = serde_json::from_str(r#"{"reason":"Odd","code":418}"#).expect("valid");
        assert_eq!((status.code, status.reason.as_ref()), (418, "Odd"));
        assert!(!status.is_success());
    }
}
