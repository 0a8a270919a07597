//! Writes to the cluster. The host's own file must grant each of them (`writes` of `plugins.NAME`), or `NAME.yaml`
//! within that file's `ceiling`. [`Error::NotGranted`] contains the lines that would grant it. A resource has the form
//! `v1/pods` or `apps/v1/deployments`, and its subresource the form `v1/pods/status`.
//!
//! The plugin waits for the answer. All requests of one call have 10 s together by default. Writes are possible in
//! `handle`, `reconcile`, `fire` and `synced`. A failed call does not undo its writes, and it comes again. So make only
//! writes that may be repeated: patches, and objects whose names follow from their purpose.
//!
//! ```
//! use informant_plugin::kube::{self, Patch};
//! use informant_plugin::prelude::*;
//! use serde_json::json;
//!
//! fn mark(event: &Event) -> Result {
//!     let patch = Patch::merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
//!     match kube::patch("v1/pods", &event.key(), &patch) {
//!         Ok(_) => Ok(()),
//!         Err(error) if error.is_not_found() => Ok(()),
//!         Err(error) => Err(error.into_failure()),
//!     }
//! }
//! ```

use crate::bindings::informant::plugin::kube as contract;
use crate::imports::kube as host;
use crate::{Failure, ObjectKey};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The write is not granted. The text contains the lines that would grant it.
    NotGranted(String),
    /// Another replica of the host leads.
    NotLeader,
    /// The write is invalid: a name that no object may have, or too large a part.
    Invalid(String),
    /// The API server refused the write.
    Status(Status),
    /// No answer came, or none in time. The API server may have carried the write out, unless the text says that
    /// nothing was sent.
    Transport(String),
    /// The write was carried out and the answer does not fit the requested type; or the value to send cannot be
    /// encoded as JSON.
    Json(String),
}

/// An API server's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code. 409: another client has changed the object first.
    pub code: u16,
    /// `Conflict`, `AlreadyExists`, `NotFound`, `Invalid`.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// The time until the next try.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Whether the object does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    /// Whether another client was first: the object already exists, has changed, or is another one.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.has_code(409)
    }

    fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Status(status) if status.code == code)
    }

    /// The failure for the plugin's result. It has a retry after the API server's time, and none if the write would
    /// fail again.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        let failure = Failure::new(&self);
        match self {
            Self::Status(Status { retry_after: Some(wait), .. }) => failure.retry_after(wait),
            Self::Invalid(_) | Self::Json(_) => failure.never_retry(),
            _ => failure,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(text) => write!(f, "not granted: {text}"),
            Self::NotLeader => f.write_str("another replica of the host writes"),
            Self::Invalid(text) => write!(f, "nothing that could be sent: {text}"),
            Self::Status(Status { code, reason, message, .. }) => {
                write!(f, "refused with {code} {reason}: {message}")
            }
            Self::Transport(text) => write!(f, "no answer: {text}"),
            Self::Json(text) => write!(f, "the JSON does not fit: {text}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<contract::Error> for Error {
    fn from(error: contract::Error) -> Self {
        match error {
            contract::Error::NotGranted(text) => Self::NotGranted(text),
            contract::Error::NotLeader => Self::NotLeader,
            contract::Error::Invalid(text) => Self::Invalid(text),
            contract::Error::Status(status) => Self::Status(Status {
                code: status.code,
                reason: status.reason,
                message: status.message,
                retry_after: status.retry_after_ms.map(Duration::from_millis),
            }),
            contract::Error::Transport(text) => Self::Transport(text),
        }
    }
}

/// An object of the API server's answer. For a Secret it has only `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    json: Vec<u8>,
}

impl Written {
    /// The bytes of the answer.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// Decodes the object.
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.json).map_err(|error| Error::Json(error.to_string()))
    }
}

/// A change of part of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    kind: contract::PatchType,
    body: Value,
}

impl Patch {
    /// RFC 7386: members replace the members of the same name, and null removes one.
    #[must_use]
    pub fn merge(change: Value) -> Self {
        Self { kind: contract::PatchType::Merge, body: change }
    }

