//! Guests that ask the world outside: what is sent, what is not, and who waits for it.

use super::configuration::{host, yaml};
use super::standby::elector;
use super::writes::{fail, told};
use super::{Bench, HELLO, handled, is, pod, swap};
use futures::future::BoxFuture;
use informant_cache::leader_election::{LeaderElectionRecord, Leadership};
use informant_runtime::configuration::Configurations;
use informant_runtime::{
    HttpClient, HttpError, HttpRequest, HttpResponse, NoCluster, PluginStatus,
};
use parking_lot::Mutex;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// Servers that all answer as the test says.
struct World {
    asked: Mutex<Vec<HttpRequest>>,
    answer: watch::Sender<Answer>,
}

#[derive(Clone)]
enum Answer {
    Body(&'static str),
    Refused(HttpError),
    /// None for now.
    Later,
}

impl HttpClient for World {
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        self.asked.lock().push(request);
        let mut answer = self.answer.subscribe();
        Box::pin(async move {
            let told = answer.wait_for(|answer| !matches!(answer, Answer::Later)).await;
            match &*told.expect("the test says what is answered") {
                Answer::Refused(error) => Err(error.clone()),
                Answer::Body(body) => {
                    Ok(HttpResponse { status: 200, headers: Vec::new(), body: (*body).into() })
                }
                Answer::Later => unreachable!("it is waited for another"),
            }
        })
    }
}

impl World {
    fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self { asked: Mutex::default(), answer: watch::Sender::new(answer) })
    }

    /// `POST https://a.org/k body` of what it was asked.
    fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock();
        let shown = asked.iter().map(|request| {
            let (origin, path) = (request.target.origin(), request.target.path_and_query());
            format!("{} {origin}{path} {}", request.method, String::from_utf8_lossy(&request.body))
        });
        shown.collect()
    }

    fn bench(self: &Arc<Self>, configurations: Configurations) -> Bench {
        self.bench_led(configurations, None)
    }

    fn bench_led(
        self: &Arc<Self>,
        configurations: Configurations,
        leadership: Option<Leadership>,
    ) -> Bench {
        let ways = (Arc::new(NoCluster) as _, self.clone() as _);
        let bench = Bench::start_among(None, configurations, leadership, ways);
        bench.source.add(&pod("a"));
        bench
    }
}

/// `hello` that makes a request in `handle`, so often, and fails for good with the words that it is answered last: an error, or a body that has any.
fn guest(method: &str, url: &str, timeout_ms: u32, times: usize) -> Vec<u8> {
    guest_of(HELLO, (method, url), timeout_ms, times)
}

/// The same of another text than that of `hello`.
fn guest_of(text: &str, (method, url): (&str, &str), timeout_ms: u32, times: usize) -> Vec<u8> {
    let mut data = "not-leader".to_owned();
    let mut flat = Vec::new();
    for text in [method, url, "body"] {
        flat.extend([784 + data.len(), text.len()]);
        data.push_str(text);
    }
    // Without headers, which stand between URL and body; the answer is to be at 400.
    flat.splice(4..4, [0, 0]);
    flat.extend([timeout_ms as usize, 400]);
    let words: String = flat.iter().map(|word| format!(" (i32.const {word})")).collect();
    let parameters = vec!["i32"; flat.len()].join(" ");
    let memory = r#"(memory (export "memory") 1)"#;
    let more = format!(
        r#"(import "informant:plugin/http@0.1.0" "send" (func $send (param {parameters})))
        (memory (export "memory") 64) (data (i32.const 784) "{data}")
        (data (i32.const 464) "\10\03\00\00\0a\00\00\00")"#
    );
    let (error, body, not_leader) = (fail(408, 412), fail(416, 420), fail(464, 468));
    let fails = format!(
        "(if (i32.load8_u (i32.const 400))
          (then (if (i32.eq (i32.load8_u (i32.const 404)) (i32.const 1)) (then {not_leader}))
            {error})
          (else (if (i32.load (i32.const 420)) (then {body}))))"
    );
    let begin = "(local $line i32) (local $end i32)\n";
    let asks = format!("(call $send{words})\n").repeat(times);
    let text = swap(text, memory, &more);
    let asks = format!("{begin}(i32.store8 (i32.const 320) (i32.const 0)) {asks} {fails}\n");
    wat::parse_str(swap(&text, begin, &asks)).expect("it is well formed")
}

