//! What a host writes, line by line.

use std::time::Instant;

use serde_json::Value;

/// One line that the host wrote.
#[derive(Clone, Debug)]
pub struct Line {
    /// When we read it.
    pub at: Instant,
    /// As it came.
    pub text: String,
    json: Value,
}

impl Line {
    /// A line as a host would write it, for tests of what reads lines.
    pub fn of(text: &str) -> Self {
        Self::new(text.to_owned())
    }

    /// A line that was read now.
    pub(crate) fn new(text: String) -> Self {
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self { at: Instant::now(), text, json }
    }

    /// A key of a JSON line.
    pub fn field(&self, key: &str) -> Option<&str> {
        self.json[key].as_str()
    }

    /// Whether it tells of a panic of the host's own: those of plugins are in lines of the log.
    pub fn is_panic(&self) -> bool {
        self.json.is_null() && self.text.contains("panicked at")
    }

    /// What it says.
    pub fn message(&self) -> &str {
        self.field("message").unwrap_or(&self.text)
    }
}