    /// RFC 6902: a list of operations.
    #[must_use]
    pub fn json(operations: Value) -> Self {
        Self { kind: contract::PatchType::JsonPatch, body: operations }
    }

    /// Kubernetes' own patch: lists merge by key. Not for custom resources.
    #[must_use]
    pub fn strategic(change: Value) -> Self {
        Self { kind: contract::PatchType::Strategic, body: change }
    }

    /// Server-side apply: sets these fields. The field manager is `informant-` and the plugin's name. `force` takes
    /// over fields of other managers; a Secret requires it. It needs the grants of `patch` and `create`.
    #[must_use]
    pub fn apply(fields: Value, force: bool) -> Self {
        Self { kind: contract::PatchType::Apply(force), body: fields }
    }
}

/// Creates an object. If the key has no name, the object's `generateName` applies.
pub fn create(resource: &str, key: &ObjectKey, object: &impl Serialize) -> Result<Written, Error> {
    let (gvr, subresource) = split(resource);
    Ok(Written { json: host::create(gvr, key, subresource, &encode(object)?)? })
}

/// Replaces an object. Objects from the cache lack the last-applied annotation. If the object in the cluster has it,
/// the update is refused as [`Error::Invalid`]; use [`patch`] instead.
pub fn update(resource: &str, key: &ObjectKey, object: &impl Serialize) -> Result<Written, Error> {
    let (gvr, subresource) = split(resource);
    Ok(Written { json: host::update(gvr, key, subresource, &encode(object)?)? })
}

/// Changes part of an object.
pub fn patch(resource: &str, key: &ObjectKey, patch: &Patch) -> Result<Written, Error> {
    let (gvr, subresource) = split(resource);
    let body = encode(&patch.body)?;
    Ok(Written { json: host::patch(gvr, key, subresource, patch.kind, &body)? })
}

/// Deletes an object.
pub fn delete(resource: &str, key: &ObjectKey) -> Result<(), Error> {
    Ok(host::delete(resource, key, None)?)
}

/// Deletes the object with this UID. Another object with the same name is a conflict.
pub fn delete_only(resource: &str, key: &ObjectKey, uid: &str) -> Result<(), Error> {
    Ok(host::delete(resource, key, Some(uid))?)
}

/// The type of a Kubernetes Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// For information.
    Normal,
    /// Something is wrong.
    Warning,
}

/// Records a Kubernetes Event about an object of the plugin's events or reads, without waiting for it. `reason` is a
/// word of up to 128 bytes, and `message` has up to 1,024 bytes. The same Event within some minutes becomes one Event
/// with a count.
pub fn record_event(
    resource: &str,
    key: &ObjectKey,
    gravity: Gravity,
    reason: &str,
    message: &str,
) -> Result<(), Error> {
    let is_warning = gravity == Gravity::Warning;
    Ok(host::record_event(resource, key, is_warning, reason, message)?)
}

fn encode(object: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object).map_err(|error| Error::Json(error.to_string()))
}

/// Splits a resource and its subresource: `v1/pods/status` and `apps/v1/deployments/scale` have one,
/// `apps/v1/deployments` has none.
fn split(resource: &str) -> (&str, &str) {
    let is_version = |part: &str| {
        // A group may begin like a version, but has a dot.
        let after = part.strip_prefix('v').filter(|_| !part.contains('.'));
        after.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let whole = match resource.split('/').next() {
        Some(first) if is_version(first) => 2,
        _ => 3,
    };
    match resource.match_indices('/').nth(whole - 1) {
        Some((at, _)) => (&resource[..at], &resource[at + 1..]),
        None => (resource, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: &str, gvr: &str, subresource: &str) {
        assert_eq!(split(resource), (gvr, subresource));
    }

    #[test]
    fn a_subresource_is_written_behind_its_resource() {
        check("v1/pods", "v1/pods", "");
        check("v1/pods/status", "v1/pods", "status");
        check("apps/v1/deployments", "apps/v1/deployments", "");
        check("apps/v1/deployments/scale", "apps/v1/deployments", "scale");
        check("v2.example.com/v1/things", "v2.example.com/v1/things", "");
        check("v2.example.com/v1/things/status", "v2.example.com/v1/things", "status");
        check("pods", "pods", "");
    }
}
