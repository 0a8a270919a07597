//! Guests that write to the cluster: what is sent, what is not, and who waits for it.

use super::configuration::{host, yaml};
use super::standby::elector;
use super::{Bench, HELLO, handled, hello_again, is, last_load, pod, swap};
use futures::future::BoxFuture;
use informant_cache::leader_election::{LeaderElectionRecord, Leadership};
use informant_runtime::configuration::Configurations;
use informant_runtime::{ClusterWriter, PluginStatus, WriteError, WriteRequest};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::future::pending;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A cluster that answers as it is told.
pub(super) struct Cluster {
    requests: Mutex<Vec<WriteRequest>>,
    pub(super) answer: watch::Sender<Answer>,
}

#[derive(Clone)]
pub(super) enum Answer {
    Done,
    /// With this body; `Done` is with `{}`.
    With(&'static str),
    Refused(WriteError),
    /// None for now.
    Later,
}

impl ClusterWriter for Cluster {
    fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        self.requests.lock().push(request);
        let mut answer = self.answer.subscribe();
        Box::pin(async move {
            let told = answer.wait_for(|answer| !matches!(answer, Answer::Later)).await;
            match &*told.expect("the test says what is answered") {
                Answer::Refused(error) => Err(error.clone()),
                Answer::With(body) => Ok(body.as_bytes().to_vec()),
                _ => Ok(b"{}".to_vec()),
            }
        })
    }
}

impl Cluster {
    pub(super) fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self { requests: Mutex::default(), answer: watch::Sender::new(answer) })
    }

    /// Method, URI and body of what it was asked.
    pub(super) fn asked(&self) -> Vec<String> {
        let requests = self.requests.lock();
        let shown = requests.iter().map(|request| {
            let WriteRequest { method, uri, body, .. } = request;
            format!("{method} {uri} {}", String::from_utf8_lossy(body))
        });
        shown.collect()
    }

    /// In whose name; none: in the host's own user's.
    pub(super) fn asked_by(&self) -> Vec<Option<String>> {
        let requests = self.requests.lock();
        requests.iter().map(|it| it.service_account.as_ref().map(ToString::to_string)).collect()
    }

    /// What it answers from here on.
    pub(super) fn answers(&self, answer: Answer) {
        self.answer.send_replace(answer);
    }

    pub(super) fn bench(self: &Arc<Self>, configurations: Configurations) -> Bench {
        self.bench_led(configurations, None)
    }

    fn bench_led(
        self: &Arc<Self>,
        configurations: Configurations,
        leadership: Option<Leadership>,
    ) -> Bench {
        let bench = Bench::start_beside(None, configurations, leadership, self.clone());
        bench.source.add(&pod("a"));
        bench
    }
}

#[derive(Clone, Copy, Debug)]
enum Argument<'a> {
    Text(&'a str),
    Number(u32),
}
use Argument::{Number, Text};

