//! `kube`: writes to the cluster, each checked against the grants. While a guest waits, its thread's other plugins go on.

mod not_written;
mod noted;
mod replaced;
mod sending;

use super::Json;
use crate::counters::OTHER_RESOURCES;
use crate::event::NAME_BYTES_MAX;
use crate::guest::bindings::informant::plugin::kube::{Error, Host, PatchType, StatusError};
use crate::guest::bindings::informant::plugin::types::ObjectKeyResult as GuestKey;
use crate::guest::call_trace::TracedWrite;
use crate::guest::guest_state::{GuestState, Phase};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::cluster_writer::WriteError;
use crate::outside::event_recorder::{Occurrence, Regarding};
use crate::outside::write::{How, NamedObject, Write, too_many};
use crate::powers::PluginPowers;
use informant_cache::{Object, ObjectKey};
use not_written::{NotWritten, end_word};
use sending::{Sending, send};
use serde::Deserialize;
use std::time::Duration;

/// The most bytes in an Event's fields.
pub(crate) const REASON_BYTES_MAX: usize = 128;
pub(crate) const NOTE_BYTES_MAX: usize = 1_024;

type WriteAnswer<T> = KubeFunctionResult<T, Error>;
type KubeFunctionResult<T, E = wasmtime::Error> = std::result::Result<T, E>;

impl Host for GuestState {
    async fn create(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        object: Json,
    ) -> KubeFunctionResult<WriteAnswer<Json>> {
        Ok(self.write_to_cluster(&named(&gvr, &key, &subresource), How::Create, object).await)
    }

    async fn update(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        object: Json,
    ) -> KubeFunctionResult<WriteAnswer<Json>> {
        Ok(self.write_to_cluster(&named(&gvr, &key, &subresource), How::Update, object).await)
    }

    async fn patch(
        &mut self,
        gvr: String,
        key: GuestKey,
        subresource: String,
        patch_type: PatchType,
        patch: Json,
    ) -> KubeFunctionResult<WriteAnswer<Json>> {
        let how = match patch_type {
            PatchType::JsonPatch => How::JsonPatch,
            PatchType::Merge => How::MergePatch,
            PatchType::Strategic => How::StrategicPatch,
            PatchType::Apply(force) => How::Apply(force),
        };
        Ok(self.write_to_cluster(&named(&gvr, &key, &subresource), how, patch).await)
    }

    async fn delete(
        &mut self,
        gvr: String,
        key: GuestKey,
        uid: Option<String>,
    ) -> KubeFunctionResult<WriteAnswer<()>> {
        let deleted =
            self.write_to_cluster(&named(&gvr, &key, ""), How::Delete(uid), Json::new()).await;
        Ok(deleted.map(|_| ()))
    }

    async fn record_event(
        &mut self,
        gvr: String,
        key: GuestKey,
        warning: bool,
        reason: String,
        message: String,
    ) -> KubeFunctionResult<WriteAnswer<()>> {
        let recorded = self.record_kubernetes_event(&gvr, &key, warning, reason, message);
        self.notes.is_hindered |= recorded.as_ref().is_err_and(is_hindrance);
        Ok(recorded)
    }
}

fn named<'a>(gvr: &'a str, key: &'a GuestKey, subresource: &'a str) -> NamedObject<'a> {
    NamedObject { resource: gvr, namespace: &key.namespace, name: &key.name, subresource }
}

impl GuestState {
    async fn write_to_cluster(
        &mut self,
        named: &NamedObject<'_>,
        how: How,
        body: Json,
    ) -> WriteAnswer<Json> {
        let verb = how.verb();
        let mut traced = self.begin_write(verb);
        let written = self.write_if_granted(named, how, body, &mut traced).await;
        self.note_write((verb.name(), named), &written, traced);
        let written = written.map_err(error);
        self.notes.is_hindered |= written.as_ref().is_err_and(is_hindrance);
        written
    }

