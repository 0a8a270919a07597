//! Answers a run's writes and requests. The events file's answers come first. Otherwise writes get the answer of an
//! API server with the run's objects. Nothing leaves the process, and no write changes the objects, unless the run
//! applies writes.

use super::applied;
use super::script::{HttpAnswer, HttpResult, KubeAnswer, KubeResult, ScriptedAnswer};
use super::world::{Changed, OfflineWorld, uid};
use crate::guest::surroundings::Surroundings;
use crate::outside::cluster_writer::{ClusterWriter, WriteError, WriteRequest, WriteTarget};
use crate::outside::http_client::{HttpClient, HttpError, HttpRequest, HttpResponse};
use futures::future::{BoxFuture, ready};
use informant_apimachinery::{GroupVersionResource, duration};
use informant_cache::ObjectKey;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// A patch and its object.
pub struct PatchOf<'a> {
    /// The kind of patch.
    pub content_type: &'a str,
    /// The bytes of the patch.
    pub patch: &'a [u8],
    /// The object's resource.
    pub resource: &'a GroupVersionResource,
    /// The present object; null if an apply creates it.
    pub object: Value,
}

/// Applies a patch as an API server does. The caller of offline runs provides the function.
pub type PatchObject = fn(PatchOf<'_>) -> Result<Value, WriteError>;

/// Clones share the state.
#[derive(Clone)]
pub(super) struct Outside {
    world: OfflineWorld,
    patch: PatchObject,
    answers: Arc<Mutex<Answers>>,
    /// The changes by writes that no handler was notified of. `None`: writes change nothing.
    applied: Arc<Mutex<Option<Vec<AppliedWrite>>>>,
    surroundings: Surroundings,
}

/// The change of an object by a write.
pub(super) type AppliedWrite = (GroupVersionResource, Changed);

/// The newest matching answer counts.
#[derive(Default)]
struct Answers {
    http: Vec<HttpAnswer>,
    kube: Vec<KubeAnswer>,
}

impl Outside {
    pub(super) fn new(world: OfflineWorld, patch: PatchObject, surroundings: Surroundings) -> Self {
        Self { world, patch, answers: Arc::default(), applied: Arc::default(), surroundings }
    }

    /// From here on writes change the objects.
    pub(super) fn apply_writes(&self) {
        self.applied.lock().get_or_insert_default();
    }

    /// The changes by writes since the last call.
    pub(super) fn take_applied(&self) -> Vec<AppliedWrite> {
        self.applied.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// From here on such requests get this answer.
    pub(super) fn prepare(&self, answer: ScriptedAnswer) {
        match answer {
            ScriptedAnswer::Http(answer) => self.answers.lock().http.push(answer),
            ScriptedAnswer::Kube(answer) => self.answers.lock().kube.push(answer),
        }
    }

    fn written(&self, request: &WriteRequest) -> Result<Vec<u8>, WriteError> {
        let object = match self.said_of_write(request) {
            Some(answer) => answer_of(answer)?,
            None => {
                let object = self.as_it_would_be(request)?;
                if let Some(applied) = &mut *self.applied.lock() {
                    let now = self.surroundings.wall().to_string();
                    applied.extend(applied::apply(&self.world, request, &object, &now)?);
                }
                object
            }
        };
        let body = serde_json::to_vec(&object);
        body.map_err(|error| WriteError::Transport(error.to_string()))
    }

    fn said_of_write(&self, request: &WriteRequest) -> Option<KubeResult> {
        let verb = match request.method {
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            _ => "delete",
        };
        let target = &request.target;
        let (resource, key) = (target.resource.to_string(), key(target).to_string());
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let mut answers = self.answers.lock();
        let mut newest = answers.kube.iter_mut().rev();
        let found = newest.find(|it| {
            it.times != Some(0)
                && is(&it.of.verb, verb)
                && is(&it.of.resource, &resource)
                && is(&it.of.key, &key)
                && is(&it.of.subresource, &target.subresource)
        })?;
        found.times = found.times.map(|times| times - 1);
        Some(found.answer.clone())
    }

    /// The object in an API server's answer.
    fn as_it_would_be(&self, request: &WriteRequest) -> Result<Value, WriteError> {
        let path = &request.target;
        let there = self.world.find(&path.resource, &key(path));
        let there = there.map(|object| serde_json::from_slice::<Value>(&object.json()));
        let there = there.transpose().map_err(|error| WriteError::Transport(error.to_string()))?;
        let body = || {
            let body = serde_json::from_slice::<Value>(&request.body);
            body.map_err(|error| status(400, "BadRequest", &error.to_string()))
        };
        let missing =
            || status(404, "NotFound", &format!("{} {} not found", path.resource, key(path)));
        match request.method {
            "POST" if !path.subresource.is_empty() => {
                there.map(|_| json!({ "kind": "Status", "status": "Success" })).ok_or_else(missing)
            }
            "POST" => self.created(path, body()?),
            "PUT" => {
                let (body, there) = (body()?, there.ok_or_else(missing)?);
                let version =
                    |it: &Value| it["metadata"]["resourceVersion"].as_str().map(str::to_owned);
                if version(&body).is_some_and(|it| !it.is_empty() && Some(it) != version(&there)) {
                    let text = format!("{} {} has changed", path.resource, key(path));
                    return Err(status(409, "Conflict", &text));
                }
                let part = path.subresource.as_str();
                Ok(self.newer(
                    path,
                    if part.is_empty() { body } else { with_part(there, &body, part) },
                ))
            }
            "PATCH" => {
                let is_apply = request.content_type == "application/apply-patch+yaml";
                let object = match there {
                    None if is_apply => Value::Null,
                    there => there.ok_or_else(missing)?,
                };
                let (content_type, patch) = (request.content_type, request.body.as_slice());
                let of = PatchOf { content_type, patch, resource: &path.resource, object };
                Ok(self.newer(path, (self.patch)(of)?))
            }
            _ => {
                let (object, options) = (there.ok_or_else(missing)?, body().unwrap_or_default());
                let wanted = options["preconditions"]["uid"].as_str();
                match wanted.is_none_or(|it| object["metadata"]["uid"] == it) {
                    true => Ok(object),
                    false => {
                        Err(status(409, "Conflict", "the UID in the precondition is another one"))
                    }
                }
            }
        }
    }

    fn created(&self, path: &WriteTarget, mut object: Value) -> Result<Value, WriteError> {
        let said = object["metadata"]["name"].as_str().filter(|name| !name.is_empty());
        let name = match said {
            Some(name) => name.to_owned(),
            None => {
                let begin = object["metadata"]["generateName"].as_str().unwrap_or_default();
                format!("{begin}{:0>5}", self.world.next_version())
            }
        };
        let key = ObjectKey::new(&*path.namespace, &*name);
        if self.world.find(&path.resource, &key).is_some() {
            let text = format!("{} {key} already exists", path.resource);
            return Err(status(409, "AlreadyExists", &text));
        }
        object["metadata"]["name"] = name.into();
        if !path.namespace.is_empty() {
            object["metadata"]["namespace"] = path.namespace.clone().into();
        }
        Ok(self.newer(path, object))
    }

    /// The object with the fields that an API server sets on a write.
    fn newer(&self, path: &WriteTarget, mut object: Value) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap_or(&path.name).to_owned();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.insert("resourceVersion".to_owned(), self.world.next_version().into());
            metadata
                .entry("uid")
                .or_insert_with(|| uid(&path.resource, &path.namespace, &name).into());
        }
        object
    }

    fn asked(&self, request: &HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut answers = self.answers.lock();
        let found = answers.http.iter_mut().rev().find(|it| {
            it.times != Some(0)
                && it.target == request.target
                && it.method.as_ref().is_none_or(|method| method == request.method)
        });
        let Some(found) = found else {
            let (method, target) = (request.method, &request.target);
            let (origin, path) = (target.origin(), target.path_and_query());
            let text = format!("the events file has no answer to {method} {origin}{path}");
            return Err(HttpError::Unsent(text));
        };
        found.times = found.times.map(|times| times - 1);
        match &found.answer {
            Ok(answer) => Ok(response(answer)),
            Err(text) => Err(HttpError::Unknown(text.clone())),
        }
    }
}

