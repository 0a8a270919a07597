use super::*;
use crate::otlp::messages::KeyValue;
use crate::otlp::settings::OtlpSettings;
use std::io::Read as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub(crate) fn message() -> KeyValue {
    KeyValue { key: "body".to_owned(), value: None }
}

/// Whether the request has its end. One that is no HTTP has it at once: it is the begin of TLS.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return !request.is_empty() && !text.starts_with("POST ");
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|it| it.parse().ok()).expect("a length");
    request.len() == head.len() + 4 + length
}

/// A client of this collector, with these variables.
pub(crate) fn client_of(url: &str, variables: &[(&str, &str)]) -> OtlpClient {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let settings = OtlpSettings::read(Some(url), variable, |_| {}).expect("they are valid");
    let settings = settings.and_then(|it| it.traces).expect("it is on");
    OtlpClient::new(settings).expect("no file is read")
}

/// Gives the answer to one request, which is returned.
pub(crate) async fn serve(listener: &TcpListener, answer: &[u8]) -> Vec<u8> {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_whole(&request) {
        match stream.read(&mut buffer).await {
            Ok(bytes @ 1..) => request.extend_from_slice(&buffer[..bytes]),
            _ => break,
        }
    }
    // The client may have gone.
    let _ = stream.write_all(answer).await;
    request
}

/// A post with these variables to a collector that gives one answer, and the text of the request that it got.
async fn posted(
    variables: &[(&str, &str)],
    scheme: &str,
    answer: &str,
) -> (Result<ExportResponse, PostError>, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let client = client_of(&format!("{scheme}://{address}/base"), variables);
    let body = OtlpBody::new(message().encode_to_vec(), client.is_compressed());
    let (answer, mut request) =
        tokio::join!(client.post(&body), serve(&listener, answer.as_bytes()));
    let shown = String::from_utf8_lossy(&request).replace(&address.to_string(), "ADDRESS");
    if variables.is_empty() {
        request = shown.into_bytes();
    }
    let answer = answer.map_err(|error| PostError {
        text: error.text.replace(&address.to_string(), "ADDRESS"),
        ..error
    });
    (answer, request)
}

#[track_caller]
fn check_error(
    found: Result<ExportResponse, PostError>,
    text: &str,
    may_repeat: bool,
    wait: Option<u64>,
) {
    let wait = wait.map(Duration::from_secs);
    assert_eq!(found, Err(PostError { text: text.to_owned(), may_repeat, wait }));
}

#[tokio::test]
async fn a_request_is_one_of_otlp_over_http() {
    let (answer, request) =
        posted(&[], "http", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(answer, Ok(ExportResponse::default()));
    let expect = format!(
        "POST /base/v1/traces HTTP/1.1\r\nhost: ADDRESS\r\nuser-agent: {AGENT}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 6\r\n\r\n\n\u{4}body"
    );
    assert_eq!(String::from_utf8_lossy(&request), expect);
}

#[tokio::test]
async fn a_request_has_the_settings_headers_and_compression() {
    let variables =
        [("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")];
    let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let (answer, request) = posted(&variables, "http", answer).await;
    assert_eq!(answer, Ok(ExportResponse::default()));
    let text = String::from_utf8_lossy(&request);
    assert!(text.contains("\r\nx-key: a b\r\n"), "{text}");
    assert!(text.contains("\r\ncontent-encoding: gzip\r\n"), "{text}");
    let end = request.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&request[end + 4..]).read_to_end(&mut unpacked).expect("gzip");
    assert_eq!(KeyValue::decode(&unpacked[..]), Ok(message()));
}

#[tokio::test]
async fn the_answers_that_the_specification_names_let_the_request_come_again() {
    let answer =
        |status: &str| format!("HTTP/1.1 {status}\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n");
    let base = "http://ADDRESS/base/v1/traces";
    for (status, may_repeat) in [
        ("400 Bad Request", false),
        ("404 Not Found", false),
        ("429 Too Many Requests", true),
        ("500 Internal Server Error", false),
        ("503 Service Unavailable", true),
    ] {
        let (found, _) = posted(&[], "http", &answer(status)).await;
        check_error(found, &format!("{base} answered {status}"), may_repeat, Some(7));
    }
    let (found, _) = posted(&[], "http", "").await;
    let text = format!("{base}: connection closed before message completed");
    check_error(found, &text, true, None);
}

#[tokio::test]
async fn interim_answers_are_bounded() {
    let answer = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000);
    let (found, _) = posted(&[], "http", &answer).await;
    let text = "http://ADDRESS/base/v1/traces: connection error: there were more than 100 interim answers (1xx)";
    check_error(found, text, true, None);
}

/// The collector may have refused items, and has the others.
#[tokio::test]
async fn a_success_without_a_readable_answer_is_a_failure_that_is_not_repeated() {
    let large = "x".repeat(ANSWER_BYTES_MAX + 1);
    let length = |length: usize, body: &str| format!("content-length: {length}\r\n\r\n{body}");
    for (answer, with) in [
        (format!("\r\n{large}"), "more than 65536 bytes"),
        (length(9, "cut"), "a body that ended early"),
        ("transfer-encoding: chunked\r\n\r\n3\r\ncut\r\n".to_owned(), "a body that ended early"),
        (length(13, "<html>login</"), "a body that is no answer of OTLP"),
        (length(2, "{}"), "a body that is no answer of OTLP"),
        (length(1, "\u{7f}"), "a body that is no answer of OTLP"),
    ] {
        let (found, _) = posted(&[], "http", &format!("HTTP/1.1 200 OK\r\n{answer}")).await;
        let text = format!(
            "http://ADDRESS/base/v1/traces answered 200 OK with {with}, so it is unknown which items it took"
        );
        check_error(found, &text, false, None);
    }
}

#[tokio::test]
async fn a_server_without_tls_may_have_it_later() {
    let (found, _) = posted(&[], "https", "HTTP/1.1 200 OK\r\n\r\n").await;
    assert!(found.is_err_and(|error| error.may_repeat));
}

#[track_caller]
fn check_wait(value: &str, expect: Option<u64>) {
    let now = "1994-11-06T08:49:37Z".parse().expect("a time");
    assert_eq!(asked_wait(value, now), expect.map(Duration::from_secs), "{value}");
}

#[test]
fn a_collector_asks_for_a_wait_in_seconds_or_by_a_date() {
    check_wait("7", Some(7));
    check_wait("0", Some(0));
    check_wait("Sun, 06 Nov 1994 08:50:00 GMT", Some(23));
    check_wait("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
    check_wait("soon", None);
    check_wait("-1", None);
}
