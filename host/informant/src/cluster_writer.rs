//! Sends plugins' writes to the API server. What may be sent was decided before (`host/runtime`).

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
    runtime: Handle,
}

impl ApiServerWriter {
    /// To be called within the program's own runtime.
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client, runtime: Handle::current() }
    }
}

impl ClusterWriter for ApiServerWriter {
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let (client, runtime) = (self.client.clone(), self.runtime.clone());
        Box::pin(async move {
            let task = runtime.spawn(async move { send(&client, request).await });
            // It ends when nobody waits for it any more.
            AbortOnDropHandle::new(task).await.unwrap_or_else(|error| Err(transport(&error)))
        })
    }
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
    let response = client.send(request).await.map_err(|error| transport(&error))?;
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
