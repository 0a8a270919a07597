//! The origins in a rule, `https://api.example.com` or `https://*.example.com`, and the paths below them.

use super::{AddressKind, Target};
use std::fmt;
use std::str::FromStr;

/// The most bytes of a rule's path.
pub(crate) const PATH_BYTES_MAX: usize = 1 << 10;

const LOCALHOST: &str = "localhost";

/// One origin, or those of all names below a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OriginRule {
    is_https: bool,
    /// Without the `*.`.
    host: String,
    /// Whether it covers only the names below `host`, and not `host` itself.
    is_below: bool,
    port: u16,
    /// As it was written.
    text: String,
}

impl OriginRule {
    pub(crate) fn covers(&self, target: &Target) -> bool {
        let is_host = || match self.is_below {
            true => target.address().is_none() && is_below(target.host(), &self.host),
            false => target.host() == self.host,
        };
        (self.is_https, self.port) == (target.is_https(), target.port()) && is_host()
    }

    /// The kind of its address, if it is known without resolving: the host is an address, or the name of the host's
    /// own machine (RFC 6761).
    pub(crate) fn address_kind(&self) -> Option<AddressKind> {
        if self.host == LOCALHOST || is_below(&self.host, LOCALHOST) {
            return Some(AddressKind::Loopback);
        }
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host.parse().ok().and_then(AddressKind::of)
    }

    /// Whether this rule covers all origins of the other.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let is_host = match (self.is_below, other.is_below) {
            (true, true) => other.host == self.host || is_below(&other.host, &self.host),
            (true, false) => is_below(&other.host, &self.host),
            (false, true) => false,
            (false, false) => other.host == self.host,
        };
        (self.is_https, self.port) == (other.is_https, other.port) && is_host
    }
}

