//! Errors in JSON that a user wrote, with their fields. Synchronous.

use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// Reads a value. An error names the field, below the field of the value.
pub(super) fn read<T: for<'de> Deserialize<'de>>(field: &str, value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| in_field(field, &error))
}

/// The same for a JSON text.
pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|it| in_field("", &it))?;
    json.end().map_err(|error| without_place(&error))?;
    Ok(value)
}

fn in_field(field: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (path, problem) = (error.path().to_string(), without_place(error.inner()));
    match (field, path.as_str()) {
        ("", "." | "?") => problem,
        ("", path) => format!("{path}: {problem}"),
        (field, ".") => format!("{field}: {problem}"),
        (field, path) => format!("{field}.{path}: {problem}"),
    }
}

/// The library's message without line and column: those belong to JSON that the user did not write.
pub(super) fn without_place(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
