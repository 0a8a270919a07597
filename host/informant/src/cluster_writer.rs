//! Sends plugins' writes to the API server. `host/runtime` has checked them before.

use crate::cluster::Cluster;
use crate::election::Candidate;
use crate::fence::{Fence, LeadLost};
use crate::fenced_client::{fenced, leads_no_more};
use anyhow::Result;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use informant_apimachinery::Status;
use informant_cache::{is_unconnected, with_causes};
use informant_runtime::{ClusterWriter, ServiceAccount, WriteError, WriteRequest};
use kube::client::Body;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

/// A `Status` has a few hundred bytes. The error page of a proxy is cut at this size.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// The user in whose name a request is made. No groups are sent: an API server knows the groups of a service account,
/// and would check whether this user may impersonate each of them.
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// The writer for an API server. It uses kube's client on the async runtime of the program, whose threads have
/// sockets.
pub(crate) struct ApiServerWriter {
    client: kube::Client,
    /// The host's kubeconfig already impersonates a user. A request cannot impersonate a second user.
    impersonates: bool,
    fence: Fence,
    runtime: Handle,
}

impl ApiServerWriter {
    /// Call it within the program's own async runtime.
    pub(crate) fn new(cluster: &Cluster, candidate: Option<&Candidate>) -> Result<Self> {
        let client = match candidate {
            Some(it) => fenced(&cluster.config, it.leadership.clone(), it.margin)?,
            None => cluster.unbounded.clone(),
        };
        let (impersonates, fence) = (impersonates(&cluster.config), Fence::of(candidate));
        Ok(Self { client, impersonates, fence, runtime: Handle::current() })
    }
}

impl ClusterWriter for ApiServerWriter {
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let (client, runtime) = (self.client.clone(), self.runtime.clone());
        let fence = self.fence.clone();
        if let (Some(account), true) = (&request.service_account, self.impersonates) {
            let refused = Err(WriteError::Unsent(two_names(account)));
            return Box::pin(std::future::ready(refused));
        }
        Box::pin(async move {
            let task =
                runtime.spawn(async move { while_leading(&fence, send(&client, request)).await });
            // The task ends when its result is no longer awaited.
            AbortOnDropHandle::new(task).await.unwrap_or_else(|error| Err(transport(&error)))
        })
    }
}

/// Whether this client sends every request in another user's name.
fn impersonates(config: &kube::Config) -> bool {
    let user = &config.auth_info;
    let of_headers =
        || config.headers.iter().any(|(name, _)| name.as_str().starts_with("impersonate-"));
    user.impersonate.is_some()
        || user.impersonate_uid.is_some()
        || user.impersonate_groups.is_some()
        || user.impersonate_user_extra.is_some()
        || of_headers()
}

fn two_names(account: &ServiceAccount) -> String {
    format!(
        "the write needs the service account {account}, and this host's kubeconfig already names another user (as:); use a kubeconfig without it"
    )
}

/// Another host may become the leader while a request waits for a connection or for its task's turn. Then the request
/// is not sent. If it was already sent, its connection is closed, so that an API server that has not begun the request
/// does not begin it.
async fn while_leading<T>(
    fence: &Fence,
    sent: impl Future<Output = Result<T, WriteError>>,
) -> Result<T, WriteError> {
    if !fence.leads() {
        return Err(WriteError::NotLeader);
    }
    let lost = |LeadLost| {
        let text = "this host lost the lead before an answer came; it may have been done";
        Err(WriteError::Transport(text.to_owned()))
    };
    fence.while_leading(sent).await.unwrap_or_else(lost)
}

async fn send(client: &kube::Client, request: WriteRequest) -> Result<Vec<u8>, WriteError> {
    let WriteRequest { method, uri, content_type, body, answer_bytes_max, service_account, .. } =
        request;
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header(CONTENT_TYPE, content_type)
        .header(ACCEPT, "application/json");
    // Invariant 36.
    if let Some(account) = &service_account {
        request = request.header(IMPERSONATE_USER, account.user());
    }
    let request = request.body(Body::from(body));
    let request = request.map_err(|error| WriteError::Unsent(error.to_string()))?;
    let response = client.send(request).await.map_err(|error| match error {
        error if leads_no_more(&error) => WriteError::NotLeader,
        error if is_unconnected(&error) => WriteError::Unsent(with_causes(&error)),
        error => transport(&error),
    })?;
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    let body = Limited::new(response.into_body(), answer_bytes_max).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => WriteError::Transport(format!(
            "it was done, and the answer has more than {answer_bytes_max} bytes"
        )),
        None => transport(&*error),
    })?;
    Ok(body.to_bytes().to_vec())
}

