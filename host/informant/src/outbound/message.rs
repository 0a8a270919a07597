//! The conversion of a request to its form on the wire, and of an answer from it.

use super::Message;
use super::secrets::Secret;
use base64::Engine as _;
use base64::prelude::{
    BASE64_STANDARD_NO_PAD as STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD,
};
use http::header::{ACCEPT_ENCODING, HOST, IF_RANGE, RANGE};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use informant_runtime::{HttpError, HttpRequest, HttpResponse};
use memchr::memmem::Finder;
use std::collections::BTreeSet;
use std::error::Error as _;

/// A shorter secret may occur in an answer by chance.
const SOUGHT_BYTES_MIN: usize = 8;

/// The request, with the headers that the host adds.
pub(super) fn message(request: &HttpRequest, secrets: &[Secret]) -> Result<Message, HttpError> {
    let unsent = |error: http::Error| HttpError::Unsent(format!("it cannot be sent: {error}"));
    let target = &request.target;
    // Invariant 38.
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
        // The host cannot search an answer that is packed or in parts.
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

/// Whether a repeated request has the effect of one request: RFC 9110, 9.2.2.
pub(super) fn is_repeatable(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE")
}

/// The whole answer. An error if it is larger than allowed.
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

/// The bytes of a body. `None` if it has more than `most` bytes. Each frame is copied when it comes, because the
/// connection's buffer may be a thousand times as long as a frame.
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
        false => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            HttpError::Unknown(format!("{origin} gave no answer: {error}{cause}"))
        }
    }
}

/// Throws an answer away that repeats a credential, because some servers echo their input. Also throws an answer away
/// that the host cannot search.
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
            "it is {how}, so the host cannot look for the secret that it added"
        ));
    }
    // Invariant 39.
    let mut sought = secrets.iter().filter(|secret| secret.content.len() >= SOUGHT_BYTES_MIN);
    let repeats = |secret: &&Secret| {
        forms(&secret.content).iter().any(|form| {
            // Names have lost their case on the way.
            let in_name = form.to_ascii_lowercase();
            let (form, in_name) = (Finder::new(form), Finder::new(&in_name));
            let has = |text: &[u8]| form.find(text).is_some();
            let field_has = |(name, value): &(String, Vec<u8>)| {
                has(value) || in_name.find(name.as_bytes()).is_some()
            };
            has(&answer.body) || answer.headers.iter().any(field_has)
        })
    };
    match sought.find(repeats) {
        Some(Secret { header, .. }) => {
            thrown_away(format!("it has the secret in it that the host added as {header}"))
        }
        None => Ok(answer),
    }
}

/// A secret itself, and the constant parts of its base64 forms in both alphabets. The base64 form depends on the
/// number of bytes before the secret in the encoded text.
fn forms(secret: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([secret.to_vec()]);
    for before in 0..3 {
        let text = [&[0; 2][..before], secret].concat();
        for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = alphabet.encode(&text);
            // A character has six bits. Characters that contain bits of a neighbouring byte are left out.
            let own = (before * 8).div_ceil(6)..text.len() * 8 / 6;
            forms.insert(encoded[own].into());
        }
    }
    forms
}

/// How a server has made an answer unreadable, although the request excluded that.
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

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    use http::HeaderValue;

    /// Whether an answer with this body and header is thrown away if the host has added the secret.
    fn is_thrown_away(secret: &[u8], body: &[u8], header: &[u8]) -> bool {
        let value = HeaderValue::from_bytes(secret).expect("it is one");
        let secret = Secret { header: "authorization".to_owned(), value, content: secret.into() };
        let headers = vec![("x-echo".to_owned(), header.to_vec())];
        let answer = HttpResponse { status: 200, headers, body: body.to_vec() };
        repeats_a_secret(answer, &[secret]).is_err()
    }

    /// The secret is found at any position of the encoded text, and between any bytes. Invariant 39.
    #[test]
    fn a_secret_does_not_come_back_as_base64() {
        for secret in [&b"12345678"[..], b"s3cr3t-t\xffk\xfen~?", b"a/b+c=d&e>f?g"] {
            for before in 0..7 {
                for after in 0..4 {
                    let around = |fill: u8| {
                        [&vec![fill; before][..], secret, &vec![fill; after][..]].concat()
                    };
                    for text in [around(b'x'), around(0xff), around(0)] {
                        let all = [BASE64_STANDARD, BASE64_URL_SAFE].map(|it| it.encode(&text));
                        for encoded in all {
                            let body = format!("{{\"you sent\":\"{encoded}\"}}");
                            assert!(is_thrown_away(secret, body.as_bytes(), b""), "{body}");
                            assert!(is_thrown_away(secret, b"", encoded.as_bytes()), "{encoded}");
                        }
                    }
                }
            }
        }
    }

    /// The name of a header has lower case, whatever the server wrote. Invariant 39.
    #[test]
    fn a_secret_does_not_come_back_in_the_name_of_a_header() {
        let is_thrown_away = |name: &str| {
            let content = b"S3cr3t-Token-k";
            let value = HeaderValue::from_bytes(content).expect("it is one");
            let secret =
                Secret { header: "x-api-key".to_owned(), value, content: content.to_vec() };
            let name = HeaderName::from_bytes(name.as_bytes()).expect("it is one").to_string();
            let headers = vec![(name, Vec::new())];
            let answer = HttpResponse { status: 200, headers, body: Vec::new() };
            repeats_a_secret(answer, &[secret]).is_err()
        };
        assert!(is_thrown_away("S3cr3t-Token-k"));
        assert!(is_thrown_away("x-s3cr3t-token-k-y"));
        assert!(is_thrown_away(BASE64_URL_SAFE.encode("S3cr3t-Token-k").trim_end_matches('=')));
        assert!(!is_thrown_away("x-s3cr3t-token-z"));
    }

    #[test]
    fn what_is_no_secret_comes_back() {
        for other in ["1234567z", "1234567", "Bearer 87654321"] {
            let encoded = BASE64_STANDARD.encode(other);
            let body = format!("{other} {encoded}");
            assert!(!is_thrown_away(b"12345678", body.as_bytes(), encoded.as_bytes()), "{body}");
        }
        // A secret of seven bytes may occur by chance.
        assert!(!is_thrown_away(
            b"1234567",
            b"1234567",
            BASE64_STANDARD.encode("1234567").as_bytes()
        ));
    }
}
