//! Interim answers have a status of 1xx; a server may send some before its answer. hyper skips them in a loop that
//! neither yields nor ends. So a server that sends only interim answers keeps a thread busy. After [`INTERIM_MAX`] of
//! them, the connection is read no further.

use http::Request;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bound for one request. A server that sends an interim answer every second has sent fewer when the longest call
/// ends. One buffer may contain more.
pub(crate) const INTERIM_MAX: usize = 100;

/// The number of interim answers to the current request of one connection.
#[derive(Clone, Default)]
pub(crate) struct InterimAnswers(Arc<AtomicUsize>);

/// A stream that is read no further after too many interim answers.
pub(crate) struct InterimBound<S> {
    stream: S,
    answers: InterimAnswers,
}

impl InterimAnswers {
    /// The next interim answers belong to this request.
    pub(crate) fn count_for<B>(&self, request: &mut Request<B>) {
        self.0.store(0, Relaxed);
        let count = self.0.clone();
        hyper::ext::on_informational(request, move |_| _ = count.fetch_add(1, Relaxed));
    }

    pub(crate) fn bound<S>(&self, stream: S) -> InterimBound<S> {
        InterimBound { stream, answers: self.clone() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InterimBound<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.answers.0.load(Relaxed) > INTERIM_MAX {
            let problem = format!("there were more than {INTERIM_MAX} interim answers (1xx)");
            return Poll::Ready(Err(io::Error::other(problem)));
        }
        Pin::new(&mut this.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InterimBound<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
