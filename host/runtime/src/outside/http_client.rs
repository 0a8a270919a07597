//! Requests to the world outside, as the program makes them that this host is a part of. What may be asked of whom is decided before; which addresses
//! a name leads to is found out there, and held against what comes along.

use crate::outside::outbound::{AddressKinds, SecretHeader, Target};
use bytes::Bytes;
use futures::future::BoxFuture;
use std::net::IpAddr;

/// Sends requests to HTTP servers.
pub trait HttpClient: Send + Sync + 'static {
    /// Sends the request as it is and answers with the whole answer, a redirect's too: none is followed. Only addresses that the request allows are
    /// connected to, and connections are not shared between plugins. Nothing is sent before the future is polled for the first time. Dropping the
    /// future gives the request up, whatever has become of it. It is polled on threads that have timers and no sockets.
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>>;
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Whose it is.
    pub plugin: String,
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`.
    pub method: &'static str,
    /// Where it goes.
    pub target: Target,
    /// Names in small letters and values: nothing that frames the message.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Headers whose values the client finds and nobody else sees.
    pub secrets: Vec<SecretHeader>,
    /// The body.
    pub body: Bytes,
    /// Which addresses it may go to.
    pub addresses: AddressKinds,
    /// A larger status line and headers are an error.
    pub head_bytes_max: usize,
    /// A larger body is an error.
    pub body_bytes_max: usize,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Names in small letters and values, as they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer that could be handed on. No text has anything of a credential, a path or a query in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Nothing was sent: of all addresses that the host has, which may be this one alone, the request allows none.
    #[error("{0} is not allowed")]
    Address(IpAddr),
    /// Nothing was sent: nobody may ask this at all.
    #[error("{0}")]
    Refused(String),
    /// Nothing was sent: another host acts, or may soon.
    #[error("this host leads no more")]
    NotLeader,
    /// Nothing was sent: no address, no connection, no credential.
    #[error("{0}")]
    Unsent(String),
    /// The answer is larger than it may be.
    #[error("{0}")]
    TooLarge(String),
    /// Nobody knows whether it was done.
    #[error("{0}")]
    Unknown(String),
}

/// For a host that has no way out: every request fails.
#[derive(Debug, Clone, Copy)]
pub struct NoHttp;

impl HttpClient for NoHttp {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        let text = "this host makes no requests".to_owned();
        Box::pin(std::future::ready(Err(HttpError::Unsent(text))))
    }
}
