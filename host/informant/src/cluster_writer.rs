//! Sends plugins' writes to the API server. What may be sent was decided before (`host/runtime`).

use crate::cluster::Cluster;
use crate::election::Candidate;
use crate::fence::{Fence, LeadLost};
use crate::fenced_client::{fenced, leads_no_more};
use anyhow::Result;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use informant_apimachinery::Status;
use informant_runtime::{ClusterWriter, WriteError, WriteRequest};
use kube::client::Body;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

/// A `Status` is a few hundred bytes; a proxy's error page is cut here.
const ERROR_BODY_BYTES_MAX: usize = 64 << 10;

/// An API server, reached through kube's client from this runtime, whose threads have sockets.
pub(crate) struct ApiServerWriter {
    client: kube::Client,
    fence: Fence,
    runtime: Handle,
}

impl ApiServerWriter {
    /// To be called within the program's own runtime.
    pub(crate) fn new(cluster: &Cluster, candidate: Option<&Candidate>) -> Result<Self> {
        let client = match candidate {
            Some(it) => fenced(&cluster.config, it.leadership.clone(), it.margin)?,
            None => None,
        };
        let client = client.unwrap_or_else(|| cluster.client.clone());
        Ok(Self { client, fence: Fence::of(candidate), runtime: Handle::current() })
    }
}

impl ClusterWriter for ApiServerWriter {
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let (client, runtime) = (self.client.clone(), self.runtime.clone());
        let fence = self.fence.clone();
        Box::pin(async move {
            let task =
                runtime.spawn(async move { while_leading(&fence, send(&client, request)).await });
            // It ends when nobody waits for it any more.
            AbortOnDropHandle::new(task).await.unwrap_or_else(|error| Err(transport(&error)))
        })
    }
}

/// A request may wait for a connection, or for this task's turn, while the lead goes to another: then it is not sent any more. Of one that was sent the
/// connection is closed, so that an API server that has not begun with it does not.
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
    let WriteRequest { method, uri, content_type, body, answer_bytes_max } = request;
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header(CONTENT_TYPE, content_type)
        .header(ACCEPT, "application/json")
        .body(Body::from(body))
        .map_err(|error| transport(&error))?;
    let response = client.send(request).await.map_err(|error| match leads_no_more(&error) {
        true => WriteError::NotLeader,
        false => transport(&error),
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

/// With its causes: the outermost alone often says only that something failed.
fn transport(error: &(dyn std::error::Error + 'static)) -> WriteError {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut text = String::new();
    for cause in causes.map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = if text.is_empty() { cause } else { format!("{text}: {cause}") };
        }
    }
    WriteError::Transport(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::tests::Leader;
    use std::future::pending;
    use std::sync::atomic::{AtomicBool, Ordering};

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