/// Whether the name has at least one label more. An address has no names below it.
fn is_below(name: &str, of: &str) -> bool {
    name.strip_suffix(of).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

impl fmt::Display for OriginRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for OriginRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |problem: &str| {
            format!(
                "has {text:?}, which is no origin: {problem}; write it as https://api.example.com, http://alerts.shop.svc:9093 or https://*.example.com"
            )
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let (is_below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let parsed = Target::parse(&format!("{scheme}://{rest}"));
        let target = parsed.map_err(|error| problem(&error))?;
        if target.path() != "/" || rest.contains(['/', '?', '#']) {
            return Err(problem("paths stand by themselves"));
        }
        if is_below && target.address().is_some() {
            return Err(problem("an address has no names below it"));
        }
        let is_https = target.is_https();
        let star = if is_below { "*." } else { "" };
        let scheme = if is_https { "https" } else { "http" };
        Ok(Self {
            is_https,
            host: target.host().to_owned(),
            is_below,
            port: target.port(),
            text: format!("{scheme}://{star}{}", target.authority()),
        })
    }
}

/// A path and all paths below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathRule(String);

impl PathRule {
    /// `/v1` covers itself, `/v1/` and `/v1/a`, not `/v10`. No rule covers an ambiguous path.
    pub(crate) fn covers(&self, target: &Target) -> bool {
        self.is_beginning_of(target.path()) && !target.is_ambiguous()
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.is_beginning_of(&other.0)
    }

    fn is_beginning_of(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.is_empty() || self.0.ends_with('/') || rest.starts_with('/'))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PathRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = |problem: &str| format!("has {text:?}: {problem}; write it as /v1/alerts");
        if !text.starts_with('/') || text.len() > PATH_BYTES_MAX {
            let most = format!("a path begins with a slash and has at most {PATH_BYTES_MAX} bytes");
            return Err(problem(&most));
        }
        // Parsed like a request's path, so that both have the same form.
        let target = Target::parse(&format!("https://a{text}")).map_err(|error| problem(&error))?;
        if target.has_query() || text.contains('#') {
            return Err(problem("a rule looks at no query"));
        }
        if target.is_ambiguous() {
            return Err(problem("it may mean another path once it is decoded"));
        }
        Ok(Self(target.path().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> OriginRule {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The URLs that belong to an origin, and others that do not.
    #[track_caller]
    fn check(rule: &str, covered: &[&str], others: &[&str]) {
        let rule = origin(rule);
        let covers = |url: &&str| {
            let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            rule.covers(&target)
        };
        let found: Vec<&str> =
            covered.iter().chain(others).copied().filter(|it| covers(it)).collect();
        assert_eq!(found, covered, "{rule}");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        check(
            "https://api.example.com",
            &["https://api.example.com", "HTTPS://API.EXAMPLE.COM:443/x?y"],
            &[
                "http://api.example.com",
                "https://api.example.com:8443",
                "https://example.com",
                "https://a.api.example.com",
                "https://api.example.com.evil.org",
                "https://api.example.community",
            ],
        );
        check("api.example.com", &["https://api.example.com/"], &["http://api.example.com/"]);
        check(
            "http://alerts.shop.svc:9093",
            &["http://alerts.shop.svc:9093/x"],
            &["http://alerts.shop.svc/", "https://alerts.shop.svc:9093/"],
        );
        check("http://[::1]:80", &["http://[0:0::1]/"], &["http://[::2]/", "http://127.0.0.1/"]);
        check("http://10.0.0.1", &["http://0xa.1/", "http://167772161/"], &["http://10.0.0.2/"]);
        check("https://münchen.example", &["https://xn--mnchen-3ya.example"], &[]);
    }

    #[test]
    fn a_star_stands_for_names_below() {
        check(
            "https://*.example.com:8443",
            &["https://a.example.com:8443", "https://b.a.example.com:8443/x"],
            &[
                "https://example.com:8443",
                "https://a.example.com",
                "https://aexample.com:8443",
                "https://a.example.com.evil.org:8443",
            ],
        );
    }

    #[test]
    fn an_origin_contains_another() {
        #[track_caller]
        fn check(wide: &str, narrow: &str, expect: bool) {
            assert_eq!(origin(wide).contains(&origin(narrow)), expect, "{wide} {narrow}");
        }
        check("https://a.org", "https://a.org:443", true);
        check("https://a.org", "http://a.org", false);
        check("https://*.a.org", "https://b.a.org", true);
        check("https://*.a.org", "https://*.b.a.org", true);
        check("https://*.a.org", "https://*.a.org", true);
        check("https://*.b.a.org", "https://*.a.org", false);
        check("https://*.a.org", "https://a.org", false);
        check("https://b.a.org", "https://*.a.org", false);
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        #[track_caller]
        fn check(text: &str, expect: &str) {
            let problem = text.parse::<OriginRule>().expect_err("it is none");
            let begin = format!("has {text:?}, which is no origin: {expect}; write it as ");
            assert!(problem.starts_with(&begin), "{problem}");
        }
        check("", "it names no host");
        check("*", "its host cannot be a name");
        check("https://*", "its host cannot be a name");
        check("https://a.*.org", "its host cannot be a name");
        check("ftp://a.org", "a URL begins with https:// or http://");
        check("https://a.org/x", "paths stand by themselves");
        check("https://a.org/", "paths stand by themselves");
        check("https://a.org?", "paths stand by themselves");
        check("https://*.10.0.0.1", "an address has no names below it");
        check("http://*.1", "an address has no names below it");
        check("https://u@a.org", super::super::target::USERINFO);
    }

    #[test]
    fn a_path_is_a_beginning_on_whole_segments() {
        #[track_caller]
        fn check(rule: &str, path: &str, expect: bool) {
            let target = Target::parse(&format!("https://a{path}")).expect("a URL");
            let rule: PathRule = rule.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rule.covers(&target), expect, "{rule:?} {path}");
        }
        for within in ["/v1", "/v1/", "/v1/a", "/v1?x", "/v1//a"] {
            check("/v1", within, true);
        }
        let others = ["/", "/v10", "/v", "/V1", "//v1", "/%761", "/v1;a", "/v1%2fa", "/v1%20/a"];
        for other in others {
            check("/v1", other, false);
        }
        for odd in ["/v1/%2e%2e%2fa", "/v1/..%20/a", "/v1/%c0%ae%c0%ae/a", "/v1/%u002e%u002e/a"] {
            check("/v1", odd, false);
        }
        check("/v1/", "/v1", false);
        check("/v1/", "/v1/a", true);
        check("/", "/a/b", true);
        check("/ä", "/%C3%A4/b", true);
        for odd in ["v1", "", "/a?b", "/a#b", "/a/../b", "/a/%2e", "/a%2fb", "/a\\b", "/a b"] {
            assert!(odd.parse::<PathRule>().is_err(), "{odd}");
        }
        let long = |bytes: usize| format!("/{}", "a".repeat(bytes - 1)).parse::<PathRule>().is_ok();
        assert!(long(PATH_BYTES_MAX) && !long(PATH_BYTES_MAX + 1));
    }
}