/// `hello` that calls a function of `kube` in `handle`, and fails for good with the words that it is answered.
fn guest(function: &str, arguments: &[Argument<'_>]) -> Vec<u8> {
    guest_that(&[(function, arguments)])
}

/// Fails with the text whose address and length stand there.
pub(super) fn fail(address: usize, length: usize) -> String {
    format!(
        "(i32.store8 (i32.const 320) (i32.const 1))
        (i32.store (i32.const 328) (i32.load (i32.const {address})))
        (i32.store (i32.const 332) (i32.load (i32.const {length})))
        (i32.store8 (i32.const 336) (i32.const 2))
        (return (i32.const 320))"
    )
}

/// The same for several calls, one after the other, whatever is answered, and with the words of the last answer: an error, or an object that is more
/// than `{}`.
fn guest_that(calls: &[(&str, &[Argument<'_>])]) -> Vec<u8> {
    guest_of(HELLO, calls)
}

/// The same of another text than that of `hello`.
fn guest_of(text: &str, calls: &[(&str, &[Argument<'_>])]) -> Vec<u8> {
    wat::parse_str(text_of(text, calls)).expect("it is well formed")
}

/// The same as of `hello`, but that it is to be called again after a failure.
fn guest_again(calls: &[(&str, &[Argument<'_>])]) -> Vec<u8> {
    let never = "(i32.store8 (i32.const 336) (i32.const 2))";
    let text = text_of(HELLO, calls);
    assert!(text.contains(never), "it fails otherwise");
    wat::parse_str(text.replace(never, "")).expect("it is well formed")
}

fn text_of(text: &str, calls: &[(&str, &[Argument<'_>])]) -> String {
    let (mut data, mut code) = ("not-leader".to_owned(), String::new());
    let mut imports = BTreeMap::new();
    for (function, arguments) in calls {
        let mut flat = Vec::new();
        for argument in *arguments {
            match argument {
                Text(text) => {
                    flat.extend([784 + data.len(), text.len()]);
                    data.push_str(text);
                }
                Number(number) => flat.push(*number as usize),
            }
        }
        // Where the answer is to be.
        flat.push(400);
        let words: String = flat.iter().map(|word| format!(" (i32.const {word})")).collect();
        code += &format!("(call ${function}{words})\n");
        imports.insert(*function, vec!["i32"; flat.len()].join(" "));
    }
    let imports: String = imports
        .iter()
        .map(|(function, parameters)| {
            format!(
                r#"(import "informant:plugin/kube@0.1.0" "{function}" (func ${function} (param {parameters})))"#
            )
        })
        .collect();
    let memory = r#"(memory (export "memory") 1)"#;
    let data = data.replace('"', "\\\"");
    let more = format!(
        r#"{imports}
        (memory (export "memory") 64) (data (i32.const 784) "{data}")
        (data (i32.const 464) "\10\03\00\00\0a\00\00\00")"#
    );
    let (object, refusal, status) = (fail(408, 412), fail(416, 420), fail(428, 432));
    let not_leader = fail(464, 468);
    let fails = format!(
        "(if (i32.load8_u (i32.const 400))
          (then
            (if (i32.eq (i32.load8_u (i32.const 408)) (i32.const 1)) (then {not_leader}))
            (if (i32.eq (i32.load8_u (i32.const 408)) (i32.const 3)) (then {status}))
            {refusal})
          (else (if (i32.gt_u (i32.load (i32.const 412)) (i32.const 2)) (then {object}))))"
    );
    let begin = "(local $line i32) (local $end i32)\n";
    let text = swap(text, memory, &more);
    let asks = format!("{begin}(i32.store8 (i32.const 320) (i32.const 0)) {code} {fails}\n");
    swap(&text, begin, &asks)
}

/// Merges `{}` into this pod.
pub(super) fn patches(namespace: &str, name: &str, subresource: &str) -> Vec<u8> {
    guest("patch", &patch("v1/pods", namespace, name, subresource))
}

fn patch<'a>(
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
    subresource: &'a str,
) -> Vec<Argument<'a>> {
    let object = [Text(resource), Text(namespace), Text(name), Text(subresource)];
    object.into_iter().chain([Number(1), Number(0), Text("{}")]).collect()
}

/// Says of the pod that every host here has that it is there.
fn records() -> Vec<Argument<'static>> {
    let object = [Text("v1/pods"), Text("default"), Text("a"), Number(1)];
    object.into_iter().chain([Text("Seen"), Text("it is there")]).collect()
}

/// The host's own word for `hello`.
fn granted(rule: &str) -> Configurations {
    host(&format!("hello: {{writes: [{rule}]}}"))
}

pub(super) const PODS: &str = "{resources: [v1/pods], verbs: [patch]}";

pub(super) fn told(status: Option<&PluginStatus>) -> String {
    let json = status.map(PluginStatus::to_json).unwrap_or_default();
    json["lastError"]["message"].as_str().unwrap_or_default().to_owned()
}

fn writes(bench: &Bench, verb: &'static str, result: &'static str) -> u64 {
    let writes = bench.status("hello").map(|it| it.counters.cluster_writes()).unwrap_or_default();
    writes.get(&(verb, "v1/pods".into(), result)).copied().unwrap_or_default()
}

/// What a call fails with where nothing is sent.
async fn check_refused(
    configurations: Configurations,
    plugin: &[u8],
    expect: &str,
    result: &'static str,
) {
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(configurations);
    bench.drop_in("hello.wasm", plugin);
    let expect = format!("the plugin answered: {expect}");
    bench.until("hello", |status| !told(status).is_empty()).await;
    assert_eq!(told(bench.status("hello").as_ref()), expect);
    assert_eq!(cluster.asked(), [""; 0]);
    let all = bench.status("hello").expect("it runs").counters.cluster_writes();
    // The count grows: the same event is handed over again.
    assert_eq!(all.into_keys().map(|(_, _, result)| result).collect::<Vec<_>>(), [result]);
    bench.stop().await;
}

#[tokio::test]
async fn what_is_granted_is_sent_as_the_plugins_own() {
    let cluster = Cluster::new(Answer::Done);
    let rule = "{resources: [v1/pods], verbs: [patch], namespaces: [shop], names: [web]}";
    let bench = cluster.bench(granted(rule));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |status| handled(status) == 1).await;
    let expect = "PATCH /api/v1/namespaces/shop/pods/web?fieldManager=informant-hello {}";
    assert_eq!(cluster.asked(), [expect]);
    assert_eq!(writes(&bench, "patch", "ok"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn what_is_not_granted_is_not_sent_and_the_line_that_would_grant_it_does() {
    let plugin = patches("shop", "web", "status");
    let rule = "{writes: [{resources: [v1/pods/status], verbs: [patch], namespaces: [shop], names: [web]}]}";
    let not_granted = "to patch v1/pods/status in shop is not granted; to grant it, ";
    let own = "write in the host's own configuration (--config): plugins: ";
    let expect = format!("{not_granted}{own}{{hello: {rule}}}");
    check_refused(Configurations::default(), &plugin, &expect, "not-granted").await;
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("hello: {rule}")));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) == 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_file_beside_the_plugin_grants_up_to_the_ceiling() {
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("ceiling: {{writes: [{PODS}]}}")));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    let line = "writes: [{resources: [v1/pods], verbs: [patch], namespaces: [shop], names: [web]}]";
    let head = "{apiVersion: informant.dev/v1alpha1, kind: PluginConfiguration, ";
    let file = format!("{head}{line}}}");
    let told_so = |status: Option<&PluginStatus>| {
        told(status).ends_with(&format!("write a file hello.yaml beside it: {file}"))
    };
    bench.until("hello", told_so).await;
    bench.drop_in("hello.yaml", file.as_bytes());
    let configured = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["configuration"]["writes"].is_object())
    };
    bench.until("hello", configured).await;
    bench.source.modify(&pod("a"));
    bench.until("hello", |status| is(status, "running") && handled(status) >= 1).await;
    assert!(!cluster.asked().is_empty());
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_asks_for_more_than_it_may_write_waits() {
    let descriptor = super::DESCRIPTOR.strip_suffix('}').expect("it is an object");
    let asks = r#","writes":[{"resource":"v1/pods","verbs":["patch"]}]}"#;
    let text = super::described(&format!("{descriptor}{asks}"));
    let plugin = wat::parse_str(text).expect("it is well formed");
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("ceiling: {{writes: [{PODS}]}}")));
    bench.drop_in("hello.yaml", &yaml(""));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| is(status, "waiting")).await;
    let reason = bench.status("hello").expect("it waits").to_json()["reason"].clone();
    let line = "writes: [{resources: [v1/pods], verbs: [patch]}]";
    let expect = format!(
        "it asks to patch v1/pods, which is not granted; to grant all that it asks for, write in hello.yaml: {line}"
    );
    assert_eq!(reason, expect);
    bench.drop_in("hello.yaml", &yaml(line));
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
}

/// Invariants 34 and 40.
#[tokio::test]
async fn a_write_that_is_not_granted_any_more_is_not_made_though_the_version_runs_on() {
    let descriptor = super::DESCRIPTOR.strip_suffix('}').expect("it is an object");
    let asks = r#","writes":[{"resource":"v1/pods","verbs":["patch"]}]}"#;
    let text = super::described(&format!("{descriptor}{asks}"));
    let plugin = guest_of(&text, &[("patch", &patch("v1/pods", "shop", "web", ""))]);
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("ceiling: {{writes: [{PODS}]}}")));
    bench.drop_in("hello.yaml", &yaml(&format!("writes: [{PODS}]")));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) == 1).await;
    bench.drop_in("hello.yaml", &yaml(""));
    let refused =
        |status: Option<&PluginStatus>| super::last_load(status).contains("it asks to patch");
    bench.until("hello", |status| refused(status) && is(status, "running")).await;
    bench.source.modify(&pod("a"));
    bench.until("hello", |status| told(status).contains("to patch v1/pods in shop is not")).await;
    assert_eq!(cluster.asked().len(), 1);
    // A slow machine may have made a second attempt.
    assert!(writes(&bench, "patch", "not-granted") >= 1);
    bench.stop().await;
}

