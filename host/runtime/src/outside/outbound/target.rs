//! The target of a request: a URL that is parsed once, by the rules of browsers (with IDNA and unusual forms of
//! addresses), and sent in its parsed form. The rules check this form, never the plugin's text.

use super::ambiguity::{is_ambiguous, is_dots};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use url::{Host, Position, Url};

/// Above the 8,000 that servers should support (RFC 9110, 4.1).
pub(crate) const URL_BYTES_MAX: usize = 8 << 10;
/// A name of the DNS.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
/// The most segments of a path that are shown: more than most APIs have, and no more than a rule's path may have.
const PLAIN_SEGMENTS_MAX: usize = 16;
const PLAIN_BYTES_MAX: usize = 24;
const PLAIN_DIGITS_MAX: usize = 3;

/// An `http` or `https` URL with a host, without userinfo and fragment.
#[derive(Clone)]
pub struct Target {
    url: Url,
    /// Computed once: this takes longer than all checks of rules.
    is_ambiguous: bool,
    /// Whether a server's redirect gave the target, and not the plugin.
    is_of_answer: bool,
}

impl Target {
    /// Parses a plugin's text. An error has the problem, and no part of the path or query, which may be secrets.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        check_characters(text)?;
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let is_known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        if !is_known {
            return Err("a URL begins with https:// or http://".to_owned());
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        check_authority(authority)?;
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        if path.split('/').any(is_dots) {
            return Err("the path has . or .. in it: write it without".to_owned());
        }
        Self::new(Url::parse(text).map_err(|error| error.to_string())?)
    }

    /// Parses a `Location`, which may be relative to this URL.
    pub(crate) fn join(&self, location: &str) -> Result<Self, String> {
        check_characters(location)?;
        let target = Self::new(self.url.join(location).map_err(|error| error.to_string())?)?;
        Ok(Self { is_of_answer: true, ..target })
    }

    fn new(mut url: Url) -> Result<Self, String> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err("it is neither https nor http".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(USERINFO.to_owned());
        }
        match url.host() {
            Some(Host::Domain(name)) => check_name(name)?,
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {}
            None => return Err("it names no host".to_owned()),
        }
        if url.port_or_known_default().is_none_or(|port| port == 0) {
            return Err("its port is none".to_owned());
        }
        url.set_fragment(None);
        match url.as_str().len() {
            0..=URL_BYTES_MAX => {
                Ok(Self { is_ambiguous: is_ambiguous(url.path()), is_of_answer: false, url })
            }
            found => Err(too_long(found)),
        }
    }

    /// Whether the request uses TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The name to resolve and to verify in the server's certificate; for an address its text.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The address, if the host is an address.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The port, also if it is the scheme's default.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// The value of `Host`: with the port only if it is not the scheme's default.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// The path and query of the request.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// Scheme, host and port: the part that may be shown. Path and query may be secrets.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.url[..Position::AfterPort]
    }

    pub(crate) fn path(&self) -> &str {
        self.url.path()
    }

    pub(crate) fn has_query(&self) -> bool {
        self.url.query().is_some()
    }

    /// The beginning of the path that cannot be secret, for a narrow rule. `None` if that is empty, or if no rule with
    /// a path would grant the target. Also `None` for a server's redirect, whose path only the plugin may learn by
    /// asking.
    pub(crate) fn plain_path(&self) -> Option<&str> {
        let path = self.path();
        let plain = path.split('/').skip(1).take_while(|segment| is_plain(segment));
        let end: usize = plain.take(PLAIN_SEGMENTS_MAX).map(|segment| 1 + segment.len()).sum();
        (end > 0 && !self.is_ambiguous && !self.is_of_answer).then(|| &path[..end])
    }

    /// Whether some server could read the path differently.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }
}

/// The origin of the text does not matter for the comparison.
impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Target {}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// Only the origin.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/…", self.origin())
    }
}

pub(super) const USERINFO: &str =
    "it has a user or a password: the host adds credentials (headers in the configuration)";

fn too_long(found: usize) -> String {
    format!("a URL has at most {URL_BYTES_MAX} bytes, and this has {found}")
}

/// Refuses characters that URL parsers drop, reverse or confuse.
fn check_characters(text: &str) -> Result<(), String> {
    if text.len() > URL_BYTES_MAX {
        return Err(too_long(text.len()));
    }
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    match text.chars().find(|c| is_odd(*c)) {
        Some(odd) => Err(format!("a URL has no {odd:?}")),
        None => Ok(()),
    }
}

fn check_authority(authority: &str) -> Result<(), String> {
    match authority {
        "" => Err("it names no host".to_owned()),
        authority if authority.contains('@') => Err(USERINFO.to_owned()),
        _ => Ok(()),
    }
}

/// Checks that the resolver, the server and a reader of a rule understand the same name.
fn check_name(name: &str) -> Result<(), String> {
    if name.ends_with('.') {
        return Err("its host ends with a dot: leave that out".to_owned());
    }
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label =
        |label: &str| (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(is_inner);
    match name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label) {
        true => Ok(()),
        false => Err("its host cannot be a name".to_owned()),
    }
}

/// A word or a version, `alerts` or `v1beta2`. A segment with more digits, or with capitals inside, may be a secret
/// token.
fn is_plain(segment: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    segment.len() <= PLAIN_BYTES_MAX
        && digits <= PLAIN_DIGITS_MAX
        && segment.starts_with(|first: char| first.is_ascii_alphabetic())
        && segment.chars().skip(1).all(is_inner)
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
