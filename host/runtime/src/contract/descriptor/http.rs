//! The intended HTTP requests of a plugin.

use super::{BoundedList, DescriptorError, LIST_MAX, NAME_BYTES_MAX, check_bytes, error, json};
use crate::enumerated::enumerated;
use crate::outside::outbound::{
    AddressKind, AddressKinds, Method, OriginRule, PATH_BYTES_MAX, PathRule,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Entries of the list.
pub(crate) const HTTP_MAX: usize = 64;
/// Bytes of an origin: `https://*.`, a hostname of 253 bytes and `:65535`.
pub(crate) const ORIGIN_BYTES_MAX: usize = 269;

/// The keys of an entry.
const KEYS: [&str; 4] = ["origins", "methods", "paths", "addresses"];
/// Texts of one key.
type Texts = BoundedList<String, LIST_MAX>;

/// Methods at origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSpec {
    /// At least one.
    pub(crate) origins: Vec<OriginRule>,
    /// Each once, at least one.
    pub(crate) methods: Vec<Method>,
    /// Empty: all paths.
    pub(crate) paths: Vec<PathRule>,
    /// The kinds of the origins' addresses.
    pub(crate) addresses: AddressKinds,
}

#[derive(Deserialize)]
struct RawHttp {
    origins: Texts,
    methods: Texts,
    #[serde(default)]
    paths: Texts,
    addresses: Option<Texts>,
}

pub(super) fn http(json: &RawValue, at: &str) -> Result<HttpSpec, DescriptorError> {
    let raw: RawHttp = json::object(json, at, &KEYS)?;
    let origins = parsed(raw.origins, "origins", ORIGIN_BYTES_MAX, at)?;
    let mut methods: Vec<Method> = parsed(raw.methods, "methods", NAME_BYTES_MAX, at)?;
    methods.sort_unstable();
    if origins.is_empty() || methods.is_empty() {
        return Err(error(at, "origins and methods are to name at least one each"));
    }
    let paths = parsed(raw.paths, "paths", PATH_BYTES_MAX, at)?;
    let addresses = match raw.addresses {
        Some(kinds) => {
            AddressKinds::new(parsed::<AddressKind>(kinds, "addresses", NAME_BYTES_MAX, at)?)
        }
        None => AddressKinds::default(),
    };
    Ok(HttpSpec { origins, methods, paths, addresses })
}

/// Each text once, in order.
fn parsed<T: FromStr<Err = String>>(
    texts: Texts,
    key: &str,
    bytes_max: usize,
    at: &str,
) -> Result<Vec<T>, DescriptorError> {
    let place = format!("{at}.{key}");
    let texts: BTreeSet<String> = texts.entries(&place)?.into_iter().collect();
    let parsed = texts.iter().map(|text| {
        check_bytes(&place, text, bytes_max)?;
        text.parse().map_err(|problem: String| error(at, format!("{key} {problem}")))
    });
    parsed.collect()
}

impl HttpSpec {
    /// As text for people: `POST and GET https://api.example.com below /v1`.
    pub fn shown(&self) -> String {
        let methods: Vec<&str> = self.methods.iter().map(|method| method.name()).collect();
        let origins: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        let mut text = format!("{} {}", enumerated(&methods), enumerated(&origins));
        if !self.paths.is_empty() {
            let paths: Vec<&str> = self.paths.iter().map(PathRule::as_str).collect();
            text = format!("{text} below {}", enumerated(&paths));
        }
        if self.addresses != AddressKinds::default() {
            text = format!("{text} at {} addresses", self.addresses);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::Descriptor;

    /// The meaning of these entries of `http`, or their problem.
    #[track_caller]
    fn check(http: &str, expect: &str) {
        let json = format!(r#"{{"version":"1","http":[{http}]}}"#);
        let shown = match Descriptor::parse(json.as_bytes()) {
            Ok(descriptor) => {
                let shown: Vec<String> = descriptor.http.iter().map(HttpSpec::shown).collect();
                shown.join(", ")
            }
            Err(error) => error.to_string().replace("descriptor http", ""),
        };
        assert_eq!(shown, expect, "{http}");
    }

    fn one(origins: &str, methods: &str, more: &str) -> String {
        format!(r#"{{"origins":[{origins}],"methods":[{methods}]{more}}}"#)
    }

    #[test]
    fn what_is_meant_to_be_asked_is_read() {
        let post = one(r#""api.example.com:443""#, r#""POST","GET","POST""#, "");
        check(&post, "GET and POST https://api.example.com");
        let more = r#","paths":["/b","/a"],"addresses":["private"]"#;
        let service = one(r#""http://a.shop.svc:80""#, r#""PUT""#, more);
        check(&service, "PUT http://a.shop.svc below /a and /b at private addresses");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_its_place() {
        let url = r#""https://a.org""#;
        let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        let trace = format!(r#"[0]: methods has "TRACE", and may have {methods}"#);
        check(&one(url, r#""TRACE""#, ""), &trace);
        let none = "[0]: origins and methods are to name at least one each";
        check(&one(url, "", ""), none);
        check(&one("", r#""GET""#, ""), none);
        let text = "a path begins with a slash and has at most 1024 bytes; write it as /v1/alerts";
        let path = format!(r#"[0]: paths has "x": {text}"#);
        check(&one(url, r#""GET""#, r#","paths":["x"]"#), &path);
        let address = r#"[0]: addresses has "lan", and may have public, private, loopback"#;
        check(&one(url, r#""GET""#, r#","addresses":["lan"]"#), address);
        let many = |count: usize| vec![one(url, r#""GET""#, ""); count].join(",");
        check(&many(HTTP_MAX), &vec!["GET https://a.org"; HTTP_MAX].join(", "));
        check(&many(HTTP_MAX + 1), ": has 65 entries, at most 64 are allowed");
        let paths = |count: usize| {
            let paths: Vec<String> = (0..count).map(|n| format!("\"/{n}\"")).collect();
            let more = format!(",\"paths\":[{}]", paths.join(","));
            let json = format!(r#"{{"version":"1","http":[{}]}}"#, one(url, r#""GET""#, &more));
            Descriptor::parse(json.as_bytes()).is_ok()
        };
        assert!(paths(LIST_MAX) && !paths(LIST_MAX + 1));
    }
}