#[tokio::test]
async fn secrets_are_only_for_the_hosts_word_on_the_plugin_to_grant() {
    let rule = "[{resources: [v1/secrets], verbs: [delete]}]";
    let object = [Text("v1/secrets"), Text("shop"), Text("web")];
    let any_uid = [Number(0), Number(0), Number(0)];
    let plugin = guest("delete", &object.into_iter().chain(any_uid).collect::<Vec<_>>());
    let everywhere = host(&format!("ceiling: {{writes: {rule}}}\ndefaults: {{writes: {rule}}}"));
    let own = "write in the host's own configuration (--config): plugins: {hello: {writes: [{resources: [v1/secrets], verbs: [delete], namespaces: [shop], names: [web]}]}}";
    let expect = format!(
        "to delete v1/secrets in shop is not granted; to grant it, {own}, beside the rules that are there"
    );
    check_refused(everywhere, &plugin, &expect, "not-granted").await;
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("hello: {{writes: {rule}}}")));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) == 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_cannot_be_a_request_is_not_sent() {
    let expect = r#""../../nodes/n" cannot be the name of an object"#;
    check_refused(granted(PODS), &patches("shop", "../../nodes/n", ""), expect, "invalid").await;
    let object = [Text("v1/pods"), Text("shop"), Text("web"), Text("")];
    let body = [Number(1), Number(0), Number(0), Number((3 << 20) + 1)];
    let large = guest("patch", &object.into_iter().chain(body).collect::<Vec<_>>());
    let expect = "it has 3145729 bytes, and at most 3145728 are sent";
    check_refused(granted(PODS), &large, expect, "invalid").await;
}

