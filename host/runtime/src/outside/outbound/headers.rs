//! Header fields: those that a plugin may set, and those that the host adds and no plugin sees.

use std::fmt;
use std::str::FromStr;

/// The most header fields of one request.
pub(crate) const HEADERS_MAX: usize = 64;
/// Bytes of their names and values together. Servers accept 8 to 16 KiB.
pub(crate) const HEADER_BYTES_MAX: usize = 16 << 10;
/// Bytes of a field's name in a rule.
const NAME_BYTES_MAX: usize = 128;
/// The most bytes of the text in front of a credential.
const PREFIX_BYTES_MAX: usize = 128;
/// The same bound as for the key of a Secret.
const SECRET_NAME_BYTES_MAX: usize = 253;

/// Fields that frame a message, name its server or manage the connection: only the host sets them.
const OURS: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Fields by which some servers see another method or path than the rules checked.
const OVERRIDES: [&str; 6] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-method",
    "x-original-url",
    "x-rewrite-url",
];
/// Fields for proxies, which the host does not use.
const OF_PROXIES: &str = "proxy-";
/// Fields in which a proxy names its client: servers behind a proxy trust them, and may allow that client more.
const OF_OTHERS: [&str; 7] = [
    "cf-connecting-ip",
    "fastly-client-ip",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-real-ip",
];
/// Prefixes of more such fields: also users and groups, as Kubernetes' own proxies name them.
const BEGINNINGS_OF_OTHERS: [&str; 5] =
    ["forwarded", "impersonate-", "x-forwarded", "x-original-", "x-remote-"];

/// The lower-case name, and the value.
pub(crate) type Header = (String, Vec<u8>);

/// A field that the host adds: a prefix, and the content of a file in the directory of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretHeader {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) secret: SecretName,
}

/// The name of a file in the directory of secrets; not a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretName(String);

impl SecretHeader {
    /// A header of this name, made of a prefix and a secret.
    pub fn new(name: &str, prefix: &str, secret: SecretName) -> Result<Self, String> {
        let (name, prefix) = (secret_header_name(name)?, secret_prefix(prefix)?);
        Ok(Self { name, prefix, secret })
    }

    /// The field's name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text in front of the secret: `Bearer `.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of the secret.
    #[must_use]
    pub fn secret(&self) -> &SecretName {
        &self.secret
    }
}

impl SecretName {
    /// The file's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_plain = (1..=SECRET_NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().all(is_inner)
            && !text.starts_with('.');
        is_plain.then(|| Self(text.to_owned())).ok_or_else(|| {
            format!(
                "has {text:?}, which is no plain file name: use letters, digits, '-', '_' and '.', not at the beginning"
            )
        })
    }
}

/// Checks the fields that a plugin sets. An error names the field and never its value.
pub(crate) fn check_headers(headers: Vec<(String, String)>) -> Result<Vec<Header>, String> {
    if headers.len() > HEADERS_MAX {
        let found = headers.len();
        return Err(format!("it has {found} headers, and may have {HEADERS_MAX}"));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > HEADER_BYTES_MAX {
        return Err(format!("its headers have {bytes} bytes, and may have {HEADER_BYTES_MAX}"));
    }
    let each = headers.into_iter().map(|(name, value)| {
        check_name(&name)?;
        check_asker(&name)?;
        check_value(&value).map_err(|problem| format!("header {name:?} {problem}"))?;
        Ok((name.to_ascii_lowercase(), value.into_bytes()))
    });
    each.collect()
}

/// Checks the name of a field that a rule has the host add.
pub(crate) fn secret_header_name(name: &str) -> Result<String, String> {
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("a header's name has at most {NAME_BYTES_MAX} bytes"));
    }
    check_name(name)?;
    Ok(name.to_ascii_lowercase())
}

/// Checks a rule's prefix of a secret.
pub(crate) fn secret_prefix(prefix: &str) -> Result<String, String> {
    match prefix.len() {
        0..=PREFIX_BYTES_MAX => check_value(prefix).map(|()| prefix.to_owned()),
        found => Err(format!("has {found} bytes, and may have {PREFIX_BYTES_MAX}")),
    }
}

/// Whether a server may confuse the two names: some map underscores to hyphens.
pub(crate) fn is_same_header(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn check_name(name: &str) -> Result<(), String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("{name:?} cannot be the name of a header"));
    }
    let folded = folded(name);
    if OVERRIDES.contains(&folded.as_str()) {
        return Err(format!(
            "header {name:?} would have a server do something else than the rules look at"
        ));
    }
    match OURS.contains(&folded.as_str()) || folded.starts_with(OF_PROXIES) {
        true => Err(format!("header {name:?} is the host's own")),
        false => Ok(()),
    }
}

/// A plugin may not claim that another client sends its request. A rule can have the host add such a header.
fn check_asker(name: &str) -> Result<(), String> {
    let folded = folded(name);
    let is_of_others = OF_OTHERS.contains(&folded.as_str())
        || BEGINNINGS_OF_OTHERS.iter().any(|begin| folded.starts_with(begin));
    match is_of_others {
        true => Err(format!(
            "header {name:?} would claim that another client sends it: a rule can have the host add it (headers)"
        )),
        false => Ok(()),
    }
}

