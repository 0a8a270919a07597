//! Requests and their redirects against servers with the test's answers.

use super::*;
use crate::contract::configuration::{Configurations, Document, Layer, read};
use crate::contract::descriptor::Descriptor;
use crate::outside::http_client::HttpClient;
use crate::outside::leading::Leading;
use crate::outside::outbound::{AddressKind, PluginRequest, SecretHeader, SecretName};
use crate::powers::restriction::{HeldVersion, Restriction};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Gives its answers in order, and notes the requests.
#[derive(Default)]
struct Servers {
    asked: Mutex<Vec<HttpRequest>>,
    answers: Mutex<VecDeque<Result<HttpResponse, HttpError>>>,
}

impl HttpClient for Arc<Servers> {
    fn send(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, HttpError>> {
        self.asked.lock().push(request);
        let answer = self.answers.lock().pop_front().expect("the test knows how often it is asked");
        Box::pin(std::future::ready(answer))
    }
}

type Answered = Result<HttpResponse, HttpError>;

fn answer(status: u16, location: &str) -> Answered {
    let location = (!location.is_empty()).then(|| ("location".to_owned(), location.into()));
    Ok(HttpResponse { status, headers: location.into_iter().collect(), body: Vec::new() })
}

/// The settings of a plugin with these grants, `http` of the host's own configuration.
fn settings(rules: &str) -> PluginSettings {
    let document = Document::read("host.yaml", format!("http: [{rules}]").as_bytes());
    let layer = read(&document.expect("it is YAML"), Layer::of_plugin).expect("it is well formed");
    let name = || "a".parse().expect("a name");
    let plugins = BTreeMap::from([(name(), layer)]);
    let configurations = Configurations::new(Layer::default(), plugins, Default::default());
    configurations.and_then(|it| it.of(&name(), None)).expect("nothing bounds it")
}

/// An exchange of a plugin without a trace.
fn exchange<'a>(
    settings: &'a PluginSettings,
    restriction: &'a Restriction,
    turns: &'a HttpTurns,
    sent: &'a AtomicBool,
) -> Exchange<'a> {
    Exchange { plugin: "a", settings, restriction, turns, traceparent: None, sent }
}

/// Sends `POST https://a.org/k` with a body and a header. Returns the sent requests, as `POST https://a.org/k secret`,
/// and the end.
async fn asked(rules: &str, answers: Vec<Answered>) -> (Vec<String>, Result<u16, ExchangeFailure>) {
    asked_with(rules, answers, "content-type").await
}

async fn asked_with(
    rules: &str,
    answers: Vec<Answered>,
    header: &str,
) -> (Vec<String>, Result<u16, ExchangeFailure>) {
    let servers = Arc::new(Servers { answers: Mutex::new(answers.into()), ..Servers::default() });
    let turns = HttpTurns::new(Arc::new(servers.clone()), Leading::default());
    let (settings, sent) = (settings(rules), AtomicBool::new(false));
    let restriction = &Restriction::default();
    let exchange = exchange(&settings, restriction, &turns, &sent);
    let asked = PluginRequest {
        method: "POST".to_owned(),
        url: "https://a.org/k".to_owned(),
        headers: vec![(header.to_owned(), "own".to_owned())],
        body: b"body".to_vec(),
    };
    let request = OutboundRequest::new(asked, 10).expect("it is well formed");
    let answer = exchange.run(request).await.map(|answer| answer.status);
    let asked = servers.asked.lock();
    let shown = asked.iter().map(|request| {
        let secrets: Vec<&str> = request.secrets.iter().map(|it| it.secret.as_str()).collect();
        let (origin, path) = (request.target.origin(), request.target.path_and_query());
        format!("{} {origin}{path} {}", request.method, secrets.join(",")).trim_end().to_owned()
    });
    assert_eq!(sent.load(Relaxed), !asked.is_empty());
    (shown.collect(), answer)
}

