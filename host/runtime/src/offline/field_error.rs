//! What is wrong in JSON that somebody wrote, and in which field. Synchronous.

use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// Reads a value. An error names the field, below the one that the value is in.
pub(super) fn read<T: for<'de> Deserialize<'de>>(field: &str, value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, problem) = (error.path().to_string(), without_place(error.inner()));
        match (field, path.as_str()) {
            ("", ".") => problem,
            ("", path) => format!("{path}: {problem}"),
            (field, ".") => format!("{field}: {problem}"),
            (field, path) => format!("{field}.{path}: {problem}"),
        }
    })
}

/// The library's words without the line and column of the JSON that it had, which is not what people wrote.
pub(super) fn without_place(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