/// Checks that a value has no line end or other control character.
fn check_value(value: &str) -> Result<(), String> {
    let is_control = |byte: u8| byte.is_ascii_control() && byte != b'\t';
    match value.bytes().any(is_control) {
        true => Err("has control characters in its value".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field in its sent form, or its problem.
    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        let headers = check_headers(vec![(name.to_owned(), value.to_owned())]);
        let shown = headers.map(|headers| {
            let (name, value) = &headers[0];
            format!("{name}: {}", String::from_utf8_lossy(value))
        });
        assert_eq!(shown.unwrap_or_else(|problem| problem), expect);
    }

    #[test]
    fn a_plugin_sets_what_is_its_own_to_say() {
        check("Content-Type", "text/plain", "content-type: text/plain");
        check("Accept", "", "accept: ");
        check("X-Söhne", "", "\"X-Söhne\" cannot be the name of a header");
        check("x", "Söhne\t1", "x: Söhne\t1");
        check("Authorization", "Bearer own", "authorization: Bearer own");
    }

    #[test]
    fn what_frames_a_message_is_the_hosts_own() {
        let names = [
            "Host",
            "HOST",
            "Connection",
            "Keep-Alive",
            "keep_alive",
            "Transfer-Encoding",
            "transfer_encoding",
            "Content-Length",
            "TE",
            "Trailer",
            "Upgrade",
            "Expect",
            "HTTP2-Settings",
            "Proxy-Authorization",
            "Proxy_Connection",
        ];
        for name in names {
            check(name, "x", &format!("header {name:?} is the host's own"));
        }
    }

    #[test]
    fn what_is_asked_is_what_the_rules_look_at() {
        for name in ["X-HTTP-Method-Override", "x_original_url", "X-Rewrite-URL"] {
            let text = "would have a server do something else than the rules look at";
            check(name, "x", &format!("header {name:?} {text}"));
        }
    }

    #[test]
    fn nobody_is_asked_for_somebody_else() {
        let names = [
            "Forwarded",
            "X-Forwarded-For",
            "x_forwarded_host",
            "X-Forwarded",
            "X-Real-IP",
            "X-Original-Forwarded-For",
            "X-Remote-User",
            "Impersonate-User",
            "Via",
        ];
        for name in names {
            let text = "would claim that another client sends it: a rule can have the host add it (headers)";
            check(name, "x", &format!("header {name:?} {text}"));
            assert_eq!(secret_header_name(name), Ok(name.to_ascii_lowercase()));
        }
    }

    #[test]
    fn a_field_ends_where_it_ends() {
        for name in ["", "a b", "a:b", "a\r\nb", "a\0", ":authority"] {
            check(name, "x", &format!("{name:?} cannot be the name of a header"));
        }
        for value in ["a\r\nHost: b", "a\nb", "a\0", "a\x7f"] {
            check("x", value, "header \"x\" has control characters in its value");
        }
    }

    #[test]
    fn fields_are_bounded() {
        let many = |count: usize| check_headers(vec![("a".to_owned(), String::new()); count]).err();
        assert_eq!(many(HEADERS_MAX), None);
        assert_eq!(many(HEADERS_MAX + 1), Some("it has 65 headers, and may have 64".to_owned()));
        let long =
            |bytes: usize| check_headers(vec![("a".to_owned(), "b".repeat(bytes - 1))]).err();
        assert_eq!(long(HEADER_BYTES_MAX), None);
        let problem = "its headers have 16385 bytes, and may have 16384".to_owned();
        assert_eq!(long(HEADER_BYTES_MAX + 1), Some(problem));
    }

    #[test]
    fn a_secret_is_a_file_and_no_path() {
        for name in ["api-token", "tls.key", "A_1"] {
            assert_eq!(name.parse::<SecretName>().expect("it is plain").as_str(), name);
        }
        let long = "a".repeat(SECRET_NAME_BYTES_MAX + 1);
        let names =
            ["", ".", "..", "..data", ".hidden", "a/b", "/a", "../a", "a\\b", "a b", "a\0", "ä"];
        for name in names.into_iter().chain([long.as_str()]) {
            assert!(name.parse::<SecretName>().is_err(), "{name:?}");
        }
        assert!(long[1..].parse::<SecretName>().is_ok());
    }

    #[test]
    fn what_a_rule_adds_is_a_field_as_any_other() {
        assert_eq!(secret_header_name("X-Api-Key"), Ok("x-api-key".to_owned()));
        assert!(secret_header_name("Host").is_err() && secret_header_name("a b").is_err());
        assert!(secret_header_name(&"a".repeat(NAME_BYTES_MAX)).is_ok());
        assert!(secret_header_name(&"a".repeat(NAME_BYTES_MAX + 1)).is_err());
        assert_eq!(secret_prefix("Bearer "), Ok("Bearer ".to_owned()));
        assert!(secret_prefix("a\r\n").is_err());
        assert!(secret_prefix(&"a".repeat(PREFIX_BYTES_MAX)).is_ok());
        assert!(secret_prefix(&"a".repeat(PREFIX_BYTES_MAX + 1)).is_err());
        assert!(is_same_header("X-Api-Key", "x_api-key") && !is_same_header("a", "b"));
    }
}
