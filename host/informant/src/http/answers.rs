//! Answers in the shape that all errors have.

use crate::actions::ActionRefusal;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error in the shape of the resource endpoints. An answer that passes by itself says when to ask again.
pub(crate) fn message(code: StatusCode, text: impl Into<String>) -> Response {
    let mut answer = (code, Json(json!({ "msg": text.into() }))).into_response();
    if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&code) {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

impl IntoResponse for ActionRefusal {
    fn into_response(self) -> Response {
        let Self(code, text) = self;
        message(code, text)
    }
}

/// There is no place for it now, nor for what the connection may have asked for behind it.
pub(super) fn busy(text: impl Into<String>) -> Response {
    let answer = message(StatusCode::SERVICE_UNAVAILABLE, text);
    ([(header::CONNECTION, "close")], answer).into_response()
}