#[tokio::test]
async fn the_api_servers_words_reach_the_plugin() {
    let message = "the object has been modified".to_owned();
    let retry_after = Some(Duration::from_secs(1));
    let refusal =
        WriteError::Status { code: 409, reason: "Conflict".to_owned(), message, retry_after };
    let cluster = Cluster::new(Answer::Refused(refusal));
    let bench = cluster.bench(granted(PODS));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    let expect = "the plugin answered: the object has been modified";
    bench.until("hello", |status| told(status) == expect).await;
    assert_eq!(writes(&bench, "patch", "conflict"), 1);
    bench.stop().await;
}

/// Invariant 28.
#[tokio::test]
async fn who_waits_for_the_cluster_keeps_nobody_waiting_and_gives_up_in_time() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(host(&format!(
        "ceiling: {{writes: [{PODS}]}}\ndefaults: {{writes: [{PODS}]}}\nhello: {{limits: {{waitTime: 50ms}}}}"
    )));
    for name in ["hello", "slow", "slower"] {
        bench.drop_in(&format!("{name}.wasm"), &patches("shop", name, ""));
    }
    bench.drop_in("quick.wasm", &super::hello());
    let expect = "the plugin answered: no answer in time: a call waits 50 ms at most for all its requests (limits.waitTime); \
                  it may have been done";
    bench.until("hello", |status| told(status) == expect).await;
    assert!(writes(&bench, "patch", "unknown") >= 1);
    // `hello` comes again meanwhile.
    let asks = |name: &str| {
        let [with_query, alone] = [format!("/{name}?"), format!("/{name} ")];
        cluster.asked().iter().any(|it| it.contains(&with_query) || it.contains(&alone))
    };
    bench.until("slow", |_| asks("slow") && asks("slower")).await;
    // All of them are on one thread.
    bench.source.add(&pod("b"));
    bench.until("quick", |status| handled(status) == 2).await;
    for name in ["slow", "slower"] {
        assert_eq!(handled(bench.status(name).as_ref()), 0, "{name}");
    }
    cluster.answer.send_replace(Answer::Done);
    bench.until("slow", |status| handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_call_that_has_waited_for_as_long_as_it_may_sends_nothing_more() {
    let cluster = Cluster::new(Answer::Later);
    let bench =
        cluster.bench(host(&format!("hello: {{limits: {{waitTime: 50ms}}, writes: [{PODS}]}}")));
    let patch = patch("v1/pods", "shop", "web", "");
    bench.drop_in("hello.wasm", &guest_that(&[("patch", &patch[..]); 4]));
    let expect = "the plugin answered: nothing was sent: a call waits 50 ms at most for all its requests (limits.waitTime), and no time was left";
    // The event comes again, because the cluster was missing.
    let one_of_four = || {
        let [unknown, unsent] = ["unknown", "unsent"].map(|result| writes(&bench, "patch", result));
        cluster.asked().len() as u64 == unknown && unsent == 3 * unknown
    };
    bench.until("hello", |status| told(status) == expect && one_of_four()).await;
    bench.stop().await;
}

/// A plugin waits for its first answer while its host loses the lead; then comes its last call.
async fn check_not_leader(last: (&str, &[Argument<'_>])) {
    let (elector, lock) = elector();
    let leadership = elector.leadership();
    let cluster = Cluster::new(Answer::Later);
    let rules = format!("{PODS}, {{resources: [events.k8s.io/v1/events], verbs: [create]}}");
    let settings = format!("hello: {{limits: {{waitTime: 20s}}, writes: [{rules}]}}");
    let bench = cluster.bench_led(host(&settings), Some(leadership.clone()));
    bench.source.modify(&typed_pod());
    let patch = patch("v1/pods", "shop", "web", "");
    bench.drop_in("hello.wasm", &guest_that(&[("patch", &patch), last]));
    let electing = tokio::spawn(elector.run(pending()));
    bench.until("hello", |_| cluster.asked().len() == 1).await;
    // As if somebody had taken the lease.
    let record = lock.record().expect("it is held");
    lock.put(LeaderElectionRecord { holder_identity: "b".into(), ..record });
    leadership.lost().await;
    cluster.answer.send_replace(Answer::Done);
    bench.until("hello", |status| told(status) == "the plugin answered: not-leader").await;
    assert_eq!(cluster.asked().len(), 1, "{last:?}");
    electing.abort();
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lost_the_lead_during_a_call_writes_nothing_more() {
    check_not_leader(("patch", &patch("v1/pods", "shop", "web", ""))).await;
    check_not_leader(("record-event", &records())).await;
}

/// A plugin with one attempt writes about a pod, and nothing is lost: not when it has failed so often, nor once that is over.
async fn check_nothing_lost(
    begin: (Answer, &str),
    (failures, last): (u64, &str),
    end: (Answer, &str),
) {
    let settings =
        |writes: &str| host(&format!("hello: {{limits: {{attempts: 1}}, writes: [{writes}]}}"));
    let cluster = Cluster::new(begin.0);
    let bench = cluster.bench(settings(begin.1));
    let patch = patch("v1/pods", "shop", "web", "");
    bench.drop_in("hello.wasm", &guest_again(&[("patch", &patch)]));
    let retried = |status: Option<&PluginStatus>| {
        status.map_or(0, |status| status.counters.retry.load(Relaxed))
    };
    bench.until("hello", |status| retried(status) >= failures).await;
    let shown = told(bench.status("hello").as_ref());
    assert!(shown.contains(last), "{shown}");
    cluster.answers(end.0);
    bench.configurations.send_replace(Arc::new(settings(end.1)));
    bench.until("hello", |status| handled(status) == 1).await;
    let status = bench.status("hello").expect("it runs");
    assert_eq!((status.dead_letters, status.counters.dead.load(Relaxed)), (0, 0), "{last}");
    bench.stop().await;
}

#[tokio::test]
async fn no_write_is_lost_for_a_grant_or_a_lead_that_comes_late() {
    let (granted, lead) = ((Answer::Done, PODS), Answer::Refused(WriteError::NotLeader));
    check_nothing_lost((Answer::Done, ""), (5, "is not granted"), granted.clone()).await;
    check_nothing_lost((lead, PODS), (5, "not-leader"), granted).await;
}

#[tokio::test]
async fn who_may_write_a_secret_does_not_read_it() {
    let rule = "{resources: [v1/secrets, v1/configmaps], verbs: [patch]}";
    let answer = r#"{"apiVersion":"v1","data":{"k":"dg=="},"metadata":{"name":"web"}}"#;
    let cut = r#"{"apiVersion":"v1","metadata":{"name":"web"}}"#;
    for (resource, expect) in [("v1/secrets", cut), ("v1/configmaps", answer)] {
        let cluster = Cluster::new(Answer::With(answer));
        let bench = cluster.bench(granted(rule));
        bench.drop_in("hello.wasm", &guest("patch", &patch(resource, "shop", "web", "")));
        let expect = format!("the plugin answered: {expect}");
        bench.until("hello", |status| told(status) == expect).await;
        bench.stop().await;
    }
}

/// Invariant 28.
#[tokio::test]
async fn a_request_under_way_ends_before_another_version_takes_over() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(granted(PODS));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |_| cluster.asked().len() == 1).await;
    bench.drop_in("hello.wasm", &hello_again(2));
    let loads = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| {
            status.state.name() == "reloading" || status.to_json()["counters"]["reloads"] == 1
        })
    };
    bench.until("hello", loads).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 0);
    cluster.answer.send_replace(Answer::Done);
    bench.until("hello", |status| handled(status) == 1 && is(status, "running")).await;
    assert_eq!(cluster.asked().len(), 1, "the event is not told again");
    bench.stop().await;
}

