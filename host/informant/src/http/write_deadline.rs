//! A stream whose peer has to take what is written: one that takes nothing for too long is cut off.

use super::accept::ByteStream;
use super::unread::ConnectionPiece;
use socket2::SockRef;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tracing::debug;

/// What the system keeps of one connection's answers, twice this with what it counts itself: an answer in full reaches
/// a scraper of the same continent without a pause.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

pub(super) struct WriteDeadline<S: ByteStream> {
    stream: S,
    /// How long the peer may take nothing.
    stall_max: Duration,
    /// Since the peer takes nothing.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Hears that the peer has taken something that waited.
    piece: Arc<ConnectionPiece>,
}

impl<S: ByteStream> WriteDeadline<S> {
    pub(super) fn new(stream: S, stall_max: Duration, piece: Arc<ConnectionPiece>) -> Self {
        let socket = SockRef::from(&stream);
        // A socket that has a path takes some of these alone. Only answers in small pieces would be faster for these; a closed socket shows up later.
        let _ = socket.set_tcp_nodelay(true);
        let _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
        // What was written when the connection is closed: the system keeps it no longer than that.
        #[cfg(target_os = "linux")]
        let _ = socket.set_tcp_user_timeout(Some(stall_max));
        Self { stream, stall_max, deadline: None, piece }
    }

    /// What comes of a write.
    fn settle<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.deadline.take().is_some() {
                self.piece.moves();
            }
            return written;
        }
        let stall_max = self.stall_max;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall_max)));
        ready!(deadline.as_mut().poll(context));
        debug!("an HTTP connection is cut off: its peer took nothing for {stall_max:?}");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: ByteStream> Drop for WriteDeadline<S> {
    /// Where the peer took nothing to the end, nobody reads what still waits in the system.
    fn drop(&mut self) {
        if self.deadline.is_some() {
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl<S: ByteStream> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: ByteStream> AsyncWrite for WriteDeadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.settle(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.settle(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
