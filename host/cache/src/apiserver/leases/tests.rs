use super::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Gives its answers in order; notes the requests with their bodies.
#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl tower::Service<Request<Body>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = std::io::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            server.asked.lock().push((format!("{} {}", parts.method, parts.uri), body));
            let (code, answer) = server.answers.lock().pop_front().expect("an answer");
            let response = Response::builder().status(code).body(answer.to_string().into());
            Ok(response.expect("a response"))
        })
    }
}

/// A lock whose server gives these answers.
fn lock(answers: &[(u16, Value)]) -> (LeaseLock, Server) {
    let server = Server::default();
    server.answers.lock().extend(answers.iter().cloned());
    let client = kube::Client::new(server.clone(), "default");
    (ApiServer::new(client).lease_lock("system", "controller"), server)
}

fn lease() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "controller", "namespace": "system", "resourceVersion": "7", "labels": {"a": "b"}},
        "spec": {
            "holderIdentity": "bing", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": "2026-01-02T03:04:05.000006Z", "renewTime": "2026-01-02T03:04:06.000007Z",
            "strategy": "OldestEmulationVersion",
        },
    })
}

fn status(code: u16, message: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
    (code, status)
}

#[tokio::test]
async fn a_lease_is_read_as_a_record() {
    let (lock, server) = lock(&[(200, lease())]);
    let read = lock.get().await.expect("a record");
    assert_eq!(read.resource_version, "7");
    assert_eq!((&*read.record.holder_identity, read.record.leader_transitions), ("bing", 3));
    assert_eq!(read.record.lease_duration, Duration::from_secs(15));
    let apart = |record: &LeaderElectionRecord| {
        record.renew_time?.duration_since(record.acquire_time?).ok()
    };
    assert_eq!(apart(&read.record), Some(Duration::from_micros(1_000_001)));
    let path = "/apis/coordination.k8s.io/v1/namespaces/system/leases/controller";
    assert_eq!(server.asked.lock()[0].0.trim_end_matches('?'), format!("GET {path}"));
    assert_eq!(lock.describe(), "system/controller");
}

#[tokio::test]
async fn an_update_keeps_what_else_stands_in_the_lease() {
    let (lock, server) = lock(&[(200, lease()), (200, lease())]);
    let mut read = lock.get().await.expect("a record");
    read.record.holder_identity = "baz".to_owned();
    lock.update(read.record, read.resource_version).await.expect("it is written");
    let (asked, body) = server.asked.lock()[1].clone();
    assert!(asked.starts_with("PUT "), "{asked}");
    let mut expect = lease();
    expect["spec"]["holderIdentity"] = "baz".into();
    assert_eq!(body, expect);
}

#[tokio::test]
async fn an_update_of_a_version_that_was_not_seen_names_that_version_alone() {
    let (lock, server) = lock(&[(200, lease()), status(409, "it is another")]);
    lock.get().await.expect("a record");
    let written = lock.update(LeaderElectionRecord::default(), "6".to_owned()).await;
    assert_eq!(written, Err(LockError::Conflict));
    let body = server.asked.lock()[1].1.clone();
    assert_eq!(
        body["metadata"],
        json!({"name": "controller", "namespace": "system", "resourceVersion": "6"})
    );
}

#[tokio::test]
async fn a_lease_with_times_that_cannot_be_read_can_be_taken() {
    let mut late = lease();
    late["spec"]["renewTime"] = "9999-12-31T23:59:59.999999Z".into();
    late["metadata"]["managedFields"] = json!([{"time": "9999-12-31T23:59:59Z"}]);
    let (lock, _) = lock(&[(200, late)]);
    let record = lock.get().await.expect("a record").record;
    assert_eq!((&*record.holder_identity, record.renew_time), ("bing", None));
    assert!(record.acquire_time.is_some());
}

#[tokio::test]
async fn a_lease_without_spec_belongs_to_nobody() {
    let mut bare = lease();
    bare.as_object_mut().expect("an object").remove("spec");
    let (lock, _) = lock(&[(200, bare)]);
    let read = lock.get().await.expect("a record");
    assert_eq!(read.record, LeaderElectionRecord::default());
}

#[tokio::test]
async fn what_is_written_is_what_the_api_takes() {
    let (lock, server) = lock(&[(201, lease())]);
    let record = LeaderElectionRecord {
        holder_identity: "baz".to_owned(),
        lease_duration: Duration::from_secs(15),
        acquire_time: Some(SystemTime::UNIX_EPOCH),
        renew_time: Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_890)),
        leader_transitions: 0,
    };
    lock.create(record).await.expect("it is written");
    let (asked, body) = server.asked.lock()[0].clone();
    assert!(asked.starts_with("POST "), "{asked}");
    let expect = json!({
        "holderIdentity": "baz", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "1970-01-01T00:00:00.000000Z", "renewTime": "1970-01-01T00:00:01.234567Z",
    });
    assert_eq!((&body["spec"], &body["metadata"]["name"]), (&expect, &"controller".into()));
}

#[tokio::test]
async fn answers_are_sorted_by_what_to_do_next() {
    let refused = |message: &str| LockError::Refused { message: message.to_owned() };
    let cases = [
        (status(404, "no"), LockError::NotFound),
        (status(409, "no"), LockError::Conflict),
        (status(403, "no"), refused("no")),
        (status(503, "later"), LockError::Unavailable { message: "later".to_owned() }),
    ];
    for (answer, expect) in cases {
        let (lock, _) = lock(&[answer]);
        assert_eq!(lock.get().await, Err(expect));
    }
    let (lock, _) = lock(&[status(404, "namespaces \"system\" not found")]);
    let created = lock.create(LeaderElectionRecord::default()).await;
    assert_eq!(created, Err(refused("namespace \"system\" does not exist")));
}