    async fn write_if_granted(
        &mut self,
        named: &NamedObject<'_>,
        how: How,
        body: Json,
        traced: &mut Option<TracedWrite>,
    ) -> KubeFunctionResult<Json, NotWritten> {
        let powers = self.powers_to_write().map_err(NotWritten::NotGranted)?;
        let verb = how.verb().name();
        let bytes = body.len();
        let loses = match how {
            How::Update => self.loses_last_applied(named, &body),
            _ => None,
        };
        let write = Write::new(*named, how, body).map_err(|problem| {
            powers.counters.cluster_write(verb, OTHER_RESOURCES, "invalid");
            NotWritten::Invalid(problem)
        })?;
        traced.iter_mut().for_each(|it| it.checked(&write, powers.is_dry_run()));
        let resource = write.what.to_string();
        let written = self.write_checked((&powers, bytes, loses), write, traced).await;
        powers.counters.cluster_write(verb, &resource, end_word(&written));
        written
    }

    async fn write_checked(
        &mut self,
        (powers, bytes, loses): (&PluginPowers, usize, Option<String>),
        write: Write,
        traced: &mut Option<TracedWrite>,
    ) -> KubeFunctionResult<Json, NotWritten> {
        let _held = self.hold_request(bytes).map_err(unsent)?;
        let (plugin, log) = (self.plugin.to_string(), self.log_budget.clone());
        powers.check_write(&plugin, &write).map_err(NotWritten::NotGranted)?;
        powers.check_dry_run(&plugin, &write).map_err(NotWritten::NotGranted)?;
        traced.iter_mut().for_each(|it| it.granted(&write));
        if let Some(problem) = loses {
            return Err(NotWritten::Invalid(problem));
        }
        let guesses = &powers.powers.guesses;
        let guess = guesses.lock().begin(&plugin, &write, self.surroundings.now());
        let guess = guess.map_err(|wait| throttled(too_many(), wait))?;
        let sent = send(&self.clock.clone(), self.limits(), powers, (&plugin, &log), write).await;
        guesses.lock().end(guess, sent.answer());
        match sent {
            Sending::Answered(answer) => answer.map_err(NotWritten::Failed),
            Sending::NotGranted(text) => Err(NotWritten::NotGranted(text)),
            Sending::NotLeader => Err(NotWritten::Failed(WriteError::NotLeader)),
            Sending::Unsent => Err(unsent(no_time_left(self.limits().wait_time))),
        }
    }

    fn powers_to_write(&self) -> KubeFunctionResult<PluginPowers, String> {
        self.powers_at_work().ok_or_else(|| {
            let phase = self.phase.name();
            format!("nothing is written in {phase}, where another version may be in charge")
        })
    }

    fn record_kubernetes_event(
        &mut self,
        gvr: &str,
        key: &GuestKey,
        is_warning: bool,
        reason: String,
        note: String,
    ) -> WriteAnswer<()> {
        let powers = self.powers_to_write().map_err(Error::NotGranted)?;
        check_text("reason", &reason, 1, REASON_BYTES_MAX)?;
        check_text("message", &note, 0, NOTE_BYTES_MAX)?;
        let regarding = self.regarding(gvr, key)?;
        let plugin = self.plugin.to_string();
        // The resource stands for all Events about the object.
        let event = NamedObject {
            resource: "events.k8s.io/v1/events",
            namespace: regarding.event_namespace(),
            name: "",
            subresource: "",
        };
        let body = br#"{"metadata":{"generateName":"event-"}}"#.to_vec();
        let write = Write::new(event, How::Create, body).map_err(|problem| invalid(&problem))?;
        powers.check_write(&plugin, &write).map_err(Error::NotGranted)?;
        if !self.leading.is_leader() {
            return Err(Error::NotLeader);
        }
        powers.powers.events.record(Occurrence {
            plugin,
            regarding,
            is_warning,
            reason,
            note,
            service_account: powers.settings.service_account.clone(),
            dry_run: powers.is_dry_run(),
            at: self.surroundings.wall(),
            counters: powers.counters,
            log_budget: self.log_budget.clone(),
        });
        Ok(())
    }

    /// The object as the plugin knows it: in the current event, and in its reads.
    fn known_objects(&self, gvr: &str, key: &ObjectKey) -> impl Iterator<Item = Object> {
        let current = match &self.phase {
            Phase::Handle(event) if &*event.resource == gvr && event.event.object.key() == key => {
                Some(event.event.object.clone())
            }
            _ => None,
        };
        let read = || self.reads_of(gvr).ok()?.get(gvr, key).ok().flatten();
        current.into_iter().chain(std::iter::once_with(read).flatten())
    }

