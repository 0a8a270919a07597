//! The address of a collector for one signal.

use http::Uri;
use std::fmt;

/// A parsed endpoint. Its text has no credentials: a URL with a user or a query is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) is_https: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// For the header `Host`.
    pub(super) authority: String,
    pub(super) path: String,
}

impl Endpoint {
    /// Parses the URL that `option` has. `signal` is added to its path: `v1/traces`. Empty: the path is complete.
    pub(super) fn new(option: &str, url: &str, signal: &str) -> Result<Self, String> {
        let problem = |problem: &str| {
            format!("{option} {problem}; write a URL such as http://127.0.0.1:4318")
        };
        let uri: Uri = url.parse().map_err(|_| problem("is no URL"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(problem("has no scheme or no host"));
        };
        let is_https = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(problem("is neither http nor https")),
        };
        if authority.as_str().contains('@') {
            return Err(format!(
                "{option} has a user; put credentials into OTEL_EXPORTER_OTLP_HEADERS"
            ));
        }
        if uri.query().is_some() {
            return Err(format!(
                "{option} has a query, which is not sent; put credentials into OTEL_EXPORTER_OTLP_HEADERS"
            ));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let path = match signal {
            "" => uri.path().to_owned(),
            signal => format!("{}/{signal}", uri.path().trim_end_matches('/')),
        };
        Ok(Self { is_https, host, port, authority: authority.to_string(), path })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, signal: &str, expect: &str) {
        let shown = match Endpoint::new("--otlp-endpoint", url, signal) {
            Ok(it) => format!("{it} {} {}", it.host, it.port),
            Err(error) => error,
        };
        assert_eq!(shown, expect, "{url}");
    }

    #[test]
    fn the_signals_path_is_added_to_a_base() {
        let collector = "http://127.0.0.1:4318/v1/traces 127.0.0.1 4318";
        check("http://127.0.0.1:4318", "v1/traces", collector);
        check("http://127.0.0.1:4318/", "v1/traces", collector);
        check("https://a.org/b", "v1/metrics", "https://a.org/b/v1/metrics a.org 443");
        check("http://[::1]:4318/c", "", "http://[::1]:4318/c ::1 4318");
        check("http://a.org", "", "http://a.org/ a.org 80");
    }

    #[test]
    fn other_texts_are_refused_without_their_credentials() {
        let advice = "write a URL such as http://127.0.0.1:4318";
        check("a.org:4318", "", &format!("--otlp-endpoint has no scheme or no host; {advice}"));
        check("ftp://a.org", "", &format!("--otlp-endpoint is neither http nor https; {advice}"));
        check("http://a b", "", &format!("--otlp-endpoint is no URL; {advice}"));
        let user = "--otlp-endpoint has a user; put credentials into OTEL_EXPORTER_OTLP_HEADERS";
        check("http://me:secret@a.org", "", user);
        let query = "--otlp-endpoint has a query, which is not sent; put credentials into OTEL_EXPORTER_OTLP_HEADERS";
        check("http://a.org/v1?key=secret", "", query);
        check("http://a.org/?", "v1/traces", query);
    }
}
