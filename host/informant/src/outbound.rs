//! Sends plugins' HTTP requests. `host/runtime` has decided before which servers a plugin may ask. This module
//! resolves names to addresses, and connects only to addresses that it has checked. It uses no proxy of the
//! environment, follows no redirect, and unpacks nothing. A host that takes part in an election sends only while it
//! leads (`fence.rs`).

mod api_servers;
mod connect;
mod idle;
pub(crate) mod interim;
mod message;
mod resolve;
mod secrets;
pub(crate) mod tls;

use crate::cli::OutboundArgs;
use crate::cluster::Cluster;
use crate::fence::{Fence, LeadLost, Sent};
use anyhow::Result;
use api_servers::{ApiServers, ClusterEndpoints};
use bytes::Bytes;
use connect::{Connection, Connector};
use futures::future::BoxFuture;
use http::Request;
use http_body_util::Full;
use idle::{IdleConnections, Key};
use informant_runtime::{HttpClient, HttpError, HttpRequest, HttpResponse};
use message::{answer, error_text, is_repeatable, message, repeats_a_secret};
use resolve::{Resolver, SystemResolver};
use secrets::Secrets;
use std::sync::Arc;
use tls::Tls;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

/// The client for plugins' requests. It uses the async runtime of the program, whose threads have sockets.
pub(crate) struct OutboundHttp {
    shared: Arc<OutboundState>,
    fence: Fence,
    runtime: Handle,
}

struct OutboundState {
    connector: Connector,
    secrets: Secrets,
    idle: IdleConnections<Connection>,
}

impl OutboundHttp {
    /// Call it within the program's own async runtime. The client refuses requests to the cluster's API server:
    /// plugins write to it through `kube`.
    pub(crate) fn new(args: &OutboundArgs, cluster: &Cluster) -> Result<Self> {
        let secrets = Secrets::new(args.secrets.clone())?;
        let tls = Tls::new("--http-ca", args.http_ca.as_deref())?;
        let endpoints = ClusterEndpoints(cluster.client.clone());
        let api_servers = ApiServers::new(&cluster.api_server, Some(Box::new(endpoints)));
        Ok(Self::with(SystemResolver::default(), tls, secrets, api_servers))
    }

    fn with(resolver: impl Resolver, tls: Tls, secrets: Secrets, api_servers: ApiServers) -> Self {
        let connector = Connector::new(Box::new(resolver), tls, api_servers);
        let shared = OutboundState { connector, secrets, idle: IdleConnections::default() };
        Self { shared: Arc::new(shared), fence: Fence::default(), runtime: Handle::current() }
    }

    /// The same client, which sends only within this fence.
    pub(crate) fn within(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }
}

impl HttpClient for OutboundHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        let (shared, runtime, fence) =
            (self.shared.clone(), self.runtime.clone(), self.fence.clone());
        Box::pin(async move {
            let task = runtime.spawn(async move { shared.send_led(&request, &fence).await });
            // The task ends when its result is no longer awaited.
            let ended = AbortOnDropHandle::new(task).await;
            ended.unwrap_or_else(|error| Err(HttpError::Unknown(error.to_string())))
        })
    }
}

impl OutboundState {
    /// Sends the request while this host leads. If the lead is lost, the error says whether any bytes were sent.
    async fn send_led(
        &self,
        request: &HttpRequest,
        fence: &Fence,
    ) -> Result<HttpResponse, HttpError> {
        let sent = Sent::default();
        match fence.while_leading(self.send(request, fence, &sent)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if fence.leads() => Err(error),
            Ok(Err(_)) | Err(LeadLost) if sent.is_any() => {
                let origin = request.target.origin();
                Err(HttpError::Unknown(format!(
                    "this host lost the lead before an answer of {origin} came; it may have been done"
                )))
            }
            Ok(Err(_)) | Err(LeadLost) => Err(HttpError::NotLeader),
        }
    }

    async fn send(
        &self,
        request: &HttpRequest,
        fence: &Fence,
        sent: &Sent,
    ) -> Result<HttpResponse, HttpError> {
        let secrets = self.secrets.read(&request.secrets).await.map_err(HttpError::Unsent)?;
        let mut message = message(request, &secrets)?;
        let key = Key::of(request, &secrets);
        while let Some(connection) = self.idle.take(&key) {
            if !fence.leads() {
                return Err(HttpError::NotLeader);
            }
            match self.exchange(request, &key, (connection, sent), message).await {
                Answered::Yes(answer) => return repeats_a_secret(answer?, &secrets),
                // The server has ended the connection meanwhile.
                Answered::Stale(None) => message = self::message(request, &secrets)?,
                Answered::Stale(Some(unsent)) => message = unsent,
            }
        }
        let connection = self.connector.connect(request, fence).await;
        let connection = connection.map_err(|error| match error {
            // The server may have carried the request out, over the connection that it then ended.
            HttpError::Unsent(text) if sent.is_any() => HttpError::Unknown(text),
            error => error,
        })?;
        match self.exchange(request, &key, (connection, sent), message).await {
            Answered::Yes(answer) => repeats_a_secret(answer?, &secrets),
            Answered::Stale(_) => {
                let origin = request.target.origin();
                Err(HttpError::Unknown(format!("{origin} ended the connection without an answer")))
            }
        }
    }

    /// Sends the request over this connection. The connection is kept for the plugin's next request if possible.
    async fn exchange(
        &self,
        request: &HttpRequest,
        key: &Key,
        (mut connection, sent): (Connection, &Sent),
        mut message: Message,
    ) -> Answered {
        connection.meter.count_for(sent);
        connection.interim.count_for(&mut message);
        if connection.sender.ready().await.is_err() {
            return Answered::Stale(Some(message));
        }
        let response = match connection.sender.try_send_request(message).await {
            Ok(response) => response,
            Err(mut error) => {
                if let Some(unsent) = error.take_message() {
                    return Answered::Stale(Some(unsent));
                }
                let error = error.into_error();
                // Some servers end a connection just when it is used again. A request that may be repeated is sent
                // again.
                if error.is_incomplete_message() && is_repeatable(request.method) {
                    return Answered::Stale(None);
                }
                return Answered::Yes(Err(error_text(request, &error)));
            }
        };
        let answer = answer(request, response).await;
        if answer.is_ok() && !connection.sender.is_closed() {
            let made = connection.made;
            self.idle.put(key.clone(), connection, made);
        }
        Answered::Yes(answer)
    }
}

type Message = Request<Full<Bytes>>;

/// The result of a request on a connection.
enum Answered {
    Yes(Result<HttpResponse, HttpError>),
    /// There was no answer. The value is the request, if none of its bytes were sent.
    Stale(Option<Message>),
}

#[cfg(test)]
mod tests;
