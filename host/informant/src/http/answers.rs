//! Answers in the shape that all errors have.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error in the shape of the resource endpoints.
pub(crate) fn message(code: StatusCode, text: impl Into<String>) -> Response {
    (code, Json(json!({ "msg": text.into() }))).into_response()
}

/// There is no place for it now, nor for what the connection may have asked for behind it.
pub(super) fn busy(text: impl Into<String>) -> Response {
    let answer = message(StatusCode::SERVICE_UNAVAILABLE, text);
    ([(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")], answer).into_response()
}
