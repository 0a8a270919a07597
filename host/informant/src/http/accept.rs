//! Sockets that connections come to: those of addresses, and the admin socket's file.

use super::places::Peer;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tracing::warn;

/// The pause after a failed accept, which mostly means that there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a connection is read from and written to.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + AsFd + Unpin + Send + 'static {}

impl ByteStream for TcpStream {}
impl ByteStream for UnixStream {}

/// A socket that connections come to.
pub(crate) trait Listener: Send + Sync + 'static {
    type Stream: ByteStream;

    /// The next connection.
    fn next(&self) -> impl Future<Output = io::Result<Peered<Self::Stream>>> + Send;
}

/// A connection, and where it comes from.
pub(crate) struct Peered<S> {
    pub(super) stream: S,
    pub(super) peer: Peer,
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<Peered<TcpStream>> {
        let (stream, address) = self.accept().await?;
        Ok(Peered { stream, peer: address.ip().into() })
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<Peered<UnixStream>> {
        let (stream, _) = self.accept().await?;
        Ok(Peered { stream, peer: Peer::ONLY })
    }
}

/// The next connection, however long it takes.
pub(super) async fn accept<L: Listener>(listener: &L) -> Peered<L::Stream> {
    loop {
        match listener.next().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                warn!("an HTTP connection could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
