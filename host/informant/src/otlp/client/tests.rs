use super::*;
use crate::otlp::settings::OtlpSettings;
use std::io::Read as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A client with these variables for a collector that gives one answer, and the text of the request that it got.
async fn posted(
    variables: &[(&str, &str)],
    scheme: &str,
    answer: &str,
) -> (Result<Bytes, PostError>, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let url = format!("{scheme}://{address}/base");
    let settings = OtlpSettings::read(Some(&url), variable).expect("they are valid");
    let settings = settings.and_then(|it| it.traces).expect("it is on");
    let client = OtlpClient::new(settings).expect("no file is read");
    let serve = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"body") && !request.windows(4).any(|it| it == b"gzip") {
            match stream.read(&mut buffer).await {
                Ok(bytes @ 1..) => request.extend_from_slice(&buffer[..bytes]),
                _ => break,
            }
        }
        // The client may have gone.
        let _ = stream.write_all(answer.as_bytes()).await;
        request
    };
    let (answer, mut request) = tokio::join!(client.post(b"body".to_vec()), serve);
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
fn check_error(found: Result<Bytes, PostError>, text: &str, may_repeat: bool, wait: Option<u64>) {
    let wait = wait.map(Duration::from_secs);
    assert_eq!(found, Err(PostError { text: text.to_owned(), may_repeat, wait }));
}

#[tokio::test]
async fn a_request_is_one_of_otlp_over_http() {
    let (answer, request) =
        posted(&[], "http", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert_eq!(answer, Ok("ok".into()));
    let expect = format!(
        "POST /base/v1/traces HTTP/1.1\r\nhost: ADDRESS\r\nuser-agent: {AGENT}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 4\r\n\r\nbody"
    );
    assert_eq!(String::from_utf8_lossy(&request), expect);
}

#[tokio::test]
async fn a_request_has_the_settings_headers_and_compression() {
    let variables =
        [("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")];
    let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    let (answer, request) = posted(&variables, "http", answer).await;
    assert_eq!(answer, Ok(Bytes::new()));
    let text = String::from_utf8_lossy(&request);
    assert!(text.contains("\r\nx-key: a b\r\n"), "{text}");
    assert!(text.contains("\r\ncontent-encoding: gzip\r\n"), "{text}");
    let mut unpacked = String::new();
    let packed = compressed(b"body").expect("it fits into memory");
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).expect("gzip");
    assert_eq!(unpacked, "body");
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
async fn an_answer_without_an_end_and_a_server_without_tls_are_given_up() {
    let variables = [("OTEL_EXPORTER_OTLP_TIMEOUT", "50")];
    let large = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(ANSWER_BYTES_MAX + 1));
    let (found, _) = posted(&variables, "http", &large).await;
    let error = found.expect_err("it is too large");
    assert!(error.text.ends_with("length limit exceeded"), "{}", error.text);
    let (found, _) = posted(&variables, "https", "HTTP/1.1 200 OK\r\n\r\n").await;
    assert!(found.is_err_and(|error| error.may_repeat));
}
