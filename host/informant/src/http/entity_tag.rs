//! Entity tags: a client that has an answer asks whether it is still the present one, and gets no second copy.
//!
//! A tag names the content that an answer is made from. So it is known before the answer, and costs no look at the objects.
//! It is weak (RFC 9110, 8.8.3): the same content is sent plain and compressed, which are other bytes.

use super::header_lists::items;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use informant_cache::Object;
use sha2::{Digest, Sha256};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

/// Bytes of the hash: too many for two answers to have the same by chance.
const HASH_BYTES: usize = 18;

/// Tells the editions of this process from those of others.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// The tag of an answer with this object, to a request for this path and query.
pub(super) fn of_object(asked: &str, object: &Object) -> HeaderValue {
    tag(&["object", asked, &object.uid(), object.resource_version()])
}

/// The tag of an answer from a store of this edition. A list that is sent while objects change has some of their later
/// states. That is no harm: the edition never comes back, so no client gets 304 for such a list.
pub(super) fn of_list(asked: &str, edition: u64) -> HeaderValue {
    tag(&["list", asked, &PROCESS.to_string(), &edition.to_string()])
}

fn tag(parts: &[&str]) -> HeaderValue {
    let mut hash = Sha256::new_with_prefix(env!("CARGO_PKG_VERSION"));
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let text = URL_SAFE_NO_PAD.encode(&hash.finalize()[..HASH_BYTES]);
    HeaderValue::from_str(&format!("W/\"{text}\"")).expect("base64 in quotes is a header's value")
}

/// Whether the client has the answer with this tag (RFC 9110, `If-None-Match`), by the first tags that it sends.
pub(super) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let tag = opaque(tag.to_str().unwrap_or_default());
    items(headers, &header::IF_NONE_MATCH).any(|one| one == "*" || opaque(one) == tag)
}

/// The tag without the mark of weak ones.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn object(uid: &str, version: u64) -> Object {
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"{uid}","resourceVersion":"{version}"}}}}"#
        );
        Object::decode(json.as_bytes(), None).expect("it decodes")
    }

    #[test]
    fn a_tag_is_that_of_one_answer() {
        let tags = [
            of_object("/core/v1/pods", &object("u", 1)),
            of_object("/core/v1/pods", &object("u", 2)),
            of_object("/core/v1/pods", &object("v", 1)),
            of_object("/core/v1/pods?fields=kind", &object("u", 1)),
            of_list("/core/v1/pods", 1),
            of_list("/core/v1/pods", 2),
            of_list("/core/v1/pods?limit=1", 2),
        ];
        assert_eq!(tags.iter().collect::<HashSet<_>>().len(), tags.len(), "{tags:?}");
        assert_eq!(of_object("/core/v1/pods", &object("u", 1)), tags[0]);
        assert_eq!(of_list("/core/v1/pods", 1), tags[4]);
    }

    /// Whether a client with these headers has the answer with the tag `W/"x"`.
    #[track_caller]
    fn check(values: &[&'static str], expect: bool) {
        let values = values.iter().map(|value| HeaderValue::from_static(value));
        let headers = values.map(|value| (header::IF_NONE_MATCH, value)).collect();
        assert_eq!(is_known(&headers, &HeaderValue::from_static("W/\"x\"")), expect, "{headers:?}");
    }

    #[test]
    fn a_client_names_the_answers_that_it_has() {
        check(&[], false);
        check(&["\"x\""], true);
        check(&["\"y\", W/\"x\""], true);
        check(&["\"y\"", "\"x\""], true);
        check(&["*"], true);
        check(&["\"y\"", "x", ""], false);
    }
}
