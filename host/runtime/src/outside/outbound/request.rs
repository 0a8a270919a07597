//! One request of a plugin, checked before anything is sent.

use super::headers::{Header, check_headers};
use super::{Method, Target};
use bytes::Bytes;
use std::time::Duration;

/// One request with checked parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutboundRequest {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Bytes,
}

/// The request in the plugin's form.
pub(crate) struct PluginRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl OutboundRequest {
    /// Makes all checks that do not depend on the plugin. An error has the problem, and no part that may be a secret.
    pub(crate) fn new(asked: PluginRequest, body_bytes_max: usize) -> Result<Self, String> {
        let method = asked.method.parse().map_err(|problem| format!("the method {problem}"))?;
        let target = Target::parse(&asked.url)?;
        let headers = check_headers(asked.headers)?;
        let found = asked.body.len();
        if found > body_bytes_max {
            return Err(format!(
                "it has {found} bytes, and at most {body_bytes_max} are sent (limits.httpRequestBytes)"
            ));
        }
        Ok(Self { method, target, headers, body: asked.body.into() })
    }
}

/// The plugin's time limit; `None`: that of its call.
pub(crate) fn timeout(milliseconds: u32) -> Option<Duration> {
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with this method, URL and body length; or its problem.
    #[track_caller]
    fn check(method: &str, url: &str, bytes: usize, expect: &str) {
        let asked = PluginRequest {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: vec![b'x'; bytes],
        };
        let shown = OutboundRequest::new(asked, 10).map(|request| {
            let OutboundRequest { method, target, body, .. } = request;
            format!("{} {} {}", method.name(), target.path_and_query(), body.len())
        });
        assert_eq!(shown.unwrap_or_else(|problem| problem), expect);
    }

    #[test]
    fn a_request_is_checked_part_by_part() {
        check("POST", "https://a.org/b?c", 10, "POST /b?c 10");
        let problem = "it has 11 bytes, and at most 10 are sent (limits.httpRequestBytes)";
        check("POST", "https://a.org/b?c", 11, problem);
        check("GET", "a.org", 0, "a URL begins with https:// or http://");
        let problem =
            "the method has \"TRACE\", and may have GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        check("TRACE", "https://a.org", 0, problem);
        assert_eq!([timeout(0), timeout(5)], [None, Some(Duration::from_millis(5))]);
    }
}
