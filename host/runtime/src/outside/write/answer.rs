//! The part of an API server's answer that a plugin gets: the object as it is now, but nothing of a Secret's content.
//! A grant to write a Secret is no grant to read it.

use super::Write;
use crate::outside::cluster_writer::WriteError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The part of an answer for the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerContent {
    /// The whole answer.
    Whole,
    /// The object's kind and metadata. Without annotations, of which one may contain the whole Secret. Without
    /// `managedFields`, which name the entries. Without `resourceVersion`, which a write without a change leaves the
    /// same. Of a refusal, only its kind.
    WithoutContent,
}

impl Write {
    /// The part that an answer may show. A Secret's subresource is as secret as the Secret.
    pub(crate) fn answered(&self) -> AnswerContent {
        // Invariant 35.
        if self.what.resource.is_secrets() {
            AnswerContent::WithoutContent
        } else {
            AnswerContent::Whole
        }
    }
}

impl AnswerContent {
    /// This part of a success's body.
    pub(crate) fn of(self, body: Vec<u8>) -> Result<Vec<u8>, WriteError> {
        match self {
            Self::Whole => Ok(body),
            Self::WithoutContent => without_content(&body).ok_or_else(|| {
                let text = "it was done, and the answer is no object".to_owned();
                WriteError::Transport(text)
            }),
        }
    }
}

/// The API server's own reasons of refusals. An admission webhook may use any other text.
const REASONS: [&str; 10] = [
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Forbidden",
    "Invalid",
    "NotFound",
    "RequestEntityTooLarge",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
];

impl AnswerContent {
    /// This part of a refusal.
    pub(crate) fn of_refusal(self, error: WriteError) -> WriteError {
        match (self, error) {
            (Self::WithoutContent, WriteError::Status { code, reason, retry_after, .. }) => {
                let is_known = REASONS.contains(&reason.as_str());
                let reason = if is_known { reason } else { String::new() };
                let message =
                    "the API server's message is not handed on: it could tell what is in the Secret"
                        .to_owned();
                WriteError::Status { code, reason, message, retry_after }
            }
            (_, error) => error,
        }
    }
}

fn without_content(body: &[u8]) -> Option<Vec<u8>> {
    let shown: ObjectWithoutContent<'_> = serde_json::from_slice(body).ok()?;
    serde_json::to_vec(&shown).ok()
}

/// An object without its content. Nested parts of the body become no tree.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectWithoutContent<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    api_version: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    metadata: Option<ShownMetadata<'a>>,
}

/// `ObjectMeta` without `annotations`, `managedFields` and `resourceVersion`.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownMetadata<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    creation_timestamp: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    deletion_grace_period_seconds: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    finalizers: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    generate_name: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    generation: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    labels: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    name: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    owner_references: Option<&'a RawValue>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    uid: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::super::{How, NamedObject};
    use super::*;

    /// The part of the answer to a patch of such a resource, or the reason why there is none.
    #[track_caller]
    fn check(resource: &str, subresource: &str, body: &str, expect: &str) {
        let named = NamedObject { resource, namespace: "shop", name: "a", subresource };
        let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
        let answer = write.answered().of(body.as_bytes().to_vec());
        let shown = match answer {
            Ok(body) => String::from_utf8(body).expect("text"),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expect);
    }

    /// Invariant 35.
    #[test]
    fn a_secret_is_answered_without_what_is_in_it() {
        let head = r#""apiVersion":"v1","kind":"Secret""#;
        let metadata = r#""labels":{"l":"v"},"name":"a""#;
        let body = format!(
            r#"{{{head},"data":{{"k":"dg=="}},"stringData":{{}},"metadata":{{"annotations":{{"b":"v"}},"managedFields":[],{metadata},"resourceVersion":"7"}}}}"#
        );
        let expect = format!(r#"{{{head},"metadata":{{{metadata}}}}}"#);
        check("v1/secrets", "", &body, &expect);
        check("v1/secrets", "status", &body, &expect);
        check("v1/configmaps", "", &body, &body);
        check("example.com/v1/secrets", "", &body, &body);
        check("v1/secrets", "", "{}", "{}");
        for odd in ["", "[]", "k: v", r#"{"metadata":"v"}"#] {
            check("v1/secrets", "", odd, "it was done, and the answer is no object");
        }
    }

    #[test]
    fn a_refused_write_of_a_secret_tells_its_kind_alone() {
        let shown = |resource: &str, reason: &str| {
            let named = NamedObject { resource, namespace: "shop", name: "a", subresource: "" };
            let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
            let (reason, message) = (reason.to_owned(), "hunter2 is immutable".to_owned());
            let error = WriteError::Status { code: 422, reason, message, retry_after: None };
            write.answered().of_refusal(error).to_string()
        };
        let withheld =
            "the API server's message is not handed on: it could tell what is in the Secret";
        assert_eq!(shown("v1/secrets", "Invalid"), format!("422 Invalid: {withheld}"));
        assert_eq!(shown("v1/secrets", "hunter2"), format!("422 : {withheld}"));
        assert_eq!(shown("v1/configmaps", "Invalid"), "422 Invalid: hunter2 is immutable");
    }
}