    fn regarding(&self, gvr: &str, key: &GuestKey) -> WriteAnswer<Regarding> {
        check_text("name", &key.name, 1, NAME_BYTES_MAX)?;
        let key = ObjectKey::new(&*key.namespace, &*key.name);
        let unknown = || {
            let (gvr, key) = (gvr, key.to_string());
            invalid(&format!(
                "{gvr:?} {key:?} is not there, or nothing that the plugin subscribes to or reads"
            ))
        };
        let object = self.known_objects(gvr, &key).next().ok_or_else(unknown)?;
        let kind: TypeOf = serde_json::from_slice(&object.json()).map_err(|_| unknown())?;
        Ok(Regarding {
            api_version: kind.api_version,
            kind: kind.kind,
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            uid: object.uid().to_string(),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeOf {
    api_version: String,
    kind: String,
}

fn check_text(what: &str, text: &str, min: usize, max: usize) -> WriteAnswer<()> {
    let found = text.len();
    match (min..=max).contains(&found) {
        true => Ok(()),
        false => {
            Err(invalid(&format!("the {what} has {found} bytes, and may have {min} to {max}")))
        }
    }
}

fn invalid(problem: &str) -> Error {
    Error::Invalid(one_line(problem, ERROR_BYTES_MAX).into_owned())
}

fn unsent(problem: String) -> NotWritten {
    NotWritten::Failed(WriteError::Unsent(problem))
}

fn no_time_left(wait_time: Duration) -> String {
    let time = wait_time.as_millis();
    format!(
        "a call waits {time} ms at most for all its requests (limits.waitTime), and no time was left"
    )
}

/// Whether the cluster, a grant or the lead was missing: the same write may succeed later. An API server that does not
/// know the host's user, or refuses it, lacks a grant too.
fn is_hindrance(error: &Error) -> bool {
    match error {
        Error::NotGranted(_) | Error::NotLeader | Error::Transport(_) => true,
        Error::Status(status) => matches!(status.code, 401 | 403 | 429 | 500..),
        Error::Invalid(_) => false,
    }
}

/// The answer of API servers to too many requests.
fn throttled(message: String, wait: Duration) -> NotWritten {
    let (code, reason, retry_after) = (429, "TooManyRequests".to_owned(), Some(wait));
    NotWritten::Failed(WriteError::Status { code, reason, message, retry_after })
}

fn error(error: NotWritten) -> Error {
    let error = match error {
        NotWritten::NotGranted(text) => return Error::NotGranted(text),
        NotWritten::Invalid(problem) => return invalid(&problem),
        NotWritten::Failed(error) => error,
    };
    match error {
        WriteError::Status { code, reason, message, retry_after } => Error::Status(StatusError {
            code,
            reason,
            message,
            retry_after_ms: retry_after
                .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        }),
        WriteError::NotLeader => Error::NotLeader,
        unsent @ WriteError::Unsent(_) => Error::Transport(unsent.to_string()),
        WriteError::Transport(text) => Error::Transport(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: Error, expect: bool) {
        assert_eq!(is_hindrance(&answer), expect, "{answer:?}");
    }

    #[test]
    fn what_is_missing_now_may_be_there_later_and_what_is_wrong_stays_wrong() {
        let error = |failed| error(NotWritten::Failed(failed));
        let status = |code| {
            let (reason, message) = (String::new(), String::new());
            error(WriteError::Status { code, reason, message, retry_after: None })
        };
        for code in [401, 403, 429, 500, 503, 504] {
            check(status(code), true);
        }
        for code in [400, 404, 409, 410, 413, 415, 422] {
            check(status(code), false);
        }
        check(error(WriteError::NotLeader), true);
        check(error(WriteError::Transport("connection refused".to_owned())), true);
        check(error(WriteError::Unsent("no cluster".to_owned())), true);
        check(Error::NotGranted("to patch v1/pods is not granted".to_owned()), true);
        check(invalid("no name"), false);
    }
}
