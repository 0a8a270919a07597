//! Sends plugins' requests to the world outside. Whom they may ask was decided before (`host/runtime`); which addresses a name leads to is found out
//! here, and none is connected to that was not looked at. No proxy of the environment is asked, no redirect followed, nothing unpacked.

mod connect;
mod idle;
mod message;
mod resolve;
mod secrets;
mod tls;

use crate::cli::OutboundArgs;
use anyhow::Result;
use bytes::Bytes;
use connect::{Connection, Connector};
use futures::future::BoxFuture;
use http::{Request, Uri};
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

/// The way out, from this runtime, whose threads have sockets.
pub(crate) struct OutboundHttp {
    shared: Arc<Shared>,
    runtime: Handle,
}

struct Shared {
    connector: Connector,
    secrets: Secrets,
    idle: IdleConnections<Connection>,
}

impl OutboundHttp {
    /// To be called within the program's own runtime. The API server is asked for nothing: plugins write to it through `kube`.
    pub(crate) fn new(args: &OutboundArgs, api_server: &Uri) -> Result<Self> {
        let secrets = Secrets::new(args.secrets.clone())?;
        let tls = Tls::new(args.http_ca.as_deref())?;
        let api_servers = connect::api_servers(api_server);
        Ok(Self::with(SystemResolver::default(), tls, secrets, api_servers))
    }

    fn with(
        resolver: impl Resolver,
        tls: Tls,
        secrets: Secrets,
        api_servers: Vec<(String, u16)>,
    ) -> Self {
        let connector = Connector::new(Box::new(resolver), tls, api_servers);
        let shared = Shared { connector, secrets, idle: IdleConnections::default() };
        Self { shared: Arc::new(shared), runtime: Handle::current() }
    }
}

impl HttpClient for OutboundHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        let (shared, runtime) = (self.shared.clone(), self.runtime.clone());
        Box::pin(async move {
            let task = runtime.spawn(async move { shared.send(&request).await });
            // It ends when nobody waits for it any more.
            let ended = AbortOnDropHandle::new(task).await;
            ended.unwrap_or_else(|error| Err(HttpError::Unknown(error.to_string())))
        })
    }
}

impl Shared {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let secrets = self.secrets.read(&request.secrets).await.map_err(HttpError::Unsent)?;
        let mut message = message(request, &secrets)?;
        let key = Key::of(request);
        while let Some(connection) = self.idle.take(&key) {
            match self.exchange(request, connection, message).await {
                Answered::Yes(answer) => return repeats_a_secret(answer?, &secrets),
                // The server has ended it meanwhile.
                Answered::Stale(None) => message = self::message(request, &secrets)?,
                Answered::Stale(Some(unsent)) => message = unsent,
            }
        }
        let connection = self.connector.connect(request).await?;
        match self.exchange(request, connection, message).await {
            Answered::Yes(answer) => repeats_a_secret(answer?, &secrets),
            Answered::Stale(_) => {
                let origin = request.target.origin();
                Err(HttpError::Unknown(format!("{origin} ended the connection without an answer")))
            }
        }
    }

    /// Sends it over this connection, which is kept for the plugin's next request if it can be.
    async fn exchange(
        &self,
        request: &HttpRequest,
        mut connection: Connection,
        message: Message,
    ) -> Answered {
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
                // Some servers end a connection just when it is used again. What may be done twice is done again.
                if error.is_incomplete_message() && is_repeatable(request.method) {
                    return Answered::Stale(None);
                }
                return Answered::Yes(Err(error_text(request, &error)));
            }
        };
        let answer = answer(request, response).await;
        if answer.is_ok() && !connection.sender.is_closed() {
            self.idle.put(Key::of(request), connection);
        }
        Answered::Yes(answer)
    }
}

type Message = Request<Full<Bytes>>;

/// What became of a request on a connection.
enum Answered {
    Yes(Result<HttpResponse, HttpError>),
    /// There was no answer; the request, if nothing of it was sent.
    Stale(Option<Message>),
}

#[cfg(test)]
mod tests;
