//! Watches of the host's port as server-sent events.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::config_map;
use crate::host::bench::{HostBench, host_fact};
use informant_e2e::host::Host;

/// More than a change takes on a busy machine, and than the time between two heartbeats.
const EVENT_DEADLINE: Duration = Duration::from_secs(30);

/// An open watch.
struct EventSource(BufReader<TcpStream>);

/// An event of it.
#[derive(Debug, Default, PartialEq)]
struct SentEvent {
    event: String,
    id: Option<String>,
    data: Value,
}

impl EventSource {
    /// `headers` are whole lines.
    fn open(host: &Host, path: &str, headers: &[&str]) -> Self {
        let address = host.address();
        let mut stream = TcpStream::connect(address).expect("the host listens");
        stream.set_read_timeout(Some(EVENT_DEADLINE)).expect("a deadline");
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        // HTTP/1.0: the answer is not chunked.
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut source = Self(BufReader::new(stream));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(source.0.read_line(&mut head).expect("a line"), 0, "{path}: {head}");
        }
        assert!(head.starts_with("HTTP/1.0 200"), "{path}: {head}");
        assert!(head.contains("content-type: text/event-stream"), "{path}: {head}");
        source
    }

    /// The next event; none once the stream has ended.
    fn next(&mut self) -> Option<SentEvent> {
        let mut found = SentEvent::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("a line in time") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", event)) => found.event = event.to_owned(),
                Some(("data", data)) => found.data = serde_json::from_str(data).expect("JSON"),
                Some(("id", id)) => found.id = Some(id.to_owned()),
                _ if line.starts_with("id:") => found.id = Some(String::new()),
                _ if line == "\n" && found != SentEvent::default() => return Some(found),
                _ => {}
            }
        }
    }

    /// The next event must be this one of an object of this name. Answers its id.
    #[track_caller]
    fn expect(&mut self, event: &str, name: &str) -> Option<String> {
        let found = self.next().expect("it goes on");
        let data = json!({"metadata": {"name": name}});
        assert_eq!((found.event.as_str(), &found.data), (event, &data), "{found:?}");
        found.id
    }
}

async fn create(bench: &HostBench<'_>, name: &str, app: &str) {
    let mut object = config_map(name, &[]);
    object["metadata"]["labels"] = json!({"app": app});
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    bench.api.create(&path, &object).await.expect(201);
}

async fn delete(bench: &HostBench<'_>, name: &str) {
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", bench.namespace);
    bench.api.delete(&path).await.expect(200);
}

#[test]
fn a_watch_has_the_objects_and_then_their_changes() {
    host_fact(async |bench| {
        create(&bench, "first", "web").await;
        create(&bench, "other", "db").await;
        let host = bench.start(&[]).await;
        let path = format!("/core/v1/namespaces/{}/configmaps", bench.namespace);
        let query = "labels[app]=web&fields=metadata.name";
        let path = format!("{path}?{query}");
        let mut events = EventSource::open(&host, &format!("{path}&watch=true"), &[]);
        assert_eq!(events.expect("added", "first"), None);
        let begin = events.next().expect("it goes on");
        assert_eq!(begin.event, "bookmark");
        assert_eq!(begin.data["metadata"]["resourceVersion"].as_str(), begin.id.as_deref());
        create(&bench, "second", "web").await;
        create(&bench, "third", "db").await;
        let second = events.expect("added", "second").expect("an id");
        delete(&bench, "first").await;
        let deleted = events.expect("deleted", "first").expect("an id");

        // A client that comes back misses nothing, and gets nothing twice.
        let header = format!("Last-Event-ID: {second}");
        let headers = ["Accept: text/event-stream", &header];
        let mut again = EventSource::open(&host, &path, &headers);
        assert_eq!(again.expect("deleted", "first"), Some(deleted));
        let path = format!("{path}&watch=true&resourceVersion={}", begin.id.expect("an id"));
        let mut again = EventSource::open(&host, &path, &[]);
        assert_eq!(again.expect("added", "second"), Some(second));
        let metrics = host.get("/metrics").expect("it serves").body;
        let open = "informant_http_watches{resource=\"v1/configmaps\"} 3";
        assert!(metrics.contains(open), "{metrics}");
    });
}

#[test]
fn a_watch_of_one_object_has_its_events() {
    host_fact(async |bench| {
        create(&bench, "other", "web").await;
        let host = bench.start(&[]).await;
        let path = format!("/core/v1/namespaces/{}/configmaps/one", bench.namespace);
        let path = format!("{path}?watch=true&fields=metadata.name");
        let mut events = EventSource::open(&host, &path, &[]);
        assert_eq!(events.next().expect("it goes on").event, "bookmark");
        create(&bench, "one", "web").await;
        events.expect("added", "one");
    });
}

#[test]
fn a_watch_of_a_past_that_is_gone_ends_with_an_error() {
    host_fact(async |bench| {
        create(&bench, "first", "web").await;
        let host = bench.start(&[]).await;
        let mut events =
            EventSource::open(&host, "/core/v1/configmaps?watch=true", &["Last-Event-ID: 1"]);
        let error = events.next().expect("an event");
        assert_eq!((error.event.as_str(), error.id.as_deref()), ("error", Some("0")));
        assert_eq!((&error.data["code"], &error.data["kind"]), (&json!(410), &json!("Status")));
        assert_eq!(events.next(), None);
    });
}

#[test]
fn a_watch_that_cannot_be_says_why() {
    host_fact(async |bench| {
        bench.create_secret().await;
        let host = bench.start(&[]).await;
        for (path, status, text) in [
            ("/core/v1/pods?watch=maybe", 400, "watch is \"maybe\""),
            ("/core/v1/pods?watch=true&limit=5", 400, "limit and continue are for lists"),
            ("/core/v1/pods?resourceVersion=5", 400, "resourceVersion is for watch=true"),
            ("/core/v1/nodes?watch=true&namespace=default", 400, "has no namespaces"),
            ("/core/v1/flowers?watch=true", 404, "the cluster has no resource"),
            // Invariant 41.
            ("/core/v1/secrets?watch=true", 403, "not served"),
            ("/core/v1/namespaces/default/secrets/password?watch=true", 403, "not served"),
        ] {
            let answer = host.get(path).expect("it answers");
            assert_eq!(answer.status, status, "{path}: {answer:?}");
            let answer = answer.json();
            assert!(answer["msg"].as_str().is_some_and(|msg| msg.contains(text)), "{answer}");
        }
    });
}
