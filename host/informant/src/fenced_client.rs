//! The client for plugins' writes in a host that takes part in an election. It checks the lead at the last possible
//! moment: when it asks for a request's body, just before the bytes go to the kernel. The kernel drops bytes that the
//! other end has not acknowledged when another host may lead.

use anyhow::{Result, anyhow};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use informant_cache::leader_election::Leadership;
use informant_cache::{KeepAlive, client_with_bodies};
use kube::client::Body;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::BoxError;

/// The request was not sent because this host leads no more.
#[derive(Debug, thiserror::Error)]
#[error("this host leads no more")]
struct LeadsNoMore;

/// Whether [`LeadsNoMore`] is among the error's causes.
pub(crate) fn leads_no_more(error: &kube::Error) -> bool {
    let error: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.is::<LeadsNoMore>())
}

/// A fenced client. `margin` is the time from the end of this host's term to the beginning of another host's term. Behind
/// a proxy the kernel's bound is for the proxy alone.
pub(crate) fn fenced(
    config: &kube::Config,
    leadership: Leadership,
    margin: Duration,
) -> Result<kube::Client> {
    let keep_alive = KeepAlive { lost_after: margin, ..KeepAlive::default() };
    let bodies = move |body| Fenced { body, leadership: leadership.clone() };
    client_with_bodies(config.clone(), keep_alive, bodies)
        .map_err(|error| anyhow!("the cluster's credentials cannot be used: {error}"))
}

/// A body that gives no bytes once this host leads no more. Without the body, no API server begins a request.
struct Fenced {
    body: Body,
    leadership: Leadership,
}

impl HttpBody for Fenced {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if !this.leadership.is_leader() {
            return Poll::Ready(Some(Err(LeadsNoMore.into())));
        }
        Pin::new(&mut this.body).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use informant_cache::leader_election::testing::FakeLock;
    use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
    use parking_lot::Mutex;
    use std::future::pending;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

    fn elector() -> LeaderElector {
        let config = LeaderElectionConfig {
            lease_duration: Duration::from_secs(2),
            renew_deadline: Duration::from_millis(1_300),
            retry_period: Duration::from_secs(1),
            ..LeaderElectionConfig::new("a")
        };
        LeaderElector::new(Arc::new(FakeLock::default()), config).expect("it can work")
    }

    /// Answers everything, once for each read, and keeps what it read.
    async fn serve(listener: TcpListener, received: Arc<Mutex<Vec<u8>>>) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let received = received.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    received.lock().extend_from_slice(&buffer[..count]);
                    let _ = stream.write_all(ANSWER).await;
                }
            });
        }
    }

    fn request() -> Request<Body> {
        let body = Body::from(br#"{"a":1}"#.to_vec());
        Request::patch("/api/v1/namespaces/shop/pods/web").body(body).expect("a request")
    }

    /// Invariant 37.
    #[tokio::test]
    async fn nothing_reaches_the_server_once_this_host_leads_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let received = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(listener, received.clone()));
        let elector = elector();
        let leadership = elector.leadership();
        let electing = tokio::spawn(elector.run(pending()));
        leadership.acquired().await;
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URI"));
        let client = fenced(&config, leadership.clone(), Duration::from_secs(1));
        let client = client.expect("it can be made");
        let answer = client.send(request()).await.expect("it leads");
        assert_eq!(answer.status(), 200);
        let before = std::mem::take(&mut *received.lock());
        assert!(before.ends_with(br#"{"a":1}"#), "{}", String::from_utf8_lossy(&before));

        electing.abort();
        leadership.lost().await;
        // Over the existing connection, and over a new one.
        for _ in 0..2 {
            let error = client.send(request()).await.expect_err("it leads no more");
            assert!(leads_no_more(&error), "{error:?}");
        }
        serving.abort();
        assert_eq!(String::from_utf8_lossy(&received.lock()), "");
    }
}