#[tokio::test]
async fn an_actor_has_work_for_as_long_as_a_call_lasts_however_that_ends() {
    let conflict = || {
        let message = "the object has been modified".to_owned();
        WriteError::Status { code: 409, reason: "Conflict".to_owned(), message, retry_after: None }
    };
    for answer in [Answer::Done, Answer::Refused(conflict())] {
        let cluster = Cluster::new(Answer::Later);
        let bench = cluster.bench(granted(PODS));
        let has_work = || {
            let pulses = bench.plugins.pulses(Instant::now());
            let of_plugin = pulses.into_iter().find(|(task, _)| task.ends_with("the plugin hello"));
            of_plugin.expect("it runs").1.has_work
        };
        bench.drop_in("hello.wasm", &patches("shop", "web", ""));
        bench.until("hello", |_| cluster.asked().len() == 1).await;
        assert!(has_work());
        cluster.answers(answer);
        bench.until("hello", |_| !has_work()).await;
        bench.stop().await;
    }
}

/// Never comes back from a request, nor gives its thread away, until it is let go.
struct BlockingCluster(Arc<Mutex<mpsc::Receiver<()>>>, Arc<AtomicUsize>);

impl ClusterWriter for BlockingCluster {
    fn write(&self, _: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let (let_go, asked) = (self.0.clone(), self.1.clone());
        Box::pin(async move {
            asked.fetch_add(1, Relaxed);
            _ = let_go.lock().recv();
            Ok(b"{}".to_vec())
        })
    }
}

