//! `/metrics`: the page is written on a thread aside, in pieces, as fast as whoever asked takes them. So it is never whole in memory, and no async
//! thread works for it.

use super::answers::busy;
use crate::metrics;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream::poll_fn;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::{fmt, io};
use tokio::sync::{Semaphore, mpsc};

/// The most pages at once on one listener: enough for two Prometheus servers and some people, each of which may be slow.
/// A page takes 192 KiB (a piece that is written, one that waits and one that is sent), a thread, and the host's
/// numbers.
pub(super) const PAGES_MAX: usize = 8;
/// A piece is sent once it has so many bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// The most pieces that wait.
const PIECES_WAITING: usize = 1;

type Piece = io::Result<Bytes>;

/// The pages that are served now.
#[derive(Clone)]
pub(super) struct Scrapes {
    places: Arc<Semaphore>,
    /// Of all pages, of all listeners, one is being written at a time: scrapers take one core between them.
    pen: Arc<Mutex<()>>,
}

impl Default for Scrapes {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(PAGES_MAX)), pen: Arc::default() }
    }
}

impl Scrapes {
    /// Those of another listener.
    pub(super) fn of_another(&self) -> Self {
        Self { pen: self.pen.clone(), ..Self::default() }
    }

    /// The page, or 503 where enough are being written.
    pub(super) fn serve(&self, sources: metrics::MetricSources) -> Response {
        self.serve_with(|page| metrics::write(sources, page))
    }

    fn serve_with(
        &self,
        write: impl FnOnce(&mut Page<'_>) -> fmt::Result + Send + 'static,
    ) -> Response {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            let text =
                format!("{PAGES_MAX} pages of metrics are being read; ask again in a second");
            return busy(text);
        };
        let (pieces, mut sent) = mpsc::channel(PIECES_WAITING);
        let pen = self.pen.clone();
        tokio::task::spawn_blocking(move || {
            let _place = place;
            write_pieces(&pen, &pieces, write);
        });
        let body = Body::from_stream(poll_fn(move |context| sent.poll_recv(context)));
        let content_type = [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)];
        (StatusCode::OK, content_type, body).into_response()
    }
}

fn write_pieces(
    pen: &Mutex<()>,
    pieces: &mpsc::Sender<Piece>,
    write: impl FnOnce(&mut Page<'_>) -> fmt::Result,
) {
    let mut page = Page { piece: String::new(), pieces, pen, held: Some(pen.lock()) };
    let written = write(&mut page).and_then(|()| page.send());
    if written.is_err() {
        drop(page);
        // The answer breaks off, so that nobody takes it for a whole page. Most often whoever asked has gone.
        let _ = pieces.blocking_send(Err(io::Error::other("the page could not be written")));
    }
}

/// A page that is being written.
struct Page<'a> {
    piece: String,
    pieces: &'a mpsc::Sender<Piece>,
    pen: &'a Mutex<()>,
    /// Not while it waits for the client.
    held: Option<MutexGuard<'a, ()>>,
}

impl Page<'_> {
    /// Waits until there is room for it; an error if the client is gone.
    fn send(&mut self) -> fmt::Result {
        self.held = None;
        let piece = std::mem::take(&mut self.piece);
        self.pieces.blocking_send(Ok(piece.into())).map_err(|_| fmt::Error)?;
        self.held = Some(self.pen.lock());
        Ok(())
    }
}

impl fmt::Write for Page<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.piece.capacity() == 0 {
            self.piece.reserve(PIECE_BYTES);
        }
        self.piece.push_str(text);
        if self.piece.len() < PIECE_BYTES { Ok(()) } else { self.send() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write as _;
    use futures::StreamExt;
    use http_body_util::BodyExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LINE: &str = "a line of a page that goes on and on\n";

    /// Writes so many lines, and counts them.
    fn lines(
        count: usize,
        written: &Arc<AtomicUsize>,
    ) -> impl FnOnce(&mut Page<'_>) -> fmt::Result + use<> {
        let written = written.clone();
        move |page| {
            (0..count).try_for_each(|_| {
                page.write_str(LINE)?;
                written.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        }
    }

    #[tokio::test]
    async fn a_page_comes_in_pieces_of_a_bounded_size() {
        let page = Scrapes::default().serve_with(lines(10_000, &Arc::default()));
        let pieces: Vec<_> = StreamExt::collect(page.into_body().into_data_stream()).await;
        let pieces: Vec<Bytes> = pieces.into_iter().map(|it| it.expect("a piece")).collect();
        let (_, all_but_last) = pieces.split_last().expect("pieces");
        let sizes = PIECE_BYTES..PIECE_BYTES + LINE.len();
        assert!(all_but_last.iter().all(|piece| sizes.contains(&piece.len())));
        assert_eq!(String::from_utf8_lossy(&pieces.concat()), LINE.repeat(10_000));
    }

    /// Every page is read or given up before the next one has its place, so nobody waits for a page that nobody takes.
    #[tokio::test]
    async fn pages_that_nobody_reads_are_bounded_in_number_and_size_and_end_with_who_asked() {
        let (scrapes, written) = (Scrapes::default(), Arc::new(AtomicUsize::new(0)));
        let ask = || scrapes.serve_with(lines(1_000_000, &written));
        let mut pages: Vec<Response> = (0..PAGES_MAX).map(|_| ask()).collect();
        assert!(pages.iter().all(|page| page.status() == StatusCode::OK));
        let refused = ask();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
        // Once one has handed over its second piece, the first of all others waits at most.
        let frame = pages[0].body_mut().frame().await.expect("a piece").expect("it is sent");
        assert!(frame.is_data());
        drop(pages);
        let all = u32::try_from(PAGES_MAX).expect("a small number");
        let places = scrapes.places.acquire_many(all).await.expect("they end");
        drop(places);
        let per_page = PIECE_BYTES / LINE.len() + 1;
        let most = PAGES_MAX * per_page * (PIECES_WAITING + 2) + per_page;
        let written = written.load(Ordering::Relaxed);
        assert!(written <= most, "{written} lines of {most}");
    }

    #[tokio::test]
    async fn a_page_that_cannot_be_written_breaks_off() {
        let scrapes = Scrapes::default();
        let page = scrapes.serve_with(|page| {
            page.write_str(LINE)?;
            Err(fmt::Error)
        });
        assert!(page.into_body().collect().await.is_err());
    }
}
