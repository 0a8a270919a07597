//! `http`: HTTP requests. Each is checked against the grants first. Then the guest waits for the
//! answer, and its thread's other plugins go on.

use crate::guest::bindings::informant::plugin::http::{Error, Host, Request, Response};
use crate::guest::call_trace::RequestEnd;
use crate::guest::guest_state::GuestState;
use crate::log_budget::HostLine;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::http_client::HttpResponse;
use crate::outside::outbound::{Method, OutboundRequest, PluginRequest, timeout};
use crate::powers::PluginPowers;
use crate::powers::exchange::{Exchange, ExchangeFailure};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The beginning of the answer for a request that was not sent.
const UNSENT: &str = "nothing was sent: ";

type HttpFunctionAnswer<T> = Result<T, Error>;

impl Host for GuestState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<HttpFunctionAnswer<Response>> {
        let answer = self.ask(request).await;
        // An outside answer, or its absence, is the plugin's own matter and no hindrance.
        self.notes.is_hindered |= matches!(answer, Err(Error::NotGranted(_) | Error::NotLeader));
        Ok(answer)
    }
}

impl GuestState {
    async fn ask(&mut self, request: Request) -> HttpFunctionAnswer<Response> {
        let powers = self.powers_at_work().ok_or_else(|| {
            let phase = self.phase.name();
            let text =
                format!("nothing is asked in {phase}, where another version may be in charge");
            Error::NotGranted(text)
        })?;
        let Request { method, url, headers, body, timeout_ms } = request;
        let known = method.parse::<Method>().map_or("other", Method::name);
        let asked = PluginRequest { method, url, headers, body };
        let request = OutboundRequest::new(asked, self.limits().http_request_bytes_max);
        let answer = match request {
            Err(problem) => Err(Error::Invalid(short(&problem))),
            Ok(request) if powers.is_dry_run() && !request.method.is_safe() => {
                Err(Error::NotGranted(self.only_tried(&request)))
            }
            Ok(request) => self.exchange(&powers, request, timeout(timeout_ms)).await,
        };
        powers.counters.http_request(known, result(&answer));
        answer
    }

    fn only_tried(&self, request: &OutboundRequest) -> String {
        let (method, origin) = (request.method.name(), request.target.origin());
        let text = format!("dry run: {method} {origin} is not sent");
        self.log_budget.tell(self.plugin.as_str(), HostLine::info(&text), self.surroundings.now());
        text + ", as dryRun in the configuration says"
    }

    /// Waits for the answer, within the time limits of the request and of the call.
    async fn exchange(
        &mut self,
        powers: &PluginPowers,
        request: OutboundRequest,
        timeout: Option<Duration>,
    ) -> HttpFunctionAnswer<Response> {
        let bytes = request.body.len() + self.limits().http_response_bytes_max;
        let _held = self.hold_request(bytes).map_err(|refused| unsent(&refused))?;
        let traced = self.begin_request(&request);
        let (sent, began) = (AtomicBool::new(false), Instant::now());
        let exchange = Exchange {
            plugin: self.plugin.as_str(),
            settings: &powers.settings,
            restriction: &powers.restriction,
            turns: &powers.powers.http,
            traceparent: traced.as_ref().and_then(|traced| traced.traceparent.as_deref()),
            sent: &sent,
        };
        let asked = async {
            match timeout {
                Some(limit) => tokio::time::timeout(limit, exchange.run(request)).await.ok(),
                None => Some(exchange.run(request).await),
            }
        };
        let answer = self.clock.clone().wait(asked).await;
        powers.counters.http_request_seconds.observe(began.elapsed());
        let (sent, wait_time) = (sent.load(Relaxed), self.limits().wait_time);
        let answer = match answer {
            Some(Some(answer)) => answer.map(response).map_err(error),
            Some(None) => {
                Err(Error::TimedOut(gave_up(sent, "the request's own time (timeout-ms)")))
            }
            None => {
                let waits = wait_time.as_millis();
                let why = format!(
                    "a call waits {waits} ms at most for all its requests (limits.waitTime), and that"
                );
                Err(Error::TimedOut(gave_up(sent, &why)))
            }
        };
        if let Some(traced) = traced {
            self.end_request(traced, &request_end(&answer));
        }
        answer
    }
}

/// The end of a request, for its span.
fn request_end(answer: &HttpFunctionAnswer<Response>) -> RequestEnd {
    match answer {
        Ok(response) => RequestEnd { status: Some(response.status), error: None },
        Err(_) => RequestEnd { status: None, error: Some(result(answer)) },
    }
}

fn gave_up(sent: bool, why: &str) -> String {
    match sent {
        true => format!("no answer in time: {why} was over; it may have been done"),
        false => format!("nothing was sent: {why} was over before its turn came"),
    }
}

/// For one line of `/plugins` and of the log.
fn short(problem: &str) -> String {
    one_line(problem, ERROR_BYTES_MAX).into_owned()
}

fn response(response: HttpResponse) -> Response {
    let HttpResponse { status, headers, body } = response;
    let headers = headers.into_iter().map(|(name, value)| (name, text(value))).collect();
    Response { status, headers, body }
}

/// As UTF-8, else as ISO 8859-1, the encoding of older HTTP.
fn text(value: Vec<u8>) -> String {
    let latin = |value: &[u8]| value.iter().map(|byte| char::from(*byte)).collect();
    String::from_utf8(value).unwrap_or_else(|error| latin(error.as_bytes()))
}

fn unsent(problem: &str) -> Error {
    Error::Transport(short(&format!("{UNSENT}{problem}")))
}

fn error(failure: ExchangeFailure) -> Error {
    match failure {
        ExchangeFailure::NotGranted(text) => Error::NotGranted(short(&text)),
        ExchangeFailure::NotLeader => Error::NotLeader,
        ExchangeFailure::TooLarge(text) => Error::TooLarge(short(&text)),
        ExchangeFailure::Unsent(text) => unsent(&text),
        ExchangeFailure::Unknown(text) => Error::Transport(short(&text)),
    }
}

/// The result of a request, for the counters.
fn result(answer: &HttpFunctionAnswer<Response>) -> &'static str {
    match answer {
        Ok(Response { status: 300..=399, .. }) => "redirect",
        Ok(Response { status: 400..=499, .. }) => "client-error",
        Ok(Response { status: 500.., .. }) => "server-error",
        Ok(_) => "ok",
        Err(Error::NotGranted(_)) => "not-granted",
        Err(Error::NotLeader) => "not-leader",
        Err(Error::Invalid(_)) => "invalid",
        Err(Error::TimedOut(_)) => "timed-out",
        Err(Error::TooLarge(_)) => "too-large",
        Err(Error::Transport(text)) if text.starts_with(UNSENT) => "unsent",
        Err(Error::Transport(_)) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_utf_8_is_read_byte_by_byte() {
        assert_eq!(text("Söhne".into()), "Söhne");
        assert_eq!(text(b"S\xf6hne".to_vec()), "Söhne");
    }
}
