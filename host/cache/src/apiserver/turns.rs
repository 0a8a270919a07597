//! Turns for other tasks beside a connection that always has something to read.
//!
//! hyper passes over interim answers (1xx) in a loop that ends when the connection has nothing to read. A server that
//! sends them without end would keep a thread. So a read waits for its next turn after a few that waited for nothing.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads in one turn, of at most 32 KiB each: some thousand interim answers.
const READS_MAX: u8 = 2;

/// A stream whose reader leaves others their turns.
pub(super) struct TurnTaking<S> {
    stream: S,
    /// The reads since the last that waited.
    reads: u8,
}

impl<S> TurnTaking<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, reads: 0 }
    }
}

impl<S: Read + Unpin> Read for TurnTaking<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.reads == READS_MAX {
            this.reads = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.reads = if read.is_ready() { this.reads + 1 } else { 0 };
        read
    }
}

impl<S: Write + Unpin> Write for TurnTaking<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }
}

impl<S: Connection> Connection for TurnTaking<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::task::noop_waker;
    use hyper::rt::ReadBuf;
    use hyper_util::rt::TokioIo;

    #[test]
    fn a_stream_that_never_waits_leaves_others_their_turns() {
        let mut stream = TurnTaking::new(TokioIo::new(tokio::io::repeat(b'x')));
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut polls = String::new();
        for _ in 0..12 {
            let mut bytes = [0; 8];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut stream).poll_read(&mut context, buffer.unfilled());
            polls.push(if read.is_ready() { 'r' } else { '-' });
        }
        assert_eq!(polls, "rr-rr-rr-rr-");
    }
}
