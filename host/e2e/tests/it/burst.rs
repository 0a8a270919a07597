//! Many requests of one kind at once. They are sent again if the server is down or too busy.

use std::time::Duration;

use futures::StreamExt;
use http::Method;
use informant_e2e::api::Api;
use informant_e2e::poll;

/// The number of simultaneous requests: enough for a burst, and within the server's own limits.
const IN_FLIGHT: usize = 16;

/// The time for one request, on a busy machine and across a restart of the server.
const DEADLINE: Duration = Duration::from_secs(90);

pub const JSON: &str = "application/json";
pub const MERGE: &str = "application/merge-patch+json";

/// The kind of the requests.
pub struct Burst<'a> {
    pub api: &'a Api,
    pub method: Method,
    pub content_type: &'static str,
    /// The answers that mean success. A request that fails because the server is down is sent again, although the
    /// server may have carried it out.
    pub done: &'a [u16],
}

impl Burst<'_> {
    /// Sends one request for each name; `request` returns its path and body.
    pub async fn send(&self, names: &[String], request: impl Fn(&str) -> (String, String)) {
        let send = async |name: &String| {
            let headers = [(http::header::CONTENT_TYPE, self.content_type)];
            let (path, body) = request(name);
            let what = format!("{} {path}", self.method);
            let sent = poll::until(&what, DEADLINE, async || {
                let body = body.clone().into_bytes();
                let sent = self.api.send(self.method.clone(), &path, &headers, body);
                let status = sent.await.ok()?.status.as_u16();
                // A server that has just started may still be too busy.
                (!matches!(status, 429 | 500..)).then_some(status)
            });
            let status = sent.await.unwrap();
            assert!(self.done.contains(&status), "{what}: {status}");
        };
        let sent = futures::stream::iter(names).map(send).buffer_unordered(IN_FLIGHT);
        sent.collect::<Vec<()>>().await;
    }
}
