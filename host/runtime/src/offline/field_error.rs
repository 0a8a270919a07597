//! What is wrong in JSON that somebody wrote, and in which field. Synchronous.

use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// Reads a value. An error names the field, below the one that the value is in.
pub(super) fn read<T: for<'de> Deserialize<'de>>(field: &str, value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| in_field(field, &error))
}

/// The same of a JSON text.
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

/// The library's words without the line and column of the JSON that it had, which is not what people wrote.
pub(super) fn without_place(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
