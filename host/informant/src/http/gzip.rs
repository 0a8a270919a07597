//! Compressed answers, for callers that accept gzip (RFC 9110, `Accept-Encoding`).
//!
//! The model is kube-apiserver's `APIResponseCompression`: gzip at its fastest level, from a size on, and never for a
//! watch. An answer is compressed while it is sent. So neither form of it is whole in memory.

use super::exposure::is_probe;
use super::header_lists::{is_accepted, items};
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method, header};
use http_body::Body as _;
use informant_apiserver::WorkPlace;
use std::io::{self, Write as _};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A shorter answer is one packet with its head, compressed or not. kube-apiserver begins at 128 KiB, because its
/// callers are in its data centre; callers here are also people behind `kubectl port-forward`.
const BYTES_MIN: usize = 1 << 10;
/// Bytes that are compressed before others have their turn.
const STEP_BYTES: usize = 256 << 10;

/// An answer whose pieces are sent when something happens. A mark among the extensions of a response.
#[derive(Clone, Copy)]
pub(super) struct Live;

/// The compressed answers of a listener at once. Each has an encoder of some 350 KiB until it is sent; one more is sent as it is.
const ENCODERS_MAX: usize = 32;

/// The one place for compression on a listener, beside the threads of requests. No listener waits for another one.
#[derive(Clone)]
pub(super) struct Compressor {
    place: WorkPlace,
    encoders: Arc<Semaphore>,
}

impl Default for Compressor {
    fn default() -> Self {
        let encoders = Arc::new(Semaphore::new(ENCODERS_MAX));
        Self { place: WorkPlace::default(), encoders }
    }
}

impl Compressor {
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let ended = || io::Error::other("the host stops");
        self.place.work(work).await.ok_or_else(ended)?
    }
}

