//! A plugin's name: the name of its file without `.wasm`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const LENGTH_MAX: usize = 63;

/// A plugin's name. Queue, grants, metrics and logs go by it; nothing inside the file can change it.
///
/// 1 to 63 of `[A-Za-z0-9._-]`, not beginning with a dot.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluginName(Arc<str>);

/// The file name cannot be a plugin's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'")]
pub struct InvalidPluginName(pub String);

impl PluginName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PluginName {
    type Err = InvalidPluginName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = (1..=LENGTH_MAX).contains(&text.len())
            && !text.starts_with('.')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if fits { Ok(Self(text.into())) } else { Err(InvalidPluginName(text.to_owned())) }
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, valid: bool) {
        assert_eq!(text.parse::<PluginName>().is_ok(), valid, "{text:?}");
    }

    #[test]
    fn names_are_short_and_plain() {
        check("event-printer", true);
        check("a", true);
        check("v1.2_x", true);
        check(&"a".repeat(63), true);
        check(&"a".repeat(64), false);
        check("", false);
        check("..data", false);
        check("a/b", false);
        check("söhne", false);
    }
}