async fn refusal(response: Response<Body>) -> WriteError {
    let code = response.status();
    let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let header = header.and_then(|value| value.parse().ok()).map(Duration::from_secs);
    let body = Limited::new(response.into_body(), ERROR_BODY_BYTES_MAX).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let status = serde_json::from_slice::<Status>(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        let text = text.trim().chars().take(200).collect::<String>();
        Status::failure(code.as_u16(), "", format!("{code}: {text}"))
    });
    let told = status.details.as_ref().map(|details| u64::from(details.retry_after_seconds));
    let told = told.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    WriteError::Status {
        code: code.as_u16(),
        reason: status.reason.into_owned(),
        message: status.message,
        retry_after: header.or(told),
    }
}

fn transport(error: &(dyn std::error::Error + 'static)) -> WriteError {
    WriteError::Transport(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::tests::Leader;
    use informant_runtime::WriteTarget;
    use std::future::pending;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    fn request(account: Option<&str>) -> WriteRequest {
        WriteRequest {
            method: "PATCH",
            uri: "/api/v1/namespaces/shop/pods/web".to_owned(),
            target: WriteTarget {
                resource: "v1/pods".parse().expect("a resource"),
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
                subresource: String::new(),
            },
            content_type: "application/merge-patch+json",
            body: b"{}".to_vec(),
            answer_bytes_max: 100,
            service_account: account.map(|it| it.parse().expect("it is one")),
        }
    }

    fn writer(config: &kube::Config) -> ApiServerWriter {
        let client = informant_cache::client_for_config(config.clone()).expect("a client");
        let (impersonates, fence) = (impersonates(config), Fence::of(None));
        ApiServerWriter { client, impersonates, fence, runtime: Handle::current() }
    }

    /// Invariant 36.
    #[tokio::test]
    async fn what_is_for_a_service_account_is_sent_in_its_name() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let serving = tokio::spawn(async move {
            let mut received = Vec::new();
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.expect("somebody comes");
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).await.expect("it asks");
                received.push(String::from_utf8_lossy(&buffer[..count]).to_lowercase());
                let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
                stream.write_all(answer).await.expect("it listens");
            }
            received
        });
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URI"));
        let writer = writer(&config);
        assert_eq!(writer.write(request(Some("shop/labeller"))).await, Ok(b"{}".to_vec()));
        assert_eq!(writer.write(request(None)).await, Ok(b"{}".to_vec()));
        let received = serving.await.expect("both came");
        let of = |at: usize| received[at].lines().filter(|line| line.starts_with("impersonate-"));
        let expect = ["impersonate-user: system:serviceaccount:shop:labeller"];
        assert_eq!(of(0).collect::<Vec<_>>(), expect);
        assert_eq!(of(1).count(), 0);
    }

    #[tokio::test]
    async fn nothing_is_sent_to_an_api_server_that_is_away_and_a_lost_answer_is_unknown() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it has one");
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URI"));
        let written = writer(&config);
        let closes = async {
            let (mut stream, _) = listener.accept().await.expect("somebody comes");
            let mut buffer = [0; 4096];
            assert_ne!(stream.read(&mut buffer).await.expect("it asks"), 0);
        };
        let (unknown, ()) = tokio::join!(written.write(request(None)), closes);
        assert!(matches!(unknown, Err(WriteError::Transport(_))), "{unknown:?}");
        drop(listener);
        let unsent = writer(&config).write(request(None)).await;
        assert!(matches!(unsent, Err(WriteError::Unsent(_))), "{unsent:?}");
    }

    #[tokio::test]
    async fn nothing_is_sent_in_two_names() {
        let mut config = kube::Config::new("http://127.0.0.1:9".parse().expect("a URI"));
        assert!(!impersonates(&config));
        config.auth_info.impersonate = Some("ann".to_owned());
        let refused = writer(&config).write(request(Some("shop/labeller"))).await;
        assert!(matches!(refused, Err(WriteError::Unsent(_))), "{refused:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_by_a_host_that_does_not_lead() {
        let leader = Leader::start().await;
        leader.lose().await;
        let begun = AtomicBool::new(false);
        let sent = async {
            begun.store(true, Ordering::Relaxed);
            Ok(())
        };
        assert_eq!(while_leading(&leader.fence(), sent).await, Err(WriteError::NotLeader));
        assert!(!begun.into_inner());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_when_the_lead_is_lost_is_given_up() {
        let leader = Leader::start().await;
        let fence = leader.fence();
        assert_eq!(while_leading(&fence, async { Ok(7) }).await, Ok(7));
        let (given_up, ()) =
            tokio::join!(while_leading(&fence, pending::<Result<(), _>>()), leader.lose());
        let text = "this host lost the lead before an answer came; it may have been done";
        assert_eq!(given_up, Err(WriteError::Transport(text.to_owned())));
        assert!(!fence.leads());
    }
}
