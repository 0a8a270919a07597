//! A collector on loopback, which also answers plugins' requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// A request, whole.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    head: String,
    body: Vec<u8>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body, unpacked.
    fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        match self.header("content-encoding") {
            Some("gzip") => {
                let read = GzDecoder::new(&self.body[..]).read_to_end(&mut content);
                read.expect("the body is in gzip");
            }
            _ => content.clone_from(&self.body),
        }
        content
    }
}

/// A server on a free port.
pub struct Collector {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
    is_away: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// A collector that answers each request with an empty success; or one that takes connections and answers nothing.
    pub fn start(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (asked, is_over) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let is_away = Arc::<AtomicBool>::default();
        let (notes, ends, away) = (asked.clone(), is_over.clone(), is_away.clone());
        let serve = move || {
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                match answers {
                    // The connection ends without an answer.
                    true if away.load(Ordering::SeqCst) => drop(stream),
                    true => answer(stream, &notes),
                    false => open.push(stream),
                }
            }
        };
        let thread = Some(std::thread::spawn(serve));
        Self { address, asked, is_over, is_away, thread }
    }

    /// Ends all connections without an answer from here on, or answers again. The port stays its own.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests to this path, in order.
    pub fn asked(&self, path: &str) -> Vec<Asked> {
        let mut asked = self.asked.lock().expect("nobody panics with it").clone();
        asked.retain(|asked| asked.path == path);
        asked
    }

    /// All spans, with their resource.
    pub fn spans(&self) -> Vec<(Resource, Span)> {
        let mut spans = Vec::new();
        for asked in self.asked("/v1/traces") {
            let request = ExportTraceServiceRequest::decode(&asked.content()[..]);
            for of_resource in request.expect("it is a request").resource_spans {
                let resource = of_resource.resource.expect("a resource");
                let of_scopes = of_resource.scope_spans.into_iter().flat_map(|it| it.spans);
                spans.extend(of_scopes.map(|span| (resource.clone(), span)));
            }
        }
        spans
    }

    /// The metrics of the newest requests, from the first family on.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for asked in self.asked("/v1/metrics") {
            let request = ExportMetricsServiceRequest::decode(&asked.content()[..]);
            let of_resources = request.expect("it is a request").resource_metrics.into_iter();
            let of_scopes = of_resources.flat_map(|it| it.scope_metrics);
            let found: Vec<Metric> = of_scopes.flat_map(|it| it.metrics).collect();
            if found.first().is_some_and(|first| first.name == "informant_build_info") {
                metrics.clear();
            }
            metrics.extend(found);
        }
        metrics
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // One more connection wakes the thread.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads one request and answers it.
fn answer(stream: TcpStream, notes: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&mut BufReader::new(&stream)) else { return };
    notes.lock().expect("nobody panics with it").push(asked);
    let text = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    // The client may have ended the connection.
    let _ = (&stream).write_all(text.as_bytes());
}

fn read(stream: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_owned();
    let mut asked = Asked { path, head, body: Vec::new() };
    let length = asked.header("content-length").and_then(|length| length.parse().ok());
    asked.body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

/// An attribute's value as text.
pub fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

/// Bytes as a hexadecimal number.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
