//! Answers as HTTP.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use informant_apimachinery::Status;

use crate::negotiation::JSON;

/// JSON with a status code; nothing between may cache it, as on a real server.
pub fn json_response(code: StatusCode, json: impl Into<Bytes>) -> Response {
    body_response(code, JSON, Body::from(json.into()))
}

/// A `Status` under its own code; a success without one is a 200.
pub fn status_response(status: &Status) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::OK);
    let mut response = json_response(code, status.to_json());
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// Any body under any media type.
pub(crate) fn body_response(code: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers: [(HeaderName, &'static str); 2] =
        [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "no-cache, private")];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
