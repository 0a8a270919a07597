//! The token with which a client asks for the next page of a list.
//!
//! Opaque to clients and versioned, so that a token from another version is refused rather than misread.
//! Only meant for the server that made it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

const VERSION: &str = "informant.dev/v1";

/// The longest token that is decoded: a namespace and a name are at most 253 characters each.
const TOKEN_LENGTH_MAX: usize = 2048;

/// Where the next page of a list begins, and of which state of the collection it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinueToken {
    #[serde(rename = "v")]
    version: String,
    #[serde(rename = "rv", default, skip_serializing_if = "Option::is_none")]
    resource_version: Option<u64>,
    #[serde(rename = "start")]
    start_after: String,
}

/// The text is not a token of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContinueTokenError {
    /// It cannot be decoded at all.
    #[error("continue key is not valid: it is no token of this server; list again without it")]
    Malformed,
    /// It is a token of another version of this server.
    #[error("continue key is not valid: it was made by another version; list again without it")]
    OtherVersion,
}

impl ContinueToken {
    /// The page after `start_after` of the collection as it was at `resource_version`.
    pub fn new(resource_version: u64, start_after: impl Into<String>) -> Self {
        Self {
            version: VERSION.to_owned(),
            resource_version: Some(resource_version),
            start_after: start_after.into(),
        }
    }

    /// The page after `start_after` of the collection as it is when the page is asked for. A server hands
    /// it out with a 410, for clients that prefer an inconsistent remainder to starting over.
    pub fn inconsistent(start_after: impl Into<String>) -> Self {
        Self {
            version: VERSION.to_owned(),
            resource_version: None,
            start_after: start_after.into(),
        }
    }

    /// The state that the page belongs to; `None` for whatever is now.
    pub fn resource_version(&self) -> Option<u64> {
        self.resource_version
    }

    /// The key of the last item already delivered.
    pub fn start_after(&self) -> &str {
        &self.start_after
    }

    /// The text for `metadata.continue`.
    pub fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("strings and an integer are always JSON");
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Reads what a client sent back.
    pub fn decode(text: &str) -> Result<Self, ContinueTokenError> {
        if text.len() > TOKEN_LENGTH_MAX {
            return Err(ContinueTokenError::Malformed);
        }
        let text = text.trim_end_matches('=');
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| ContinueTokenError::Malformed)?;
        let token: Self =
            serde_json::from_slice(&json).map_err(|_| ContinueTokenError::Malformed)?;
        if token.version != VERSION {
            return Err(ContinueTokenError::OtherVersion);
        }
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: &ContinueToken) {
        assert_eq!(ContinueToken::decode(&token.encode()).as_ref(), Ok(token));
    }

    #[track_caller]
    fn check_error(text: &str, expect: ContinueTokenError) {
        assert_eq!(ContinueToken::decode(text), Err(expect));
    }

    #[test]
    fn tokens_come_back_unchanged() {
        check(&ContinueToken::new(42, "default/web-1"));
        check(&ContinueToken::new(u64::MAX, ""));
        check(&ContinueToken::inconsistent("/node-1"));
    }

    #[test]
    fn foreign_text_is_refused() {
        check_error("", ContinueTokenError::Malformed);
        check_error("not base64!", ContinueTokenError::Malformed);
        check_error(&URL_SAFE_NO_PAD.encode("{}"), ContinueTokenError::Malformed);
        check_error(&"A".repeat(TOKEN_LENGTH_MAX + 1), ContinueTokenError::Malformed);
        let kubernetes = r#"{"v":"meta.k8s.io/v1","rv":7,"start":"default/a"}"#;
        check_error(&URL_SAFE_NO_PAD.encode(kubernetes), ContinueTokenError::OtherVersion);
    }
}