#[tokio::test]
async fn an_actor_that_never_comes_back_from_a_function_of_the_host_has_work_and_makes_no_step() {
    let (go, let_go) = mpsc::channel();
    let asked = Arc::<AtomicUsize>::default();
    let cluster = Arc::new(BlockingCluster(Arc::new(Mutex::new(let_go)), asked.clone()));
    let bench = Bench::start_beside(None, granted(PODS), None, cluster);
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    let pulse = || {
        let pulses = bench.plugins.pulses(Instant::now());
        let of_plugin = pulses.into_iter().find(|(task, _)| task.ends_with("the plugin hello"));
        of_plugin.map(|(_, pulse)| pulse)
    };
    let has_work = || pulse().is_some_and(|pulse| pulse.has_work);
    // The thread is in the function now, and no tick ends this poll.
    bench.until("hello", |_| asked.load(Relaxed) == 1).await;
    let before = pulse();
    assert!(has_work());
    bench.source.add(&pod("b"));
    bench.until("hello", |status| status.is_some_and(|status| status.queue.depth > 0)).await;
    assert_eq!(pulse(), before);
    drop(go);
    bench.until("hello", |status| handled(status) == 2 && !has_work()).await;
    bench.stop().await;
}

/// A defect of the host: a request panics in the actor that sends it. The others are done.
#[derive(Default)]
struct PanickingCluster(AtomicUsize);

impl ClusterWriter for PanickingCluster {
    fn write(&self, _: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
        let number = self.0.fetch_add(1, Relaxed);
        Box::pin(async move {
            assert_ne!(number, 0, "on purpose");
            Ok(b"{}".to_vec())
        })
    }
}

