//! A plugin's writes, through the SDK's own functions.

use informant_plugin::kube::{self, Error, Gravity, Patch, Status};
use informant_plugin::prelude::*;
use informant_plugin::testing::{Host, TestWrite, added};
use informant_plugin::{Retry, Verb, Write};
use serde_json::{Value, json};
use std::time::Duration;

/// Does with pods what their names say.
struct Writer;

impl Plugin for Writer {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods");
        Ok(Descriptor::new("1").subscribe(pods).write(Write::of("v1/pods", [Verb::Patch])))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let key = event.key();
        let change = json!({"metadata": {"labels": {"seen": "yes"}}});
        let written = match key.name.as_str() {
            "create" => kube::create("v1/configmaps", key, &change),
            "update" => kube::update("apps/v1/deployments/scale", key, &change),
            "merge" => kube::patch("v1/pods", key, &Patch::merge(change)),
            "apply" => kube::patch("v1/pods/status", key, &Patch::apply(change, true)),
            "delete" => {
                return kube::delete_only("v1/pods", key, "u").map_err(Error::into_failure);
            }
            _ => {
                kube::record_event("v1/pods", key, Gravity::Warning, "Seen", "it is there")?;
                return Ok(());
            }
        };
        let object: Value = written.map_err(Error::into_failure)?.object()?;
        info!("{}", object["metadata"]["labels"]["seen"]);
        Ok(())
    }
}

/// The result of an event for a pod with this name, and the host.
fn told(pod: &str, answer: Option<std::result::Result<Value, Error>>) -> (Host, Result) {
    let host = Host::new();
    answer.into_iter().for_each(|answer| host.answer_write(answer));
    let mut plugin = host.start::<Writer>(json!({})).expect("it starts");
    let pod = json!({"metadata": {"namespace": "n", "name": pod}});
    let result = plugin.handle(added(pod));
    (host, result)
}

/// Checks the write for a pod with this name.
#[track_caller]
fn check(pod: &str, verb: &'static str, resource: &str, body: Value) {
    let (host, result) = told(pod, None);
    assert_eq!(result, Ok(()));
    let (resource, key) = (resource.to_owned(), ObjectKey::new("n", pod));
    assert_eq!(host.writes(), [TestWrite { verb, resource, key, body }]);
}

#[test]
fn what_a_plugin_writes_can_be_looked_at() {
    let change = json!({"metadata": {"labels": {"seen": "yes"}}});
    check("create", "create", "v1/configmaps", change.clone());
    check("update", "update", "apps/v1/deployments/scale", change.clone());
    check("merge", "merge", "v1/pods", change.clone());
    check("apply", "apply", "v1/pods/status", change);
    check("delete", "delete", "v1/pods", json!("u"));
    let event = json!({"type": "Warning", "reason": "Seen", "message": "it is there"});
    check("event", "event", "v1/pods", event);
}

#[test]
fn a_write_is_answered_as_the_test_says() {
    let seen = json!({"metadata": {"labels": {"seen": "no"}}});
    let (host, result) = told("merge", Some(Ok(seen)));
    assert_eq!((result, host.messages()), (Ok(()), vec!["\"no\"".to_owned()]));
}

#[track_caller]
fn check_failure(error: Error, message: &str, retry: Retry) {
    let failure = told("merge", Some(Err(error))).1.expect_err("it is refused");
    assert_eq!((failure.message(), failure.retry()), (message, retry));
}

#[test]
fn a_refusal_says_when_to_try_again() {
    let status = |retry_after: Option<Duration>| {
        let (reason, message) = ("Conflict".to_owned(), "it has changed".to_owned());
        Error::Status(Status { code: 409, reason, message, retry_after })
    };
    assert!(status(None).is_conflict() && !status(None).is_not_found());
    let text = "refused with 409 Conflict: it has changed";
    check_failure(status(None), text, Retry::Backoff);
    let second = Duration::from_secs(1);
    check_failure(status(Some(second)), text, Retry::After(second));
    let invalid = Error::Invalid("a name".to_owned());
    check_failure(invalid, "nothing that could be sent: a name", Retry::Never);
    let not_granted = Error::NotGranted("to patch".to_owned());
    check_failure(not_granted, "not granted: to patch", Retry::Backoff);
}