#[tokio::test]
async fn a_request_and_its_redirects_join_the_hosts_trace() {
    let servers = Arc::new(Servers::default());
    servers.answers.lock().extend([answer(302, "https://b.org/l"), answer(200, "")]);
    let turns = HttpTurns::new(Arc::new(servers.clone()), Leading::default());
    let (settings, sent) = (settings(&format!("{A}, {B}")), AtomicBool::new(false));
    let restriction = &Restriction::default();
    let exchange = Exchange {
        traceparent: Some("00-a-b-01"),
        ..exchange(&settings, restriction, &turns, &sent)
    };
    let (method, url) = ("GET".to_owned(), "https://a.org/k".to_owned());
    let headers = vec![("tracestate".to_owned(), "of=another".to_owned())];
    let asked = PluginRequest { method, url, headers, body: Vec::new() };
    let request = OutboundRequest::new(asked, 10).expect("it is well formed");
    exchange.run(request).await.expect("it is granted");
    let asked = servers.asked.lock();
    let header = ("traceparent".to_owned(), b"00-a-b-01".to_vec());
    for request in asked.iter() {
        let of_traces = request.headers.iter().filter(|(name, _)| name.starts_with("trace"));
        assert_eq!(of_traces.collect::<Vec<_>>(), [&header], "{}", request.target.origin());
    }
}

const A: &str = "{origins: [a.org], methods: [GET, POST], headers: {Authorization: {secret: s, prefix: 'Bearer '}}}";
const B: &str = "{origins: [b.org], methods: [GET, POST], headers: {Authorization: {secret: t}}}";

#[tokio::test]
async fn a_request_is_sent_as_it_was_asked_for() {
    let servers = Arc::new(Servers::default());
    servers.answers.lock().push_back(answer(200, ""));
    let turns = HttpTurns::new(Arc::new(servers.clone()), Leading::default());
    let (settings, sent) = (settings(A), AtomicBool::new(false));
    let restriction = &Restriction::default();
    let exchange = exchange(&settings, restriction, &turns, &sent);
    let asked = PluginRequest {
        method: "POST".to_owned(),
        url: "https://a.org/k".to_owned(),
        headers: vec![("X-Own".to_owned(), "own".to_owned())],
        body: b"body".to_vec(),
    };
    let request = OutboundRequest::new(asked, 10).expect("it is well formed");
    let target = request.target.clone();
    exchange.run(request).await.expect("it is granted");
    let secret: SecretName = "s".parse().expect("a name");
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let expect = HttpRequest {
        plugin: "a".to_owned(),
        method: "POST",
        target,
        headers: vec![header("x-own", "own"), header("user-agent", USER_AGENT)],
        secrets: vec![SecretHeader {
            name: "authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            secret,
        }],
        body: b"body".as_slice().into(),
        addresses: AddressKinds::default(),
        head_bytes_max: HEAD_BYTES_MAX,
        body_bytes_max: 1 << 20,
    };
    assert_eq!(servers.asked.lock()[..], [expect]);
}

#[tokio::test]
async fn nothing_is_sent_that_is_not_granted() {
    let (sent, answer) = asked(B, vec![]).await;
    assert_eq!(sent, [""; 0]);
    let Err(ExchangeFailure::NotGranted(text)) = answer else { panic!("{answer:?}") };
    assert!(text.starts_with("to POST https://a.org is not granted; to grant it, "), "{text}");
}

#[tokio::test]
async fn a_header_that_the_host_adds_is_not_the_plugins_to_set() {
    let (sent, answer) = asked_with(A, vec![], "AUTHORIZATION").await;
    assert_eq!(sent, [""; 0]);
    let text =
        "header \"authorization\" is the host's to add to requests to https://a.org: leave it out";
    assert_eq!(answer, Err(ExchangeFailure::NotGranted(text.to_owned())));
}

#[tokio::test]
async fn a_redirect_within_an_origin_keeps_the_credential() {
    let (sent, ended) = asked(A, vec![answer(307, "/l"), answer(200, "")]).await;
    assert_eq!(sent, ["POST https://a.org/k s", "POST https://a.org/l s"]);
    assert_eq!(ended, Ok(200));
}

