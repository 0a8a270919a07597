//! One request with what its redirects ask for: each is held against the rules, waits for its turn and is sent.

use super::headers::is_same_header;
use super::redirect::{REDIRECTS_MAX, redirected};
use super::{AddressKinds, OutboundRequest, Refusal, SecretHeader};
use crate::configuration::PluginSettings;
use crate::http_client::{HttpError, HttpRequest, HttpResponse};
use crate::http_turns::HttpTurns;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What an answer's status line and headers may have together.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Servers want to know whom they talk to; some answer nobody else.
const USER_AGENT: &str = concat!("informant/", env!("CARGO_PKG_VERSION"));

/// Who asks, and by what.
pub(crate) struct Exchange<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) settings: &'a PluginSettings,
    pub(crate) turns: &'a HttpTurns,
    /// Something may have been sent: for whoever gives up waiting.
    pub(crate) sent: &'a AtomicBool,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The text has the line that would grant it, if there is one.
    NotGranted(String),
    NotLeader,
    TooLarge(String),
    /// Nothing was sent.
    Unsent(String),
    Unknown(String),
}

/// What the rules have for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) addresses: AddressKinds,
    pub(crate) secrets: Vec<SecretHeader>,
}

impl Exchange<'_> {
    /// The answer in the end.
    pub(crate) async fn run(&self, mut request: OutboundRequest) -> Result<HttpResponse, Failure> {
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
                Err(problem) => return Err(Failure::Unknown(problem).behind(&origin)),
            }
        }
        let last = request.target.origin();
        let text = format!("it does so more than {REDIRECTS_MAX} times, the last time to {last}");
        Err(Failure::Unknown(text).behind(&origin))
    }

    async fn hop(
        &self,
        request: &OutboundRequest,
        is_at_home: bool,
    ) -> Result<HttpResponse, Failure> {
        let granted = self.granted(request, is_at_home).map_err(Failure::NotGranted)?;
        let limits = &self.settings.limits;
        let turn = self.turns.turn(self.plugin, limits.http_requests_per_second).await;
        let turn = turn.ok_or(Failure::NotLeader)?;
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
                Failure::NotGranted(self.refused(request, &granted.addresses, address))
            }
            HttpError::Refused(text) => Failure::NotGranted(text),
            HttpError::Unsent(text) => Failure::Unsent(text),
            HttpError::TooLarge(text) => Failure::TooLarge(text),
            HttpError::Unknown(text) => Failure::Unknown(text),
        })
    }

    /// What the rules have for it, or what is missing.
    fn granted(&self, request: &OutboundRequest, is_at_home: bool) -> Result<Granted, String> {
        let mut granted = self.settings.http.check_request(self.plugin, request)?;
        if !is_at_home {
            granted.secrets.clear();
        }
        let is_secret =
            |name: &str| granted.secrets.iter().any(|secret| is_same_header(&secret.name, name));
        match request.headers.iter().find(|(name, _)| is_secret(name)) {
            Some((name, _)) => Err(format!(
                "header {name:?} is the host's to add to requests to {}: leave it out",
                request.target.origin()
            )),
            None => Ok(granted),
        }
    }

    /// Why this address is not asked, and what would grant it.
    fn refused(
        &self,
        request: &OutboundRequest,
        granted: &AddressKinds,
        address: IpAddr,
    ) -> String {
        let origin = request.target.origin();
        match granted.check(address) {
            Err(Refusal::Kind(kind)) => {
                let needed = granted.with(kind);
                let advice = self.settings.http.advice(self.plugin, request, &needed);
                let kind = kind.name();
                format!("{origin} is {address}, a {kind} address, which is not granted; {advice}")
            }
            Err(Refusal::Never(what)) => {
                format!("{origin} is {address}, {what}: nothing grants requests to it")
            }
            // Whoever sends knows of more.
            Ok(()) => format!("{origin} is {address}, which nobody may ask"),
        }
    }
}

impl Failure {
    /// The same of a request that the answer of this origin led to: one was sent before.
    fn behind(self, origin: &str) -> Self {
        let text = |text: String| format!("{origin} leads elsewhere: {text}");
        match self {
            Self::NotGranted(problem) => Self::NotGranted(text(problem)),
            Self::TooLarge(problem) => Self::TooLarge(text(problem)),
            Self::Unsent(problem) | Self::Unknown(problem) => Self::Unknown(text(problem)),
            Self::NotLeader => Self::NotLeader,
        }
    }
}

#[cfg(test)]
mod tests;
