//! A JSON array as the body of an answer, in pieces. A caller that reads slowly holds one piece, and not all of a long
//! array.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use informant_apiserver::aside;
use serde_json::Value;
use std::fmt::Write as _;
use std::io;

/// A piece ends with the value that makes it so long.
const PIECE_BYTES: usize = 64 << 10;

/// The answer with these values. Each piece is made aside, once the caller has taken the one before. An error ends the
/// answer before its end, so that no caller takes a part for the whole.
pub(super) fn respond_array(
    values: impl Iterator<Item = io::Result<Value>> + Send + 'static,
) -> Response {
    let pieces = stream::try_unfold(Pieces::new(values), async |mut pieces| {
        let made = aside(move || (pieces.next(), pieces)).await;
        let (piece, pieces) = made.ok_or_else(|| io::Error::other("the host stops"))?;
        Ok::<_, io::Error>(piece.transpose()?.map(|piece| (piece, pieces)))
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, Body::from_stream(pieces)).into_response()
}

struct Pieces<V> {
    values: V,
    /// The sign before the next value; `None` after the end.
    separator: Option<char>,
}

impl<V> Pieces<V> {
    fn new(values: V) -> Self {
        Self { values, separator: Some('[') }
    }
}

impl<V: Iterator<Item = io::Result<Value>>> Iterator for Pieces<V> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut separator = self.separator.take()?;
        let mut piece = String::new();
        while piece.len() < PIECE_BYTES {
            match self.values.next() {
                Some(Ok(value)) => {
                    // A text takes any value.
                    let _ = write!(piece, "{separator}{value}");
                    separator = ',';
                }
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    piece.push_str(if separator == '[' { "[]" } else { "]" });
                    return Some(Ok(piece));
                }
            }
        }
        self.separator = Some(separator);
        Some(Ok(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The array of so many values of 16 KiB has so many pieces, and is the same as in one piece.
    #[track_caller]
    fn check(values: usize, expect: usize) {
        let values: Vec<Value> =
            (0..values).map(|number| json!(format!("{number:016384}"))).collect();
        let pieces = Pieces::new(values.iter().cloned().map(Ok)).collect::<io::Result<Vec<_>>>();
        let pieces = pieces.expect("no value has failed");
        assert_eq!(pieces.len(), expect, "{} values", values.len());
        let read: Vec<Value> = serde_json::from_str(&pieces.concat()).expect("it is JSON");
        assert!(read == values);
    }

    #[test]
    fn an_array_has_pieces_of_a_bounded_size() {
        check(0, 1);
        check(1, 1);
        check(3, 1);
        check(4, 2);
        check(9, 3);
    }

    #[test]
    fn an_array_with_an_error_has_no_end() {
        let values = [Ok(json!(1)), Err(io::Error::other("gone")), Ok(json!(2))];
        let pieces: Vec<_> = Pieces::new(values.into_iter()).collect();
        assert!(matches!(pieces[..], [Err(_)]), "{pieces:?}");
    }
}
