//! A plugin's HTTP requests, through the SDK's own functions.

use informant_plugin::http::{self, Error, Method, Request, Response};
use informant_plugin::prelude::*;
use informant_plugin::testing::{Host, TestRequest, added};
use informant_plugin::{Http, Retry};
use serde_json::{Value, json};
use std::time::Duration;

/// Sends a request for each pod, and logs the answer.
struct Teller;

impl Plugin for Teller {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods");
        let http = Http::to("https://a.org", [Method::Post]).below("/pods");
        Ok(Descriptor::new("1").subscribe(pods).http(http))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let pod = json!({"name": event.key().name});
        let request = Request::post("https://a.org/pods").header("X-Own", "yes").json(&pod)?;
        let answer = request.timeout(Duration::from_secs(2)).send();
        let answer = answer.and_then(http::Response::success).map_err(Error::into_failure)?;
        let seen: Value = answer.json().map_err(Error::into_failure)?;
        info!("{} {seen}", answer.header("X-Seen").unwrap_or("-"));
        Ok(())
    }
}

/// The result of an event for a pod with this answer, and the host.
fn told(answer: std::result::Result<Response, Error>) -> (Host, Result) {
    let host = Host::new();
    host.answer_request(answer);
    let mut plugin = host.start::<Teller>(json!({})).expect("it starts");
    let result = plugin.handle(added(json!({"metadata": {"namespace": "n", "name": "p"}})));
    (host, result)
}

#[test]
fn what_a_plugin_asks_can_be_looked_at_and_answered() {
    let answer = Response::new(201, r#"{"a":1}"#).with_header("X-Seen", "it is");
    let (host, result) = told(Ok(answer));
    assert_eq!((result, host.messages()), (Ok(()), vec![r#"it is {"a":1}"#.to_owned()]));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expect = TestRequest {
        method: "POST".to_owned(),
        url: "https://a.org/pods".to_owned(),
        headers: vec![header("X-Own", "yes"), header("content-type", "application/json")],
        body: br#"{"name":"p"}"#.to_vec(),
        timeout: Some(Duration::from_secs(2)),
    };
    assert_eq!(host.requests(), [expect]);
}

#[track_caller]
fn check_failure(answer: std::result::Result<Response, Error>, message: &str, retry: Retry) {
    let failure = told(answer).1.expect_err("it is none that is wanted");
    assert_eq!((failure.message(), failure.retry()), (message, retry));
}

#[test]
fn a_failure_says_when_to_try_again() {
    let busy = Response::new(503, "").with_header("Retry-After", "7");
    let later = Retry::After(Duration::from_secs(7));
    check_failure(Ok(busy), "answered with status 503", later);
    check_failure(Ok(Response::new(404, "")), "answered with status 404", Retry::Backoff);
    let invalid = Error::Invalid("no URL".to_owned());
    check_failure(Err(invalid), "nothing that could be sent: no URL", Retry::Never);
    let time = Error::TimedOut("no answer in time".to_owned());
    check_failure(Err(time), "no answer in time", Retry::Backoff);
    let not_granted = Error::NotGranted("to POST".to_owned());
    check_failure(Err(not_granted), "not granted: to POST", Retry::Backoff);
    let transport = Error::Transport("it broke off".to_owned());
    check_failure(Err(transport), "no answer: it broke off", Retry::Backoff);
    let text = told(Ok(Response::new(200, "hello"))).1.expect_err("it is no JSON");
    assert_eq!(text.retry(), Retry::Never);
}
