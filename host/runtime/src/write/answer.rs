//! What a plugin gets of an API server's answer to its write: the object as it is now, but of a Secret nothing that is kept in it. Who may write a
//! Secret may not read it for that.

use super::Write;
use crate::cluster_writer::WriteError;
use serde_json::{Map, Value};

/// What is handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// What the API server sent.
    Whole,
    /// What kind of object it is and its metadata: without annotations, of which one may have the whole Secret, and without `managedFields`, which
    /// name the entries.
    WithoutContent,
}

impl Write {
    /// What its answer may show. What is asked of a Secret's subresource is as secret as itself.
    pub(crate) fn answered(&self) -> Answered {
        if self.what.resource.is_secrets() { Answered::WithoutContent } else { Answered::Whole }
    }
}

impl Answered {
    /// That part of a success's body.
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

fn without_content(body: &[u8]) -> Option<Vec<u8>> {
    let mut object: Map<String, Value> = serde_json::from_slice(body).ok()?;
    object.retain(|key, _| ["apiVersion", "kind", "metadata"].contains(&key.as_str()));
    if let Some(metadata) = object.get_mut("metadata") {
        metadata
            .as_object_mut()?
            .retain(|key, _| !["annotations", "managedFields"].contains(&key.as_str()));
    }
    serde_json::to_vec(&object).ok()
}

#[cfg(test)]
mod tests {
    use super::super::{How, Named};
    use super::*;

    /// What is handed on of the answer to a patch of such a resource, or why nothing is.
    #[track_caller]
    fn check(resource: &str, subresource: &str, body: &str, expect: &str) {
        let named = Named { resource, namespace: "shop", name: "a", subresource };
        let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
        let answer = write.answered().of(body.as_bytes().to_vec());
        let shown = match answer {
            Ok(body) => String::from_utf8(body).expect("text"),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn a_secret_is_answered_without_what_is_in_it() {
        let head = r#""apiVersion":"v1","kind":"Secret""#;
        let metadata = r#""name":"a","resourceVersion":"7""#;
        let body = format!(
            r#"{{{head},"data":{{"k":"dg=="}},"stringData":{{}},"metadata":{{"annotations":{{"b":"v"}},"managedFields":[],{metadata}}}}}"#
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
}