impl ClusterWriter for Outside {
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        Box::pin(ready(self.written(&request)))
    }
}

impl HttpClient for Outside {
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        Box::pin(ready(self.asked(&request)))
    }
}

fn response(answer: &HttpResult) -> HttpResponse {
    let headers = answer.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.clone().into_bytes()));
    let body = match &answer.body {
        Value::Null => Vec::new(),
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    };
    HttpResponse { status: answer.status, headers: headers.collect(), body }
}

fn answer_of(answer: KubeResult) -> Result<Value, WriteError> {
    if let Some(text) = answer.error {
        return Err(WriteError::Transport(text));
    }
    let Some(code) = answer.status else { return Ok(answer.object.unwrap_or_default()) };
    let retry_after = answer.retry_after.and_then(|text| duration::parse(&text).ok());
    let (reason, message) = (answer.reason, answer.message);
    Err(WriteError::Status { code, reason, message, retry_after })
}

pub(super) fn status(code: u16, reason: &str, message: &str) -> WriteError {
    let (reason, message) = (reason.to_owned(), message.to_owned());
    WriteError::Status { code, reason, message, retry_after: None }
}

/// The object with one part of another: a write to `status` changes nothing else.
fn with_part(mut object: Value, other: &Value, part: &str) -> Value {
    if let (Some(members), Some(value)) = (object.as_object_mut(), other.get(part)) {
        members.insert(part.to_owned(), value.clone());
    }
    object
}