/// Invariant 39.
#[tokio::test]
async fn a_redirect_elsewhere_has_no_credential_neither_this_nor_that_nor_on_its_way_back() {
    let rules = format!("{A}, {B}");
    let answers =
        vec![answer(302, "https://b.org/x"), answer(302, "https://a.org/y"), answer(404, "")];
    let (sent, ended) = asked(&rules, answers).await;
    assert_eq!(sent, ["POST https://a.org/k s", "GET https://b.org/x", "GET https://a.org/y"]);
    assert_eq!(ended, Ok(404));
}

/// Checks that a redirect there is not followed, and the error.
async fn check_not_followed(location: &str, expect: &str) {
    let (sent, ended) = asked(A, vec![answer(302, location)]).await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let told = match ended {
        Err(ExchangeFailure::NotGranted(text) | ExchangeFailure::Unknown(text)) => text,
        other => panic!("{other:?}"),
    };
    let expect = format!("https://a.org was asked and leads elsewhere: {expect}");
    assert!(told.starts_with(&expect), "{told}");
    assert!(!told.contains("token"), "it shows what the answer has: {told}");
}

/// Invariant 38.
#[tokio::test]
async fn a_redirect_to_where_nothing_is_granted_is_not_followed() {
    check_not_followed("https://evil.org/?token", "to GET https://evil.org is not granted").await;
    check_not_followed("http://a.org/token", "to GET http://a.org is not granted").await;
    check_not_followed("//169.254.169.254/token", "to GET https://169.254.169.254 is not").await;
    check_not_followed("https://u:token@a.org/", "its Location: it has a user").await;
    check_not_followed("file:///token", "its Location: it is neither https nor http").await;
}

#[tokio::test]
async fn redirects_are_followed_so_far_and_no_farther() {
    let redirects = |count: usize| (0..count).map(|n| answer(302, &format!("/{n}")));
    let followed = redirects(REDIRECTS_MAX).chain([answer(200, "")]).collect();
    let (sent, ended) = asked(A, followed).await;
    assert_eq!((sent.len(), ended), (REDIRECTS_MAX + 1, Ok(200)));
    let (sent, ended) = asked(A, redirects(REDIRECTS_MAX + 1).collect()).await;
    assert_eq!(sent.len(), REDIRECTS_MAX + 1);
    let text = "https://a.org was asked and leads elsewhere: it does so more than 5 times, the last time to https://a.org";
    assert_eq!(ended, Err(ExchangeFailure::Unknown(text.to_owned())));
}

#[tokio::test]
async fn a_lead_that_is_lost_behind_a_redirect_does_not_mean_that_nothing_was_sent() {
    let lost = || Err(HttpError::NotLeader);
    let (_, ended) = asked(A, vec![lost()]).await;
    assert_eq!(ended, Err(ExchangeFailure::NotLeader));
    let (_, ended) = asked(A, vec![answer(302, "/x"), lost()]).await;
    let text = "https://a.org was asked and leads elsewhere: this host leads no more, and nothing was sent there";
    assert_eq!(ended, Err(ExchangeFailure::Unknown(text.to_owned())));
}

#[tokio::test]
async fn a_part_of_an_answer_is_not_asked_for_with_a_secret() {
    for header in ["Range", "If-Range"] {
        let (sent, ended) = asked_with(A, vec![], header).await;
        assert_eq!(sent, [""; 0]);
        let header = header.to_ascii_lowercase();
        let text = format!(
            "header {header:?} does not go along with the secret that the host adds to requests to https://a.org: leave it out"
        );
        assert_eq!(ended, Err(ExchangeFailure::NotGranted(text)));
    }
    let without = "{origins: [a.org], methods: [POST]}";
    let (sent, ended) = asked_with(without, vec![answer(206, "")], "Range").await;
    assert_eq!((sent.len(), ended), (1, Ok(206)));
}