/// The version in charge comes back, whatever its file is now.
#[tokio::test]
async fn an_actor_starts_again_beside_a_file_that_was_refused() {
    let bench = Bench::start_beside(None, granted(PODS), None, Arc::<PanickingCluster>::default());
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |status| is(status, "running")).await;
    bench.drop_in("hello.wasm", b"\0asm, and no more");
    bench.until("hello", |status| last_load(status).contains("failed")).await;
    bench.source.add(&pod("a"));
    bench.until("hello", |status| handled(status) == 1 && is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn an_actor_that_a_defect_of_the_host_ended_starts_again_and_loses_no_event() {
    let bench = Bench::start_beside(None, granted(PODS), None, Arc::<PanickingCluster>::default());
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |status| handled(status) == 1).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) == 2 && is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_is_removed_or_stopped_waits_no_longer_than_it_may() {
    let cluster = Cluster::new(Answer::Later);
    let bench =
        cluster.bench(host(&format!("hello: {{limits: {{waitTime: 300ms}}, writes: [{PODS}]}}")));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |_| !cluster.asked().is_empty()).await;
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    bench.drop_in("hello.wasm", &patches("shop", "again", ""));
    bench.until("hello", |_| cluster.asked().len() >= 2).await;
    let began = Instant::now();
    bench.stop().await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_dry_run_changes_nothing_and_is_shown() {
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(host(&format!("hello: {{dryRun: true, writes: [{PODS}]}}")));
    bench.drop_in("hello.yaml", &yaml("dryRun: false"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |status| handled(status) == 1).await;
    let expect =
        "PATCH /api/v1/namespaces/shop/pods/web?fieldManager=informant-hello&dryRun=All {}";
    assert_eq!(cluster.asked(), [expect]);
    let shown =
        bench.status("hello").expect("it runs").to_json()["configuration"]["dryRun"].clone();
    assert_eq!(shown["value"], true);
    bench.stop().await;
}

#[tokio::test]
async fn kubernetes_events_are_written_without_waiting() {
    let plugin = guest("record-event", &records());
    let expect = "to create events.k8s.io/v1/events in default is not granted; to grant it, write in the host's own \
                  configuration (--config): plugins: {hello: {writes: [{resources: [events.k8s.io/v1/events], verbs: [create], namespaces: [default]}]}}";
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(Configurations::default());
    bench.source.modify(&typed_pod());
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| told(status) == format!("the plugin answered: {expect}")).await;
    bench.stop().await;
    let bench = cluster.bench(granted("{resources: [events.k8s.io/v1/events], verbs: [create]}"));
    bench.source.modify(&typed_pod());
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) >= 1 && !cluster.asked().is_empty()).await;
    let asked = cluster.asked().remove(0);
    let begins =
        "POST /apis/events.k8s.io/v1/namespaces/default/events?fieldManager=informant-hello ";
    let event = asked.strip_prefix(begins).unwrap_or_else(|| panic!("{asked}"));
    let event: serde_json::Value = serde_json::from_str(event).expect("it is JSON");
    assert_eq!((&event["type"], &event["note"]), (&"Warning".into(), &"it is there".into()));
    assert_eq!(event["regarding"]["kind"], "Pod");
    cluster.answer.send_replace(Answer::Done);
    let written = |status: Option<&PluginStatus>| {
        status.is_some_and(|it| {
            it.counters.events_written.load(std::sync::atomic::Ordering::Relaxed) > 0
        })
    };
    bench.until("hello", written).await;
    bench.stop().await;
}

#[tokio::test]
async fn kubernetes_events_are_about_objects_with_names_of_a_bounded_length() {
    let name = "a".repeat(254);
    let object = [Text("v1/pods"), Text("default"), Text(&name), Number(1)];
    let call: Vec<_> = object.into_iter().chain([Text("Seen"), Text("it is there")]).collect();
    let cluster = Cluster::new(Answer::Done);
    let bench = cluster.bench(granted("{resources: [events.k8s.io/v1/events], verbs: [create]}"));
    bench.source.modify(&typed_pod());
    bench.drop_in("hello.wasm", &guest("record-event", &call));
    let expect = "the plugin answered: the name has 254 bytes, and may have 1 to 253";
    bench.until("hello", |status| told(status) == expect).await;
    bench.stop().await;
}

/// With what an API server puts into every object.
fn typed_pod() -> String {
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u"}}"#
        .to_owned()
}