/// Compresses the answer to a caller that accepts gzip, unless it is short or live.
pub(super) async fn compress(
    State(compressor): State<Compressor>,
    request: Request,
    next: Next,
) -> Response {
    // A probe waits for nothing.
    if is_probe(request.uri().path()) {
        return next.run(request).await;
    }
    let accepted = accepts_gzip(request.headers());
    let is_head = request.method() == Method::HEAD;
    let mut response = next.run(request).await;
    if response.extensions().get::<Live>().is_some() {
        return response;
    }
    // The content depends on both. A cache between here and the caller needs to know.
    let vary = HeaderValue::from_static("accept, accept-encoding");
    response.headers_mut().append(header::VARY, vary);
    let length = response.body().size_hint().exact();
    if !accepted || length.is_some_and(|length| length < BYTES_MIN as u64) {
        if accepted && is_head {
            // The length of the compressed answer is not known.
            response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        return response;
    }
    let Ok(room) = compressor.encoders.clone().try_acquire_owned() else { return response };
    let (mut head, body) = response.into_parts();
    let mut pieces = body.into_data_stream();
    let first = match pieces.next().await {
        Some(Ok(piece)) if piece.len() >= BYTES_MIN => piece,
        first => {
            let all = stream::iter(first).chain(pieces);
            return Response::from_parts(head, Body::from_stream(all));
        }
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let compressed = Compressed { pieces, waiting: first, encoder, compressor, _room: room };
    let body = Body::from_stream(stream::try_unfold(compressed, Compressed::next));
    Response::from_parts(head, body)
}

/// An answer that is being compressed.
struct Compressed {
    pieces: BodyDataStream,
    /// The part of a piece that is not compressed yet.
    waiting: Bytes,
    /// None after the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
    compressor: Compressor,
    _room: OwnedSemaphorePermit,
}

impl Compressed {
    /// The next compressed bytes, in the shape that `try_unfold` takes. An error breaks the connection.
    async fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        while let Some(mut encoder) = self.encoder.take() {
            if self.waiting.is_empty() {
                match self.pieces.next().await {
                    Some(piece) => self.waiting = piece.map_err(io::Error::other)?,
                    None => {
                        let rest = self.compressor.work(|| encoder.finish()).await?;
                        return Ok(Some((rest.into(), self)));
                    }
                }
            }
            let step = self.waiting.split_to(self.waiting.len().min(STEP_BYTES));
            let write = move || {
                encoder.write_all(&step)?;
                Ok((std::mem::take(encoder.get_mut()), encoder))
            };
            let (compressed, encoder) = self.compressor.work(write).await?;
            self.encoder = Some(encoder);
            if !compressed.is_empty() {
                return Ok(Some((compressed.into(), self)));
            }
        }
        Ok(None)
    }
}

/// Whether a caller accepts gzip, in the first items of the header. A weight of 0 is a refusal, and `*` stands for the codings that are not named.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut named, mut others) = (None, false);
    for coding in items(headers, &header::ACCEPT_ENCODING) {
        let accepted = is_accepted(coding);
        let name = coding.split(';').next().unwrap_or_default().trim();
        if ["gzip", "x-gzip"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
            named = Some(named.unwrap_or(false) || accepted);
        } else if name == "*" {
            others = accepted;
        }
    }
    named.unwrap_or(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::middleware;
    use axum::routing::get;
    use flate2::read::GzDecoder;
    use http_body_util::BodyExt as _;
    use sha2::{Digest as _, Sha256};
    use std::io::Read as _;
    use tower::ServiceExt as _;

    #[track_caller]
    fn check_accepted(values: &[&'static str], expect: bool) {
        let values = values.iter().map(|value| HeaderValue::from_static(value));
        let headers = values.map(|value| (header::ACCEPT_ENCODING, value)).collect();
        assert_eq!(accepts_gzip(&headers), expect, "{headers:?}");
    }

    #[test]
    fn gzip_is_accepted_by_its_name_or_with_all_others() {
        check_accepted(&[], false);
        check_accepted(&[""], false);
        check_accepted(&["gzip"], true);
        check_accepted(&["deflate, GZIP;q=0.5"], true);
        check_accepted(&["br", "x-gzip"], true);
        check_accepted(&["*"], true);
        check_accepted(&["br, identity"], false);
        check_accepted(&["gzip;q=0"], false);
        check_accepted(&["*, gzip; q=0.000"], false);
        check_accepted(&["*;q=0, gzip"], true);
        check_accepted(&["gzip;q=much"], false);
        check_accepted(&["gzip;Q=0, x"], false);
    }

    /// The head and the pieces of an answer with this body to a caller with this `Accept-Encoding`. None: it breaks off.
    async fn answer(
        method: Method,
        accepted: &'static str,
        body: impl Fn() -> Response + Clone + Send + Sync + 'static,
    ) -> (HeaderMap, Option<Vec<Bytes>>) {
        let layer = middleware::from_fn_with_state(Compressor::default(), compress);
        let router = Router::new().route("/", get(async move || body())).layer(layer);
        let request = Request::builder().method(method).uri("/");
        let request = request.header(header::ACCEPT_ENCODING, accepted).body(Body::empty());
        let response = router.oneshot(request.expect("a request")).await.expect("an answer");
        let (head, mut body) = response.into_parts();
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => pieces.extend(frame.into_data()),
                Err(_) => return (head.headers, None),
            }
        }
        (head.headers, Some(pieces))
    }

    fn whole(bytes: usize) -> impl Fn() -> Response + Clone + Send + Sync + 'static {
        move || Response::new(Body::from(vec![b'x'; bytes]))
    }

    /// Pieces of these sizes. A size of 0 is an error.
    fn in_pieces(sizes: &'static [usize]) -> impl Fn() -> Response + Clone + Send + Sync + 'static {
        move || {
            let pieces = stream::iter(sizes).map(|size| match size {
                0 => Err(io::Error::other("it ends")),
                size => Ok(vec![b'x'; *size]),
            });
            Response::new(Body::from_stream(pieces))
        }
    }

    /// The answer to a caller that accepts gzip is compressed or is not, and has the same content as for others.
    async fn check(body: impl Fn() -> Response + Clone + Send + Sync + 'static, expect: bool) {
        let (head, plain) = answer(Method::GET, "identity", body.clone()).await;
        assert!(!head.contains_key(header::CONTENT_ENCODING));
        assert_eq!(head[header::VARY], "accept, accept-encoding");
        let plain = plain.expect("it is whole").concat();
        let (head, sent) = answer(Method::GET, "gzip", body).await;
        let sent = sent.expect("it is whole").concat();
        assert_eq!(head[header::VARY], "accept, accept-encoding");
        assert_eq!(head.contains_key(header::CONTENT_ENCODING), expect, "{}", plain.len());
        if !expect {
            assert_eq!(sent, plain);
            return;
        }
        assert!(!head.contains_key(header::CONTENT_LENGTH));
        let mut content = Vec::new();
        GzDecoder::new(&*sent).read_to_end(&mut content).expect("it is gzip");
        assert!(content == plain && sent.len() < plain.len(), "{}", plain.len());
    }

    #[tokio::test]
    async fn answers_are_compressed_from_a_size_on() {
        check(whole(0), false).await;
        check(whole(BYTES_MIN - 1), false).await;
        check(whole(BYTES_MIN), true).await;
        check(whole(3 * STEP_BYTES + 1), true).await;
        check(in_pieces(&[]), false).await;
        check(in_pieces(&[BYTES_MIN - 1]), false).await;
        check(in_pieces(&[10, 20_000]), false).await;
        check(in_pieces(&[BYTES_MIN, 1, STEP_BYTES + 1]), true).await;
    }

    #[tokio::test]
    async fn an_answer_is_compressed_in_pieces_of_a_bounded_size() {
        // Hashes do not become fewer bytes.
        let hashes = (0..STEP_BYTES / 4).flat_map(|number| Sha256::digest(number.to_le_bytes()));
        let bytes: Bytes = hashes.collect();
        let body = bytes.clone();
        let (_, pieces) =
            answer(Method::GET, "gzip", move || Response::new(Body::from(body.clone()))).await;
        let pieces = pieces.expect("it is whole");
        // An encoder keeps less than 128 KiB of its input.
        let most = STEP_BYTES + (128 << 10);
        assert!(pieces.iter().all(|piece| piece.len() < most), "{}", pieces.len());
        let mut content = Vec::new();
        GzDecoder::new(&*pieces.concat()).read_to_end(&mut content).expect("it is gzip");
        assert!(content == bytes);
    }

    #[tokio::test]
    async fn an_answer_that_is_cut_short_does_not_end_as_a_complete_one() {
        for sizes in [&[0][..], &[10, 0], &[BYTES_MIN, 0], &[STEP_BYTES, 0]] {
            let (_, pieces) = answer(Method::GET, "gzip", in_pieces(sizes)).await;
            assert!(pieces.is_none(), "{sizes:?}");
        }
    }

    #[tokio::test]
    async fn a_live_answer_is_sent_as_it_is() {
        let live = || {
            let mut response = in_pieces(&[STEP_BYTES])();
            response.extensions_mut().insert(Live);
            response
        };
        let (head, pieces) = answer(Method::GET, "gzip", live).await;
        assert!(!head.contains_key(header::CONTENT_ENCODING));
        assert_eq!(pieces.expect("it is whole").len(), 1);
    }

    #[tokio::test]
    async fn a_head_has_no_length_that_its_answer_would_not_have() {
        let length = async |accepted, bytes| {
            let (head, _) = answer(Method::HEAD, accepted, whole(bytes)).await;
            head.contains_key(header::CONTENT_LENGTH)
        };
        assert!(length("identity", BYTES_MIN).await);
        assert!(!length("gzip", BYTES_MIN).await);
    }
}