const RULE: &str = "{origins: [a.org], methods: [POST]}";

/// The host's own word for `hello`.
fn granted(more: &str) -> Configurations {
    host(&format!("hello: {{http: [{RULE}]{more}}}"))
}

fn requests(bench: &Bench, result: &'static str) -> u64 {
    let requests = bench.status("hello").map(|it| it.counters.http_requests()).unwrap_or_default();
    requests.into_iter().filter(|((_, of), _)| *of == result).map(|(_, n)| n).sum()
}

/// What a call fails with, how it is counted, and how often somebody was asked by each attempt. A slow machine may have made
/// more than one.
async fn check(
    configurations: Configurations,
    plugin: &[u8],
    (answer, asked_by_each): (Answer, usize),
    expect: &str,
    result: &'static str,
) {
    let world = World::new(answer);
    let bench = world.bench(configurations);
    bench.drop_in("hello.wasm", plugin);
    bench.until("hello", |status| !told(status).is_empty()).await;
    assert_eq!(told(bench.status("hello").as_ref()), format!("the plugin answered: {expect}"));
    // The count comes after the request: a next attempt may be between the two.
    let asked = world.asked().len();
    let counted = requests(&bench, result) as usize + 1;
    assert!(counted > 1, "no request counts as {result}");
    assert!((asked_by_each..=asked_by_each * counted).contains(&asked), "{asked}, {counted}");
    bench.stop().await;
}

const URL: &str = "https://a.org/k?secret";

#[tokio::test]
async fn what_is_granted_is_sent_and_its_answer_is_the_plugins() {
    let world = World::new(Answer::Body(""));
    let bench = world.bench(granted(""));
    bench.drop_in("hello.wasm", &guest("POST", URL, 0, 2));
    bench.until("hello", |status| handled(status) == 1).await;
    assert_eq!(world.asked(), ["POST https://a.org/k?secret body"; 2]);
    assert_eq!(requests(&bench, "ok"), 2);
    bench.stop().await;
    let plugin = guest("POST", URL, 0, 1);
    check(granted(""), &plugin, (Answer::Body("hello"), 1), "hello", "ok").await;
}

#[tokio::test]
async fn what_is_not_granted_is_not_sent_and_the_line_that_would_grant_it_does() {
    let plugin = guest("POST", URL, 0, 1);
    let rule = r#"{http: [{origins: ["https://a.org"], methods: [POST], paths: ["/k"]}]}"#;
    let own = "write in the host's own configuration (--config): plugins: ";
    let expect =
        format!("to POST https://a.org is not granted; to grant it, {own}{{hello: {rule}}}");
    let nobody = (Answer::Body(""), 0);
    check(Configurations::default(), &plugin, nobody, &expect, "not-granted").await;
    let world = World::new(Answer::Body(""));
    let bench = world.bench(host(&format!("hello: {rule}")));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) == 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_cannot_be_a_request_is_not_sent() {
    let nobody = || (Answer::Body(""), 0);
    let plugin = guest("POST", "https://a.org@evil.org/", 0, 1);
    let expect =
        "it has a user or a password: the host adds credentials (headers in the configuration)";
    check(granted(""), &plugin, nobody(), expect, "invalid").await;
    let expect = "it has 4 bytes, and at most 3 are sent (limits.httpRequestBytes)";
    let limits = granted(", limits: {httpRequestBytes: 3}");
    check(limits, &guest("POST", URL, 0, 1), nobody(), expect, "invalid").await;
}

#[tokio::test]
async fn a_failure_says_whether_anything_was_sent() {
    let plugin = guest("POST", URL, 0, 1);
    let unsent = Answer::Refused(HttpError::Unsent("no address".to_owned()));
    let expect = "nothing was sent: no address";
    check(granted(""), &plugin, (unsent, 1), expect, "unsent").await;
    let unknown = Answer::Refused(HttpError::Unknown("it broke off".to_owned()));
    check(granted(""), &plugin, (unknown, 1), "it broke off", "unknown").await;
    let large = Answer::Refused(HttpError::TooLarge("it has more".to_owned()));
    check(granted(""), &plugin, (large, 1), "it has more", "too-large").await;
}

