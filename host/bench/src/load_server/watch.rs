//! WATCH: the initial state where it is asked for, then updates as they come, bookmarks between them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::stream;
use tokio::sync::watch::Receiver;

use crate::load_server::cluster::{Cluster, Next, workload_of};
use crate::load_server::field::Version;
use crate::load_server::protobuf;
use crate::load_server::selection::Selection;
use crate::load_server::server::{Encoding, body_response};

/// Events in one write while more are waiting: about 100 KB. A quiet watch writes each event by itself.
const EVENTS_PER_WRITE: usize = 16;
/// Between bookmarks on a quiet watch. A real server sends one about once a minute.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(10);
/// What a client is told whose place in the log is gone.
const EXPIRED: &str = "too old resource version";

/// Where a watch begins.
pub(crate) enum Start {
    /// With all pods.
    Initial,
    /// After this resourceVersion.
    After(u64),
}

/// Answers with a body that ends only when the cluster expires or the client goes.
pub(crate) fn watch(
    cluster: Arc<Cluster>,
    start: &Start,
    selection: Selection,
    encoding: Encoding,
) -> Response {
    let changes = cluster.changes();
    let (initial, sent, age) = match start {
        Start::Initial => cluster.snapshot(&selection),
        Start::After(version) => (Vec::new(), *version, cluster.age_for(*version).unwrap_or(0)),
    };
    cluster.count(|report| report.watches += 1);
    let initial = matches!(start, Start::Initial).then(|| initial.into_iter());
    let head = cluster.kind_of(encoding).head();
    let ended = false;
    let feed = Feed { cluster, head, changes, initial, sent, age, selection, encoding, ended };
    let body = stream::unfold(feed, async |mut feed| {
        let bytes = feed.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(bytes)), feed))
    });
    body_response(encoding.watch_media_type(), Body::from_stream(body))
}

struct Feed {
    cluster: Arc<Cluster>,
    /// What each object begins with.
    head: String,
    changes: Receiver<u64>,
    /// What is left of the initial state; none once its end was told.
    initial: Option<std::vec::IntoIter<Version>>,
    /// The newest resourceVersion that was sent.
    sent: u64,
    age: u64,
    selection: Selection,
    encoding: Encoding,
    ended: bool,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.cluster.count(|report| report.watches -= 1);
    }
}

impl Feed {
    async fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        if let Some(initial) = &mut self.initial {
            let pods: Vec<Version> = initial.by_ref().take(EVENTS_PER_WRITE).collect();
            if pods.is_empty() {
                self.initial = None;
                self.cluster.count(|report| report.initial_states += 1);
                return Some(self.bookmark(true));
            }
            return Some(self.events("ADDED", &pods));
        }
        loop {
            self.changes.mark_unchanged();
            match self.cluster.next(self.sent, self.age, EVENTS_PER_WRITE, &self.selection) {
                Next::Updates(updates, newest) => {
                    self.sent = newest;
                    if !updates.is_empty() {
                        return Some(self.events("MODIFIED", &updates));
                    }
                }
                Next::Expired => {
                    self.ended = true;
                    return Some(self.expired());
                }
                Next::Wait => {
                    let changed = self.changes.changed();
                    if tokio::time::timeout(BOOKMARK_INTERVAL, changed).await.is_err() {
                        return Some(self.bookmark(false));
                    }
                }
            }
        }
    }

    fn events(&self, change: &str, versions: &[Version]) -> Vec<u8> {
        let mut out = Vec::with_capacity(versions.len() * 8_192);
        for version in versions {
            let template = workload_of(version.pod, self.cluster.templates.of(self.encoding));
            match self.encoding {
                Encoding::Json | Encoding::Metadata => {
                    out.extend_from_slice(b"{\"type\":\"");
                    out.extend_from_slice(change.as_bytes());
                    out.extend_from_slice(b"\",\"object\":{");
                    out.extend_from_slice(self.head.as_bytes());
                    template.render(version, &mut out);
                    out.extend_from_slice(b"}\n");
                }
                Encoding::Protobuf => {
                    protobuf::begin_event(change, "Pod", template.len(), &mut out);
                    template.render(version, &mut out);
                }
            }
        }
        out
    }

    fn bookmark(&self, ends_initial: bool) -> Vec<u8> {
        let version = self.sent.to_string();
        if self.encoding == Encoding::Protobuf {
            return protobuf::bookmark(&version, ends_initial);
        }
        let annotations = match ends_initial {
            true => r#","annotations":{"k8s.io/initial-events-end":"true"}"#,
            false => "",
        };
        let head = &self.head;
        format!(
            r#"{{"type":"BOOKMARK","object":{{{head}"metadata":{{"resourceVersion":"{version}","creationTimestamp":null{annotations}}},"spec":{{"containers":null}},"status":{{}}}}}}"#
        )
        .into_bytes()
        .into_iter()
        .chain(*b"\n")
        .collect()
    }

    fn expired(&self) -> Vec<u8> {
        if self.encoding == Encoding::Protobuf {
            return protobuf::expired(EXPIRED);
        }
        let status = informant_apimachinery::Status::failure(410, "Expired", EXPIRED);
        let status = String::from_utf8_lossy(&status.to_json()).into_owned();
        format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into_bytes()
    }
}
