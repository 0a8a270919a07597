//! A request as it is put on the wire, and an answer as it comes from there.

use super::Message;
use super::secrets::Secret;
use http::header::{ACCEPT_ENCODING, HOST, IF_RANGE, RANGE};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use informant_runtime::{HttpError, HttpRequest, HttpResponse};
use memchr::memmem;

/// A shorter secret may stand in an answer by chance.
const SOUGHT_BYTES_MIN: usize = 8;

/// The request, with what the host adds.
pub(super) fn message(request: &HttpRequest, secrets: &[Secret]) -> Result<Message, HttpError> {
    let unsent = |error: http::Error| HttpError::Unsent(format!("it cannot be sent: {error}"));
    let target = &request.target;
    let mut message = Request::builder()
        .method(request.method)
        .uri(target.path_and_query())
        .header(HOST, target.authority())
        .body(Full::new(request.body.clone()))
        .map_err(unsent)?;
    let headers = message.headers_mut();
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|it| unsent(it.into()))?;
        let value = HeaderValue::from_bytes(value).map_err(|it| unsent(it.into()))?;
        headers.append(name, value);
    }
    if !secrets.is_empty() {
        // What comes packed or in parts nobody can search.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
    }
    for Secret { header, value, .. } in secrets {
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|it| unsent(it.into()))?;
        headers.insert(name, value.clone());
    }
    Ok(message)
}

/// Whether doing it twice is doing it once: RFC 9110, 9.2.2.
pub(super) fn is_repeatable(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE")
}

/// The whole answer, unless it is larger than it may be.
pub(super) async fn answer(
    request: &HttpRequest,
    response: Response<Incoming>,
) -> Result<HttpResponse, HttpError> {
    let (head, body) = response.into_parts();
    let (origin, most) = (request.target.origin(), request.body_bytes_max);
    let too_large = || {
        HttpError::TooLarge(format!("the answer of {origin} has a body of more than {most} bytes"))
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let body = whole(body, most).await;
    let body = body.map_err(|error| {
        HttpError::Unknown(format!("{origin} broke off in its answer: {error}"))
    })?;
    let body = body.ok_or_else(too_large)?;
    let headers = head.headers.iter();
    Ok(HttpResponse {
        status: head.status.as_u16(),
        headers: headers.map(|(name, value)| (name.to_string(), value.as_bytes().into())).collect(),
        body,
    })
}

/// All of a body; none if it has more bytes. It is copied as it comes: what the connection read it into may be a thousand times as long as a frame.
async fn whole<B>(mut body: B, most: usize) -> Result<Option<Vec<u8>>, B::Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if data.len() > most - whole.len() {
            return Ok(None);
        }
        whole.extend_from_slice(&data);
    }
    Ok(Some(whole))
}

/// Why there is no head of an answer.
pub(super) fn error_text(request: &HttpRequest, error: &hyper::Error) -> HttpError {
    let origin = request.target.origin();
    match error.is_parse_too_large() {
        true => {
            let most = request.head_bytes_max;
            HttpError::TooLarge(format!(
                "the answer of {origin} has a head of more than {most} bytes or 100 fields"
            ))
        }
        false => HttpError::Unknown(format!("{origin} gave no answer: {error}")),
    }
}

/// An answer that shows a credential to the plugin is thrown away: some servers send back what they were sent. So is one in which nobody can look for it.
pub(super) fn repeats_a_secret(
    answer: HttpResponse,
    secrets: &[Secret],
) -> Result<HttpResponse, HttpError> {
    let thrown_away = |why: String| {
        Err(HttpError::Unknown(format!("the answer was thrown away: {why}; it was done")))
    };
    if secrets.is_empty() {
        return Ok(answer);
    }
    if let Some(how) = hides(&answer) {
        return thrown_away(format!(
            "it is {how}, so that nobody can see whether the secret is in it that the host added"
        ));
    }
    let mut sought = secrets.iter().filter(|secret| secret.content.len() >= SOUGHT_BYTES_MIN);
    let repeats = |secret: &&Secret| {
        let has = |text: &[u8]| memmem::find(text, &secret.content).is_some();
        has(&answer.body) || answer.headers.iter().any(|(_, value)| has(value))
    };
    match sought.find(repeats) {
        Some(Secret { header, .. }) => {
            thrown_away(format!("it has the secret in it that the host added as {header}"))
        }
        None => Ok(answer),
    }
}

/// How a server has made an answer unreadable, though it was asked not to.
fn hides(answer: &HttpResponse) -> Option<&'static str> {
    let is_other_than = |name: &str, plain: &str| {
        let mut values = answer.headers.iter().filter(|(known, _)| known == name);
        values.any(|(_, value)| !value.trim_ascii().eq_ignore_ascii_case(plain.as_bytes()))
    };
    let is_packed = is_other_than("content-encoding", "identity")
        || is_other_than("transfer-encoding", "chunked");
    let is_part =
        answer.status == 206 || answer.headers.iter().any(|(name, _)| name == "content-range");
    match answer.body.is_empty() {
        false if is_packed => Some("packed"),
        false if is_part => Some("a part"),
        _ => None,
    }
}