#[tokio::test]
async fn an_address_of_another_kind_needs_a_grant_of_its_own() {
    let plugin = guest("POST", URL, 0, 1);
    let private = Answer::Refused(HttpError::Address([10, 0, 0, 1].into()));
    let line = r#"plugins: {hello: {http: [{origins: ["https://a.org"], methods: [POST], paths: ["/k"], addresses: [public, private]}]}}"#;
    let expect = format!(
        "https://a.org has a private address, which is not granted; to grant it, write in the host's own configuration \
         (--config): {line}, before the rules that are there"
    );
    check(granted(""), &plugin, (private, 1), &expect, "not-granted").await;
}

#[tokio::test]
async fn a_plugin_that_means_to_ask_more_than_it_may_waits() {
    let descriptor = super::DESCRIPTOR.strip_suffix('}').expect("it is an object");
    let asks = r#","http":[{"origins":["a.org"],"methods":["POST"]}]}"#;
    let text = super::described(&format!("{descriptor}{asks}"));
    let plugin = wat::parse_str(text).expect("it is well formed");
    let bench = World::new(Answer::Body("")).bench(host(&format!("ceiling: {{http: [{RULE}]}}")));
    bench.drop_in("hello.yaml", &yaml(""));
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| is(status, "waiting")).await;
    let reason = bench.status("hello").expect("it waits").to_json()["reason"].clone();
    let line = r#"http: [{origins: ["https://a.org"], methods: [POST]}]"#;
    let expect = format!(
        "it asks to POST https://a.org, which is not granted; to grant all that it asks for, write in hello.yaml: {line}"
    );
    assert_eq!(reason, expect);
    bench.drop_in("hello.yaml", &yaml(line));
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
}

