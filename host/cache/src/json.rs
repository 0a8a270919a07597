//! Values from JSON without a tree: the text is walked, and each value is borrowed from it.

mod blocks;
mod cursor;
mod escapes;
#[cfg(test)]
mod fuzz;
mod pointer;
mod projection;
mod reader;
mod shared_projection;
mod strings;

pub(crate) use cursor::Cursor;
pub(crate) use pointer::PointerStep;
pub use pointer::{JsonPointer, ParseJsonPointerError};
pub use projection::Projection;
pub use reader::JsonReader;
pub(crate) use shared_projection::PassValues;
pub use shared_projection::{SharedProjection, SharedReader, SharedValues};
pub(crate) use strings::special;

use std::borrow::Cow;

/// The position in an array that a pointer's step names (RFC 6901): digits without a leading zero.
pub(crate) fn position(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    if plain && digits { step.parse().ok() } else { None }
}

/// The step of a pointer that means a name (RFC 6901).
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that a pointer's step means (RFC 6901).
fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}
