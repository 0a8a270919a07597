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

/// What an answer's status line and headers may have together.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Servers want to know whom they talk to; some answer nobody else.
const USER_AGENT: &str = concat!("informant/", env!("CARGO_PKG_VERSION"));

/// Fields that ask for a part of an answer: what is in the other parts nobody sees, and in each may be a part of a secret.
const OF_PARTS: [&str; 2] = ["range", "if-range"];

/// Who asks, and by what.
pub(crate) struct Exchange<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) settings: &'a PluginSettings,
    /// What has to grant it beside them.
    pub(crate) restriction: &'a Restriction,
    pub(crate) turns: &'a HttpTurns,
    /// Something may have been sent: for whoever gives up waiting.
    pub(crate) sent: &'a AtomicBool,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExchangeFailure {
    /// The text has the line that would grant it, if there is one.
    NotGranted(String),
    NotLeader,
    TooLarge(String),
    /// Nothing was sent.
    Unsent(String),
    Unknown(String),
}

impl Exchange<'_> {
    /// The answer in the end.
    pub(crate) async fn run(
        &self,
        mut request: OutboundRequest,
    ) -> Result<HttpResponse, ExchangeFailure> {
        let origin = request.target.origin().to_owned();
        // A credential was meant for where the plugin wanted to go, not for where somebody there sends it.
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
        // It may have been taken away while it waited.
        let granted = granted()?;
        let mut headers = request.headers.clone();
        if !headers.iter().any(|(name, _)| name == "user-agent") {
            headers.push(("user-agent".to_owned(), USER_AGENT.into()));
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

    /// What the rules have for it, or what is missing.
    fn granted(
        &self,
        request: &OutboundRequest,
        is_at_home: bool,
    ) -> Result<GrantedRequest, String> {
        let mut granted = self.settings.http.check_request(self.plugin, request)?;
        // Invariant 40.
        if let Some(later) = self.restriction.settings() {
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

    /// Why this address is not asked, and what would grant it. What a name leads to is for whoever runs the host to know.
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
    /// The same of a request that the answer of this origin led to: one was sent before, and answered.
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
