//! Where a request goes: a URL that is read once, by the rules that browsers read URLs by (IDNA and odd spellings of addresses included), and then
//! sent as it was read. What is looked at, and what is held against rules, is never the plugin's text.

use super::ambiguity::{is_ambiguous, is_dots};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use url::{Host, Position, Url};

/// What servers take for sure is 8,000 (RFC 9110, 4.1).
pub(crate) const URL_BYTES_MAX: usize = 8 << 10;
/// A name of the DNS.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
/// Parts of a path that are shown: more than most APIs have, and no more than a rule's path may.
const PLAIN_SEGMENTS_MAX: usize = 16;
const PLAIN_BYTES_MAX: usize = 24;
const PLAIN_DIGITS_MAX: usize = 3;

/// An `http` or `https` URL with a host, without userinfo and fragment.
#[derive(Clone)]
pub struct Target {
    url: Url,
    /// Worked out once: it takes longer than all rules that look at it.
    is_ambiguous: bool,
    /// A server has said so, and not the plugin.
    is_of_answer: bool,
}

impl Target {
    /// Reads what a plugin wrote. An error says what is wrong with it, and has nothing of the path or query, which may be secrets.
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

    /// Reads a `Location`, which may be relative to this.
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

    /// Whether it is asked over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The name to resolve and to see in the server's certificate; of an address its text.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The address, if the host is one and no name.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// The port, also where it is not written.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// What stands in `Host`: the port only where it is not the scheme's.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// What is asked of the server.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        &self.url[Position::BeforePath..Position::AfterQuery]
    }

    /// Scheme, host and port: what may be shown, where path and query may be secrets.
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

    /// The beginning of the path as far as it is plainly no secret, for a rule that grants this and little else. None where that is nothing, where no
    /// rule with a path would grant it, or where it is for the plugin to know only if it asks there.
    pub(crate) fn plain_path(&self) -> Option<&str> {
        let path = self.path();
        let plain = path.split('/').skip(1).take_while(|segment| is_plain(segment));
        let end: usize = plain.take(PLAIN_SEGMENTS_MAX).map(|segment| 1 + segment.len()).sum();
        (end > 0 && !self.is_ambiguous && !self.is_of_answer).then(|| &path[..end])
    }

    /// Whether some server could take the path for another than it looks like.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }
}

/// Whoever said it: what is asked is the same.
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

/// The origin alone.
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

/// What readers of URLs drop, turn round or take for something else is not there.
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

/// A name that means the same to the resolver, to the server and to whoever reads a rule.
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

/// A word or a version, `alerts` or `v1beta2`; what has more digits, or capitals within, may be a token that a server knows its friends by.
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
