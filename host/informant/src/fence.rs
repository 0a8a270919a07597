//! The fence of HTTP requests: only a host that leads may send them. The lead is checked before a
//! request begins, while it is under way, and each time that bytes of it are handed to the kernel.
//! The kernel drops bytes that the server has not acknowledged when another host may lead. A host
//! that takes part in no election has no fence.

use crate::election::Candidate;
use informant_cache::leader_election::Leadership;
use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Whether this host leads, for senders. Cheap to clone; clones share the state.
#[derive(Clone, Default)]
pub(crate) struct Fence {
    /// The leadership, with the time from the end of this host's term to the beginning of another host's term.
    election: Option<(Leadership, Duration)>,
}

/// This host led no more when the work was to begin, or stopped leading before the work ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeadLost;

/// Whether any byte of a request was handed to the kernel.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<AtomicBool>);

/// The request that a stream's bytes count for. A stream may carry several requests, one after the other.
#[derive(Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<Sent>>);

/// A stream that hands no bytes to the kernel once this host leads no more.
pub(crate) struct FencedStream<S> {
    stream: S,
    fence: Fence,
    meter: Meter,
}

impl Fence {
    /// A fence for a candidate. It fences nothing without an election.
    pub(crate) fn of(candidate: Option<&Candidate>) -> Self {
        Self { election: candidate.map(|it| (it.leadership.clone(), it.margin)) }
    }

    /// Whether this host leads at this moment.
    pub(crate) fn leads(&self) -> bool {
        self.election.as_ref().is_none_or(|(leadership, _)| leadership.is_leader())
    }

    async fn lost(&self) {
        match &self.election {
            Some((leadership, _)) => leadership.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Runs the work as long as this host leads, and drops it when the host leads no more. Invariant 37.
    pub(crate) async fn while_leading<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, LeadLost> {
        tokio::select! {
            // The loss comes first: a task that did not run for a while checks the lead before it continues.
            biased;
            () = self.lost() => Err(LeadLost),
            done = work => Ok(done),
        }
    }

    /// On Linux, the kernel drops bytes that the other end has not acknowledged when another host may lead.
    pub(crate) fn bound(&self, stream: &TcpStream) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some((_, margin)) = &self.election {
            socket2::SockRef::from(stream).set_tcp_user_timeout(Some(*margin))?;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = stream;
        Ok(())
    }

    /// The stream within the fence, and the meter of its bytes.
    pub(crate) fn around<S>(&self, stream: S) -> (FencedStream<S>, Meter) {
        let meter = Meter::default();
        (FencedStream { stream, fence: self.clone(), meter: meter.clone() }, meter)
    }
}

impl Sent {
    /// Whether any byte was handed to the kernel.
    pub(crate) fn is_any(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Meter {
    /// The stream's next bytes belong to this request.
    pub(crate) fn count_for(&self, sent: &Sent) {
        *self.0.lock() = sent.clone();
    }
}

impl<S> FencedStream<S> {
    fn check(&self) -> io::Result<()> {
        // Invariant 37.
        match self.fence.leads() {
            true => Ok(()),
            false => Err(io::Error::other("this host leads no more")),
        }
    }

    fn note(&self, bytes: usize) -> usize {
        if bytes > 0 {
            self.meter.0.lock().0.store(true, Relaxed);
        }
        bytes
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FencedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        let written = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        Poll::Ready(Ok(this.note(written)))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(context, parts))?;
        Poll::Ready(Ok(this.note(written)))
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

impl<S: AsyncRead + Unpin> AsyncRead for FencedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use informant_cache::leader_election::testing::FakeLock;
    use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
    use std::future::pending;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    const MARGIN: Duration = Duration::from_secs(5);

    /// A fence of a host that leads until [`Self::lose`].
    pub(crate) struct Leader {
        leadership: Leadership,
        electing: JoinHandle<()>,
    }

    impl Leader {
        pub(crate) async fn start() -> Self {
            // Some tests use sockets, and so the real clock.
            let config = LeaderElectionConfig {
                lease_duration: Duration::from_secs(2),
                renew_deadline: Duration::from_millis(1_300),
                retry_period: Duration::from_secs(1),
                ..LeaderElectionConfig::new("a")
            };
            let elector = LeaderElector::new(Arc::new(FakeLock::default()), config);
            let elector = elector.expect("it can work");
            let leadership = elector.leadership();
            let electing = tokio::spawn(elector.run(pending()));
            leadership.acquired().await;
            Self { leadership, electing }
        }

        pub(crate) fn fence(&self) -> Fence {
            Fence { election: Some((self.leadership.clone(), MARGIN)) }
        }

        /// Returns when the lead is lost.
        pub(crate) async fn lose(&self) {
            self.electing.abort();
            self.leadership.lost().await;
        }
    }

    /// Invariant 37.
    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_ends_with_the_lead_and_nothing_begins_after_it() {
        let leader = Leader::start().await;
        let fence = leader.fence();
        assert_eq!(fence.while_leading(async { 7 }).await, Ok(7));
        let (ended, ()) = tokio::join!(fence.while_leading(pending::<()>()), leader.lose());
        assert_eq!(ended, Err(LeadLost));
        let begun = AtomicBool::new(false);
        let work = async { begun.store(true, Relaxed) };
        assert_eq!(fence.while_leading(work).await, Err(LeadLost));
        assert!(!begun.into_inner() && !fence.leads());
        assert_eq!(Fence::default().while_leading(async { 7 }).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_which_a_part_was_sent_goes_no_further() {
        let leader = Leader::start().await;
        let (ours, mut theirs) = tokio::io::duplex(1 << 10);
        let (mut stream, meter) = leader.fence().around(ours);
        let (first, second) = (Sent::default(), Sent::default());
        meter.count_for(&first);
        stream.write_all(b"head").await.expect("it leads");
        assert!(first.is_any() && !second.is_any());
        meter.count_for(&second);
        leader.lose().await;
        stream.write_all(b"body").await.expect_err("it leads no more");
        let parts = [IoSlice::new(b"bo"), IoSlice::new(b"dy")];
        stream.write_vectored(&parts).await.expect_err("it leads no more");
        assert!(!second.is_any());
        drop(stream);
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.expect("it ends");
        assert_eq!(received, b"head");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_gives_up_before_another_host_may_lead() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let stream = TcpStream::connect(address).await.expect("it listens");
        let timeout = || socket2::SockRef::from(&stream).tcp_user_timeout().expect("Linux has it");
        let before = timeout();
        Fence::default().bound(&stream).expect("nothing is done");
        assert_eq!(timeout(), before);
        Leader::start().await.fence().bound(&stream).expect("Linux has it");
        assert_eq!(timeout(), Some(MARGIN));
    }
}
