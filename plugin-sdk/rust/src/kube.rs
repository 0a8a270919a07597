//! Writes to the cluster. Each has to be granted in the configuration of whoever runs the host (`writes` in `NAME.yaml`); [`Error::NotGranted`] has
//! the lines that would. A resource is written as `v1/pods` or `apps/v1/deployments`, a subresource of it as `v1/pods/status`.
//!
//! The plugin waits for the answer, 10 s at most for all requests of one call if the host says nothing else. It may write while it is told of
//! something, works on a key or hears of the time. A call that fails takes nothing back of what it wrote and comes again, so write what may be
//! written twice: patches, and objects whose names follow from what they are made for.
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

/// Why something was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Nothing grants it; the text has the lines that would.
    NotGranted(String),
    /// Another replica of the host writes.
    NotLeader,
    /// It cannot be a request: a name that no object has, or too much.
    Invalid(String),
    /// The API server refused it.
    Status(Status),
    /// No answer came, or not in time: it may have been done or not, unless the text says that nothing was sent.
    Transport(String),
    /// It was done, and the answer does not fit the type asked for; or what was to be sent cannot be written as JSON.
    Json(String),
}

/// An API server's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// 409: somebody else was quicker.
    pub code: u16,
    /// `Conflict`, `AlreadyExists`, `NotFound`, `Invalid`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When it may be tried again.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// There is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    /// Somebody else was quicker: the object is there already, has changed, or is another one.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.has_code(409)
    }

    fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Status(status) if status.code == code)
    }

    /// The failure to answer with: retried when the API server says so, never where it would fail again.
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

/// An object as the API server answered with it. Of a Secret only `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    json: Vec<u8>,
}

impl Written {
    /// The answer's bytes.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The object.
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
    /// RFC 7386: members take the place of those of their name, and null removes one.
    #[must_use]
    pub fn merge(change: Value) -> Self {
        Self { kind: contract::PatchType::Merge, body: change }
    }

    /// RFC 6902: a list of operations.
    #[must_use]
    pub fn json(operations: Value) -> Self {
        Self { kind: contract::PatchType::JsonPatch, body: operations }
    }

    /// Kubernetes' own: lists merge by key. Not for custom resources.
    #[must_use]
    pub fn strategic(change: Value) -> Self {
        Self { kind: contract::PatchType::Strategic, body: change }
    }

    /// Server-side apply, with `informant-` and the plugin's name as the field manager: the fields that are to be as written here. `force` takes
    /// over those of others; of a Secret it is needed.
    /// It needs the grants of `patch` and `create`.
    #[must_use]
    pub fn apply(fields: Value, force: bool) -> Self {
        Self { kind: contract::PatchType::Apply(force), body: fields }
    }
}

/// Makes an object. A key without a name leaves it to the object's `generateName`.
pub fn create(resource: &str, key: &ObjectKey, object: &impl Serialize) -> Result<Written, Error> {
    let (gvr, subresource) = split(resource);
    Ok(Written { json: host::create(gvr, key, subresource, &encode(object)?)? })
}

/// Replaces an object. What the cache hands out has lost its last-applied annotation. If the object in the cluster has it, this is refused
/// as [`Error::Invalid`]: rather [`patch`].
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

/// Deletes the object with this UID, and not another that has got its name: that is a conflict.
pub fn delete_only(resource: &str, key: &ObjectKey, uid: &str) -> Result<(), Error> {
    Ok(host::delete(resource, key, Some(uid))?)
}

/// How grave a Kubernetes Event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// For information.
    Normal,
    /// Something is wrong.
    Warning,
}

/// Records a Kubernetes Event about an object that the plugin is told of or reads, without waiting for it. `reason` is a word of up to 128 bytes,
/// `message` has up to 1,024. What is recorded again within some minutes is one Event with a count.
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

/// A resource and its subresource: `v1/pods/status` and `apps/v1/deployments/scale` have one, `apps/v1/deployments` has not.
fn split(resource: &str) -> (&str, &str) {
    let is_version = |part: &str| {
        // A group may begin as one, but has a dot.
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
