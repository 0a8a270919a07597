//! Outside HTTP requests, which the surrounding program sends. Grants are checked before. The program resolves names,
//! and compares the addresses with the request's allowed kinds.

use crate::outside::outbound::{AddressKinds, SecretHeader, Target};
use bytes::Bytes;
use futures::future::BoxFuture;
use std::net::IpAddr;

/// Sends requests to HTTP servers.
pub trait HttpClient: Send + Sync + 'static {
    /// Sends the request unchanged and returns the whole answer; redirects are not followed. Connects only to
    /// addresses that the request allows, and shares no connection between plugins. Sends nothing before the first
    /// poll. Dropping the future cancels the request, whatever its state. The future is polled on threads with timers
    /// and without sockets.
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>>;
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The plugin of the request.
    pub plugin: String,
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`.
    pub method: &'static str,
    /// The URL.
    pub target: Target,
    /// Lower-case names and values, without fields that frame the message.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Headers whose values only the client finds and sees.
    pub secrets: Vec<SecretHeader>,
    /// The body.
    pub body: Bytes,
    /// The kinds of addresses that the request allows.
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
    /// Lower-case names and values, as received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The reason for which there is no answer for the plugin. No text contains a part of a credential, a path or a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Nothing was sent: the request allows none of the host's addresses. This may be the only one.
    #[error("{0} is not allowed")]
    Address(IpAddr),
    /// Nothing was sent: no plugin may send this request.
    #[error("{0}")]
    Refused(String),
    /// Nothing was sent: another host leads, or may soon.
    #[error("this host leads no more")]
    NotLeader,
    /// Nothing was sent: no address, no connection, no credential.
    #[error("{0}")]
    Unsent(String),
    /// The answer exceeds a bound.
    #[error("{0}")]
    TooLarge(String),
    /// It is unknown whether the request was handled.
    #[error("{0}")]
    Unknown(String),
}

/// For a host without outside access: every request fails.
#[derive(Debug, Clone, Copy)]
pub struct NoHttp;

impl HttpClient for NoHttp {
    fn send(&self, _: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        let text = "this host makes no requests".to_owned();
        Box::pin(std::future::ready(Err(HttpError::Unsent(text))))
    }
}
