//! One HTTP request and its redirects: each is checked against the grants, waits for its turn and
//! is sent.

use crate::contract::configuration::PluginSettings;
use crate::outside::http_client::{HttpError, HttpRequest, HttpResponse};
use crate::outside::outbound::{
    AddressKinds, AddressRefusal, GrantedRequest, OutboundRequest, REDIRECTS_MAX, is_same_header,
    redirected,
};
use crate::outside::turns::HttpTurns;
use crate::powers::restriction::Restriction;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tracing::debug;

/// The most bytes of an answer's status line and headers together.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// The user agent: some servers answer no request without one.
const USER_AGENT: &str = concat!("informant/", env!("CARGO_PKG_VERSION"));

/// Fields that request a part of an answer. Each part may contain a part of a secret, which the check of whole answers
/// would miss.
const OF_PARTS: [&str; 2] = ["range", "if-range"];

/// The plugin and its powers for a request.
pub(crate) struct Exchange<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) settings: &'a PluginSettings,
    /// Must grant the request too.
    pub(crate) restriction: &'a Restriction,
    pub(crate) turns: &'a HttpTurns,
    /// A header for the request and its redirects, which join the host's trace.
    pub(crate) traceparent: Option<&'a str>,
    /// Set before a request is sent, for a caller that stops waiting.
    pub(crate) sent: &'a AtomicBool,
}

/// The reason for which there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExchangeFailure {
    /// The text has the line that would grant the request, if there is one.
    NotGranted(String),
    NotLeader,
    TooLarge(String),
    /// Nothing was sent.
    Unsent(String),
    Unknown(String),
}

impl Exchange<'_> {
    /// Sends the request and follows redirects. Returns the last answer.
    pub(crate) async fn run(
        &self,
        mut request: OutboundRequest,
    ) -> Result<HttpResponse, ExchangeFailure> {
        let origin = request.target.origin().to_owned();
        // A credential is meant for the plugin's own target, not for a redirect's.
        let mut is_at_home = true;
        for redirects in 0..=REDIRECTS_MAX {
            is_at_home &= request.target.origin() == origin;
            let hop = self.hop(&request, is_at_home).await;
            let response = hop.map_err(|failure| match redirects {
                0 => failure,
                _ => failure.behind(&origin),
            })?;
            match redirected(&request, response.status, &response.headers) {
                Ok(None) => return Ok(response),
                Ok(Some(next)) => request = next,
                Err(problem) => return Err(ExchangeFailure::Unknown(problem).behind(&origin)),
            }
        }
        let last = request.target.origin();
        let text = format!("it does so more than {REDIRECTS_MAX} times, the last time to {last}");
        Err(ExchangeFailure::Unknown(text).behind(&origin))
    }

    async fn hop(
        &self,
        request: &OutboundRequest,
        is_at_home: bool,
    ) -> Result<HttpResponse, ExchangeFailure> {
        // Invariant 38.
        let granted = || self.granted(request, is_at_home).map_err(ExchangeFailure::NotGranted);
        granted()?;
        let limits = &self.settings.limits;
        let turn = self.turns.turn(self.plugin, limits.http_requests_per_second).await;
        let turn = turn.ok_or(ExchangeFailure::NotLeader)?;
        // The grant may have been taken away during the wait.
        let granted = granted()?;
        let mut headers = request.headers.clone();
        if !headers.iter().any(|(name, _)| name == "user-agent") {
            headers.push(("user-agent".to_owned(), USER_AGENT.into()));
        }
        if let Some(value) = self.traceparent {
            // The state of another trace does not go along.
            headers.retain(|(name, _)| name != "tracestate");
            headers.push(("traceparent".to_owned(), value.into()));
        }
        self.sent.store(true, Relaxed);
        let sent = turn.send(HttpRequest {
            plugin: self.plugin.to_owned(),
            method: request.method.name(),
            target: request.target.clone(),
            headers,
            secrets: granted.secrets,
            body: request.body.clone(),
            addresses: granted.addresses.clone(),
            head_bytes_max: HEAD_BYTES_MAX,
            body_bytes_max: limits.http_response_bytes_max,
        });
        sent.await.map_err(|error| match error {
            HttpError::Address(address) => {
                ExchangeFailure::NotGranted(self.refused(request, &granted.addresses, address))
            }
            HttpError::Refused(text) => ExchangeFailure::NotGranted(text),
            HttpError::NotLeader => ExchangeFailure::NotLeader,
            HttpError::Unsent(text) => ExchangeFailure::Unsent(text),
            HttpError::TooLarge(text) => ExchangeFailure::TooLarge(text),
            HttpError::Unknown(text) => ExchangeFailure::Unknown(text),
        })
    }

    /// The headers and addresses that the rules grant; or the missing grant.
    fn granted(
        &self,
        request: &OutboundRequest,
        is_at_home: bool,
    ) -> Result<GrantedRequest, String> {
        let mut granted = self.settings.http.check_request(self.plugin, request)?;
        // Invariant 40.
        if let Some(later) = self.restriction.settings() {
            self.restriction.check_file(self.settings)?;
            granted = granted.and(&later.http.check_request(self.plugin, request)?);
        }
        // Invariant 39.
        if !is_at_home {
            granted.secrets.clear();
        }
        let origin = request.target.origin();
        let is_secret =
            |name: &str| granted.secrets.iter().any(|secret| is_same_header(&secret.name, name));
        let is_of_parts = |name: &str| {
            !granted.secrets.is_empty() && OF_PARTS.iter().any(|part| is_same_header(part, name))
        };
        let mut names = request.headers.iter().map(|(name, _)| name.as_str());
        match names.find(|name| is_secret(name) || is_of_parts(name)) {
            Some(name) if is_of_parts(name) => Err(format!(
                "header {name:?} does not go along with the secret that the host adds to requests to {origin}: leave it out"
            )),
            Some(name) => Err(format!(
                "header {name:?} is the host's to add to requests to {origin}: leave it out"
            )),
            None => Ok(granted),
        }
    }

    /// The error for a refused address, with the line that would grant it. The resolved address itself is shown only
    /// to the host's user.
    fn refused(
        &self,
        request: &OutboundRequest,
        granted: &AddressKinds,
        address: IpAddr,
    ) -> String {
        let (plugin, origin) = (self.plugin, request.target.origin());
        debug!(plugin, "{origin} is {address}, which is not asked");
        match granted.check(address) {
            Err(AddressRefusal::Kind(kind)) => {
                let needed = granted.with(kind);
                let advice = self.settings.http.advice(self.plugin, request, &needed);
                let kind = kind.name();
                format!("{origin} has a {kind} address, which is not granted; {advice}")
            }
            Err(AddressRefusal::Never(what)) => {
                format!("{origin} has {what}: nothing grants requests to it")
            }
            // The sender refuses more addresses, such as those of the API server.
            Ok(()) => format!("{origin} has an address that no grant allows"),
        }
    }
}

impl ExchangeFailure {
    /// The same error for a redirect from this origin: an earlier request was sent, and answered.
    fn behind(self, origin: &str) -> Self {
        let text = |text: &str| format!("{origin} was asked and leads elsewhere: {text}");
        match self {
            Self::NotGranted(problem) => Self::NotGranted(text(&problem)),
            Self::TooLarge(problem) => Self::TooLarge(text(&problem)),
            Self::Unsent(problem) | Self::Unknown(problem) => Self::Unknown(text(&problem)),
            Self::NotLeader => {
                Self::Unknown(text("this host leads no more, and nothing was sent there"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
