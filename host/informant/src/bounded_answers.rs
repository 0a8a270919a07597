//! The client for single answers of the API server: reviews, discovery, definitions, leases. Such an answer is read whole, so
//! its bytes have a bound. Lists, watches and writes have their own bounds.

use http::Request;
use http_body_util::Limited;
use informant_runtime::one_line;
use kube::client::Body;
use memchr::memchr_iter;
use serde::Deserialize;
use tower::service_fn;

/// An answer above this size is an error. The largest honest one is the discovery of a cluster with thousands of
/// custom resources.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The bytes of an error's text.
const ERROR_BYTES_MAX: usize = 1 << 10;

/// The entries of all lists of an answer that is read as a tree are at most one more than its commas. A discovery of
/// 10,000 resources has 250,000.
pub(crate) const COMMAS_MAX: usize = 500_000;

/// Whether an answer may be read as a tree, which takes many times its bytes: see [`COMMAS_MAX`].
pub(crate) fn has_few_entries(answer: &str) -> bool {
    memchr_iter(b',', answer.as_bytes()).count() <= COMMAS_MAX
}

/// An error's text on one line of at most 1 KiB. It may quote all of an answer.
pub(crate) fn short(error: &str) -> String {
    one_line(error, ERROR_BYTES_MAX).into_owned()
}

/// Reads an answer, or a part of one. The error is [`short`].
pub(crate) fn parsed<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| short(&error.to_string()))
}

/// The same client, which gives up an answer above [`ANSWER_BYTES_MAX`].
pub(crate) fn with_bounded_answers(client: &kube::Client) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            let answer = client.send(request).await?;
            Ok::<_, kube::Error>(answer.map(|body| Limited::new(body, ANSWER_BYTES_MAX)))
        }
    });
    kube::Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures::{StreamExt as _, stream};
    use http::Response;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    const PIECE: usize = 1 << 20;

    /// Asks a server that answers with so many MiB. Returns whether there is an answer, and the pieces that were read.
    async fn ask(pieces: usize) -> (bool, usize) {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = read.clone();
        let server = service_fn(move |_: Request<Body>| {
            let counted = counted.clone();
            let body = stream::iter(0..pieces).map(move |_| {
                counted.fetch_add(1, Relaxed);
                Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from(vec![b' '; PIECE])))
            });
            async move {
                let body = http_body_util::StreamBody::new(body);
                Ok::<_, std::io::Error>(Response::new(body))
            }
        });
        let client = with_bounded_answers(&kube::Client::new(server, "default"));
        let request = Request::get("/apis").body(Vec::new()).expect("a request");
        let answer = client.request_text(request).await;
        (answer.is_ok(), read.load(Relaxed))
    }

    #[tokio::test]
    async fn an_endless_answer_is_given_up() {
        assert_eq!(ask(1).await, (true, 1));
        assert_eq!(ask(8).await, (true, 8));
        assert_eq!(ask(9).await, (false, 9));
        assert_eq!(ask(100_000).await, (false, 9));
    }
}
