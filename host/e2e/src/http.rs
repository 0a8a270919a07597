//! Plain HTTP/1.1 against the host's own port, with headers as the test wants them: a `Host` that a
//! proper client would never send is half of what is tested.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context;
use flate2::read::GzDecoder;
use serde_json::Value;

/// An answer's status and body.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body as text. A body in gzip is decompressed.
    pub body: String,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of a series on a page of metrics: its name with its labels. None without such a series.
    pub fn series(&self, name: &str) -> Option<f64> {
        self.body.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }

    /// The body as JSON; `null` where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

/// GET with the address itself as `Host`.
pub fn get(address: SocketAddr, path: &str) -> anyhow::Result<Answer> {
    get_with_host(address, path, &address.to_string())
}

/// GET with any `Host`.
pub fn get_with_host(address: SocketAddr, path: &str, host: &str) -> anyhow::Result<Answer> {
    exchange(address, &format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n"))
}

/// POST of a JSON body.
pub fn post(address: SocketAddr, path: &str, body: &Value) -> anyhow::Result<Answer> {
    let body = body.to_string();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}");
    exchange(address, &format!("{head}\r\nContent-Type: application/json\r\n\r\n{body}"))
}

/// Any bytes, and what is answered. HTTP/1.0: the answer is not chunked and ends with the connection.
pub fn exchange(address: SocketAddr, request: &str) -> anyhow::Result<Answer> {
    let timeout = Duration::from_secs(20);
    let mut stream = TcpStream::connect_timeout(&address, timeout)
        .with_context(|| format!("connect to {address}"))?;
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    let what = || format!("read the answer to {}", request.lines().next().unwrap_or_default());
    stream.read_to_end(&mut bytes).with_context(what)?;
    parse(&bytes).with_context(what)
}

fn parse(answer: &[u8]) -> anyhow::Result<Answer> {
    const END: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END.len()).position(|bytes| bytes == END);
    let (head, body) = answer.split_at(end.context("the answer has no header's end")?);
    let (head, body) = (String::from_utf8_lossy(head).into_owned(), &body[END.len()..]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("the answer has no status")?;
    let mut answer = Answer { status, head, body: String::new() };
    let mut content = Vec::new();
    match answer.header("content-encoding") {
        Some("gzip") => _ = GzDecoder::new(body).read_to_end(&mut content)?,
        _ => content.extend_from_slice(body),
    }
    answer.body = String::from_utf8_lossy(&content).into_owned();
    Ok(answer)
}