pub(super) fn key(target: &WriteTarget) -> ObjectKey {
    ObjectKey::new(&*target.namespace, &*target.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside() -> Outside {
        let world = OfflineWorld::default();
        let resource = "v1/pods".parse().expect("a resource");
        let pod = br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"spec":{"x":1}}"#;
        world.put(&resource, pod).expect("it is one");
        let patch = |of: PatchOf<'_>| {
            let mut object = of.object;
            object["spec"] = serde_json::from_slice(of.patch).unwrap_or_default();
            Ok(object)
        };
        Outside::new(world, patch, Surroundings::default())
    }

    /// A request for a Pod in the namespace n: its name, and its subresource behind a slash.
    fn request(method: &'static str, pod: &str, body: &str) -> WriteRequest {
        let (name, subresource) = pod.split_once('/').unwrap_or((pod, ""));
        let [namespace, name, subresource] = ["n", name, subresource].map(str::to_owned);
        let resource = "v1/pods".parse().expect("a resource");
        WriteRequest {
            method,
            uri: String::new(),
            target: WriteTarget { resource, namespace, name, subresource },
            content_type: "application/merge-patch+json",
            body: body.as_bytes().to_vec(),
            answer_bytes_max: 1 << 20,
            service_account: None,
        }
    }

    #[track_caller]
    fn check(outside: &Outside, method: &'static str, pod: &str, body: &str, expect: &str) {
        let shown = match outside.written(&request(method, pod, body)) {
            Ok(body) => {
                let object: Value = serde_json::from_slice(&body).expect("it is JSON");
                let metadata = &object["metadata"];
                let (name, version) = (&metadata["name"], &metadata["resourceVersion"]);
                format!("{name} {version} {}", object["spec"])
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expect, "{method} {pod}");
    }

    #[test]
    fn writes_are_answered_as_the_objects_would_be_and_change_nothing() {
        let outside = outside();
        let (pods, a) = ("", "a");
        let new = |name: &str| format!(r#"{{"metadata":{{{name}}},"spec":{{"y":2}}}}"#);
        check(&outside, "POST", pods, &new(r#""name":"b""#), r#""b" "1" {"y":2}"#);
        check(&outside, "POST", pods, &new(r#""name":"b""#), r#""b" "2" {"y":2}"#);
        check(&outside, "POST", pods, &new(r#""generateName":"g-""#), r#""g-00003" "4" {"y":2}"#);
        let text = "409 AlreadyExists: v1/pods n/a already exists";
        check(&outside, "POST", pods, &new(r#""name":"a""#), text);
        check(
            &outside,
            "PUT",
            a,
            &new(r#""name":"a","resourceVersion":"7""#),
            r#""a" "5" {"y":2}"#,
        );
        let text = "409 Conflict: v1/pods n/a has changed";
        check(&outside, "PUT", a, &new(r#""name":"a","resourceVersion":"6""#), text);
        check(&outside, "PUT", &format!("{a}/status"), &new(""), r#""a" "6" {"x":1}"#);
        check(&outside, "PATCH", a, r#"{"z":3}"#, r#""a" "7" {"z":3}"#);
        check(&outside, "DELETE", a, "{}", r#""a" "7" {"x":1}"#);
        let other = r#"{"preconditions":{"uid":"v"}}"#;
        let text = "409 Conflict: the UID in the precondition is another one";
        check(&outside, "DELETE", a, other, text);
        let text = "404 NotFound: v1/pods n/c not found";
        check(&outside, "PATCH", "c", "{}", text);
    }

    #[test]
    fn what_the_events_file_says_comes_first_as_often_as_it_says() {
        let outside = outside();
        let of = super::super::script::KubeMatch {
            verb: Some("patch".to_owned()),
            ..Default::default()
        };
        let answer =
            KubeResult { status: Some(409), reason: "Conflict".to_owned(), ..Default::default() };
        outside.prepare(ScriptedAnswer::Kube(KubeAnswer { of, answer, times: Some(1) }));
        let a = "a";
        check(&outside, "DELETE", a, "{}", r#""a" "7" {"x":1}"#);
        check(&outside, "PATCH", a, "{}", "409 Conflict: ");
        check(&outside, "PATCH", a, "{}", r#""a" "1" {}"#);
    }
}