/// The request of a version with the first rules after the second rules were configured.
async fn asked_under(rules: &str, later: &str) -> Result<HttpRequest, ExchangeFailure> {
    let servers = Arc::new(Servers::default());
    servers.answers.lock().push_back(answer(200, ""));
    let turns = HttpTurns::new(Arc::new(servers.clone()), Leading::default());
    let (settings, sent) = (Arc::new(settings(rules)), AtomicBool::new(false));
    let descriptor = Descriptor::parse(br#"{"version":"1"}"#).expect("a descriptor");
    let restriction = Restriction::default();
    let version = HeldVersion { settings: &settings, descriptor: &descriptor, sha256: "" };
    restriction.hold("a", [version].into_iter(), &Arc::new(self::settings(later)));
    let exchange = exchange(&settings, &restriction, &turns, &sent);
    let (method, url) = ("POST".to_owned(), "https://a.org/k".to_owned());
    let asked = PluginRequest { method, url, headers: Vec::new(), body: Vec::new() };
    let request = OutboundRequest::new(asked, 10).expect("it is well formed");
    exchange.run(request).await?;
    let mut asked = servers.asked.lock();
    Ok(asked.remove(0))
}

/// Invariant 40.
#[tokio::test]
async fn what_a_version_runs_with_and_what_was_configured_since_both_grant_a_request() {
    let private = "{origins: [a.org], methods: [POST], addresses: [private]}";
    let both = "{origins: [a.org], methods: [POST], addresses: [public, private]}";
    let request = asked_under(A, A).await.expect("nothing has changed");
    assert_eq!(request.secrets.len(), 1);
    for later in ["", B, "{origins: [a.org], methods: [POST], paths: [/other]}"] {
        let refused = asked_under(A, later).await.expect_err("it was taken away");
        assert!(matches!(refused, ExchangeFailure::NotGranted(_)), "{refused:?}");
    }
    let request = asked_under(both, private).await.expect("it is granted still");
    assert_eq!(request.addresses, AddressKinds::new([AddressKind::Private]));
    let request = asked_under(private, both).await.expect("it is granted still");
    assert_eq!(request.addresses, AddressKinds::new([AddressKind::Private]));
    let request = asked_under(A, both).await.expect("it is granted still");
    assert_eq!(request.secrets, []);
    // Added grants are for the next version.
    let refused = asked_under(B, A).await.expect_err("it never was granted");
    assert!(matches!(refused, ExchangeFailure::NotGranted(_)), "{refused:?}");
}

#[tokio::test]
async fn what_could_not_be_sent_behind_a_redirect_does_not_mean_that_nothing_was() {
    let unsent = || Err(HttpError::Unsent("no address".to_owned()));
    let (_, ended) = asked(A, vec![unsent()]).await;
    assert_eq!(ended, Err(ExchangeFailure::Unsent("no address".to_owned())));
    let (_, ended) = asked(A, vec![answer(302, "/x"), unsent()]).await;
    let text = "https://a.org was asked and leads elsewhere: no address".to_owned();
    assert_eq!(ended, Err(ExchangeFailure::Unknown(text)));
}

#[tokio::test]
async fn an_address_that_is_not_granted_is_told_with_what_would_grant_it() {
    let refused = async |rules: &str, address: &str| {
        let address = address.parse().expect("an address");
        match asked(rules, vec![Err(HttpError::Address(address))]).await.1 {
            Err(ExchangeFailure::NotGranted(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let text = refused(A, "10.0.0.1").await;
    let expect = "https://a.org has a private address, which is not granted; to grant it, ";
    assert!(text.starts_with(expect) && text.contains("addresses: [public, private]"), "{text}");
    let text = refused(A, "169.254.169.254").await;
    assert_eq!(text, "https://a.org has a link-local address: nothing grants requests to it");
    let text = refused(A, "1.1.1.1").await;
    assert_eq!(text, "https://a.org has an address that no grant allows");
}