/// The shown text of what a plugin that runs may do no more.
pub(super) fn restricted(status: Option<&PluginStatus>) -> String {
    let json = status.map(PluginStatus::to_json).unwrap_or_default();
    json["restricted"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_grant_that_is_taken_away_is_gone_though_the_version_runs_on() {
    let descriptor = super::DESCRIPTOR.strip_suffix('}').expect("it is an object");
    let asks = r#","http":[{"origins":["a.org"],"methods":["POST"]}]}"#;
    let text = super::described(&format!("{descriptor}{asks}"));
    let plugin = guest_of(&text, ("POST", URL), 0, 1);
    let world = World::new(Answer::Body(""));
    let bench = world.bench(host(&format!("ceiling: {{http: [{RULE}]}}")));
    let granting = yaml(&format!("http: [{RULE}]"));
    bench.drop_in("hello.yaml", &granting);
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| handled(status) == 1).await;
    assert_eq!(
        (world.asked().len(), restricted(bench.status("hello").as_ref())),
        (1, String::new())
    );

    bench.drop_in("hello.yaml", &yaml("http: []"));
    let refused =
        |status: Option<&PluginStatus>| super::last_load(status).contains("it asks to POST");
    bench.until("hello", |status| refused(status) && is(status, "running")).await;
    assert!(restricted(bench.status("hello").as_ref()).contains("has what both grant"));
    bench.source.modify(&pod("a"));
    bench
        .until("hello", |status| told(status).contains("to POST https://a.org is not granted"))
        .await;
    assert_eq!(world.asked().len(), 1);

    // Whoever takes it back gives it back.
    bench.drop_in("hello.yaml", &granting);
    bench.until("hello", |status| restricted(status).is_empty()).await;
    bench.source.modify(&pod("a"));
    // The refused event comes again, with the later change or before it.
    bench.until("hello", |_| world.asked().len() >= 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn who_waits_for_a_server_keeps_nobody_waiting_and_gives_up_in_time() {
    let world = World::new(Answer::Later);
    let all = format!("ceiling: {{http: [{RULE}]}}\ndefaults: {{http: [{RULE}]}}");
    let bench = world.bench(host(&format!("{all}\nhello: {{limits: {{waitTime: 50ms}}}}")));
    for name in ["hello", "slow", "slower"] {
        bench.drop_in(&format!("{name}.wasm"), &guest("POST", URL, 0, 1));
    }
    bench.drop_in("quick.wasm", &super::hello());
    let expect = "the plugin answered: no answer in time: a call waits 50 ms at most for all its requests (limits.waitTime), and that was \
                  over; it may have been done";
    bench.until("hello", |status| told(status) == expect).await;
    assert_eq!(requests(&bench, "timed-out"), 1);
    bench.until("slow", |_| world.asked().len() == 3).await;
    // All of them are on one thread.
    bench.source.add(&pod("b"));
    bench.until("quick", |status| handled(status) == 2).await;
    for name in ["slow", "slower"] {
        assert_eq!(handled(bench.status(name).as_ref()), 0, "{name}");
    }
    world.answer.send_replace(Answer::Body(""));
    bench.until("slow", |status| handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_request_has_its_own_time_and_the_call_has_one_for_all() {
    let expect =
        "no answer in time: the request's own time (timeout-ms) was over; it may have been done";
    let plugin = guest("POST", URL, 20, 1);
    check(granted(""), &plugin, (Answer::Later, 1), expect, "timed-out").await;
    let world = World::new(Answer::Later);
    let bench = world.bench(granted(", limits: {waitTime: 50ms}"));
    bench.drop_in("hello.wasm", &guest("POST", URL, 0, 4));
    let expect = "the plugin answered: nothing was sent: a call waits 50 ms at most for all its requests (limits.waitTime), and that was \
                  over before its turn came";
    bench.until("hello", |status| told(status) == expect).await;
    assert_eq!((world.asked().len(), requests(&bench, "timed-out")), (1, 4));
    bench.stop().await;
}

#[tokio::test]
async fn who_asks_too_often_waits() {
    let world = World::new(Answer::Body(""));
    let bench = world.bench(granted(", limits: {httpRequests: 2, waitTime: 100ms}"));
    bench.drop_in("hello.wasm", &guest("POST", URL, 0, 3));
    bench.until("hello", |status| told(status).contains("before its turn came")).await;
    assert_eq!((world.asked().len(), requests(&bench, "ok")), (2, 2));
    bench.stop().await;
}

#[tokio::test]
async fn a_dry_run_asks_and_does_nothing() {
    let rule = "{origins: [a.org], methods: [GET, POST]}";
    let dry = || host(&format!("hello: {{dryRun: true, http: [{rule}]}}"));
    let expect = "dry run: POST https://a.org is not sent, as dryRun in the configuration says";
    let nobody = (Answer::Body(""), 0);
    check(dry(), &guest("POST", URL, 0, 1), nobody, expect, "not-granted").await;
    check(dry(), &guest("GET", URL, 0, 1), (Answer::Body("hello"), 1), "hello", "ok").await;
}

#[tokio::test]
async fn a_secret_goes_along_by_its_name() {
    let world = World::new(Answer::Body(""));
    let headers = "headers: {Authorization: {secret: api-token, prefix: 'Bearer '}}";
    let rule = format!("{{origins: [a.org], methods: [POST], {headers}}}");
    let bench = world.bench(host(&format!("hello: {{http: [{rule}]}}")));
    bench.drop_in("hello.wasm", &guest("POST", URL, 0, 1));
    bench.until("hello", |status| handled(status) == 1).await;
    let request = world.asked.lock().remove(0);
    let [secret] = &request.secrets[..] else { panic!("{request:?}") };
    let parts = (secret.name(), secret.prefix(), secret.secret().as_str());
    assert_eq!(parts, ("authorization", "Bearer ", "api-token"));
    assert!(!request.headers.iter().any(|(name, _)| name == "authorization"), "{request:?}");
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_lost_the_lead_during_a_call_asks_nothing_more() {
    let (elector, lock) = elector();
    let leadership = elector.leadership();
    let world = World::new(Answer::Later);
    let configurations = granted(", limits: {waitTime: 20s}");
    let bench = world.bench_led(configurations, Some(leadership.clone()));
    bench.drop_in("hello.wasm", &guest("POST", URL, 0, 2));
    let electing = tokio::spawn(elector.run(pending()));
    bench.until("hello", |_| world.asked().len() == 1).await;
    // As if somebody had taken the lease.
    let record = lock.record().expect("it is held");
    lock.put(LeaderElectionRecord { holder_identity: "b".into(), ..record });
    leadership.lost().await;
    world.answer.send_replace(Answer::Body(""));
    let not_leader = |status: Option<&PluginStatus>| told(status).ends_with(": not-leader");
    bench.until("hello", not_leader).await;
    assert_eq!(world.asked().len(), 1);
    electing.abort();
    bench.stop().await;
}
