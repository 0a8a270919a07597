//! Callers before an API server of the test's making.

use super::*;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Knows the token `good`, of a user with the right to read all but Pods of the namespace `dark`, until the token is revoked.
#[derive(Default)]
struct Server {
    is_revoked: AtomicBool,
    is_away: AtomicBool,
    /// Never answers.
    hangs: AtomicBool,
    asked: AtomicUsize,
}

impl Server {
    async fn answer<T>(self: Arc<Self>, answer: T) -> Result<T, String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        match self.is_away.load(Ordering::Relaxed) {
            true => Err("it is away".to_owned()),
            false => Ok(answer),
        }
    }
}

struct Shared(Arc<Server>);

impl CallerReviews for Shared {
    fn user_of(&self, token: String) -> BoxFuture<'static, Result<Option<UserInfo>, String>> {
        let is_good = token == "good" && !self.0.is_revoked.load(Ordering::Relaxed);
        let user = UserInfo { username: Some("jane".to_owned()), ..UserInfo::default() };
        self.0.clone().answer(is_good.then_some(user)).boxed()
    }

    fn may(
        &self,
        question: SubjectAccessReviewSpec,
    ) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let namespace = question.resource_attributes.and_then(|it| it.namespace);
        let answer = match namespace.as_deref() {
            Some("dark") => AccessAnswer::Denied("no role".to_owned()),
            _ => AccessAnswer::Allowed,
        };
        self.0.clone().answer(answer).boxed()
    }
}

struct Bench {
    server: Arc<Server>,
    callers: Callers,
    pods: GroupVersionResource,
}

impl Bench {
    fn new() -> Self {
        let server = Arc::new(Server::default());
        let callers = Callers::with(Box::new(Shared(server.clone())), Arc::default());
        Self { server, callers, pods: GroupVersionResource::new("", "v1", "pods") }
    }

    /// The status of a request with these headers for Pods of a namespace.
    async fn code(&self, headers: &[(&'static str, &'static str)], namespace: &str) -> u16 {
        self.code_with(None, headers, namespace).await
    }

    /// The same over a connection with this certificate.
    async fn code_with(
        &self,
        certificate: Option<&ClientCertificate>,
        headers: &[(&'static str, &'static str)],
        namespace: &str,
    ) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let access = Access::Objects {
            verb: "list",
            resource: &self.pods,
            subresource: None,
            namespace: Some(namespace),
            name: None,
        };
        let outcome = async {
            let caller = self.callers.authenticate(&map, PEER, certificate).await?;
            self.callers.authorize(&caller, access).await
        };
        outcome.await.map_or_else(|status| refusal(&status).status().as_u16(), |()| 200)
    }

    async fn check(&self, headers: &[(&'static str, &'static str)], namespace: &str, expect: u16) {
        assert_eq!(self.code(headers, namespace).await, expect, "{headers:?} {namespace}");
    }
}

const PEER: Peer = Peer::ONLY;
const GOOD: (&str, &str) = ("authorization", "Bearer good");

/// Invariant 42.
#[tokio::test]
async fn a_request_needs_one_valid_token_and_the_right() {
    let bench = Bench::new();
    bench.check(&[GOOD], "shop", 200).await;
    bench.check(&[("authorization", "bearer good")], "shop", 200).await;
    bench.check(&[GOOD], "dark", 403).await;
    let without =
        ["Bearer", "Bearer ", "Bearer bad", "Basic good", "good", "Bearergood", "Bearer good bad"];
    for value in without {
        bench.check(&[("authorization", value)], "shop", 401).await;
    }
    bench.check(&[], "shop", 401).await;
    bench.check(&[GOOD, GOOD], "shop", 401).await;
    bench.check(&[GOOD, ("authorization", "Bearer bad")], "shop", 401).await;
    bench.check(&[("x-remote-user", "admin")], "shop", 401).await;
    bench.check(&[GOOD, ("impersonate-user", "admin")], "shop", 403).await;
    bench.check(&[GOOD, ("impersonate-extra-scopes", "all")], "shop", 403).await;
    let refused = &bench.callers.refused;
    let counts = [&refused.unauthenticated, &refused.forbidden, &refused.unknown];
    assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [11, 3, 0]);
}

#[tokio::test]
async fn one_user_asks_for_its_rights_on_few_plugins_at_once() {
    let callers = Bench::new().callers;
    let user = |name: &str| {
        let user = UserInfo { username: Some(name.to_owned()), ..UserInfo::default() };
        Caller::User(Arc::new(user))
    };
    let jane = user("jane");
    let places: Vec<_> = (0..RIGHTS_OF_USER_MAX).map(|_| callers.place_for_rights(&jane)).collect();
    assert!(places.iter().all(Result::is_ok));
    let refused = callers.place_for_rights(&jane).err().expect("there is no place");
    assert_eq!(refusal(&refused).status().as_u16(), 429);
    assert!(callers.place_for_rights(&user("joe")).is_ok());
    assert!(callers.place_for_rights(&Caller::Local).is_ok());
    drop(places);
    assert!(callers.place_for_rights(&jane).is_ok());
}

/// Invariant 42.
#[tokio::test]
async fn a_certificate_names_the_caller_until_it_ends() {
    let bench = Bench::new();
    let (valid, ended) =
        (ClientCertificate::of_test("joe", true), ClientCertificate::of_test("joe", false));
    let code = async |certificate, headers: &[_], namespace| {
        bench.code_with(Some(certificate), headers, namespace).await
    };
    assert_eq!(code(&valid, &[], "shop").await, 200);
    assert_eq!(code(&valid, &[], "dark").await, 403);
    assert_eq!(code(&valid, &[("impersonate-user", "admin")], "shop").await, 403);
    assert_eq!(code(&ended, &[], "shop").await, 401);
    assert_eq!(code(&ended, &[GOOD], "shop").await, 200);
    // The certificate counts, and not the token.
    let certified = bench.callers.authenticate(&HeaderMap::new(), PEER, Some(&valid)).await;
    let token = [(header::AUTHORIZATION, HeaderValue::from_static("Bearer good"))];
    let both = bench.callers.authenticate(&token.into_iter().collect(), PEER, Some(&valid)).await;
    for caller in [certified, both] {
        assert_eq!(caller.expect("it is known").user().as_deref(), Some("joe"));
    }
}

#[tokio::test]
async fn the_same_questions_are_asked_once_in_a_while() {
    let bench = Bench::new();
    for _ in 0..100 {
        bench.check(&[GOOD], "shop", 200).await;
        bench.check(&[GOOD], "dark", 403).await;
        bench.check(&[("authorization", "Bearer bad")], "shop", 401).await;
    }
    let asked = bench.server.asked.load(Ordering::Relaxed);
    assert!((4..20).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_with_many_new_tokens_delays_no_known_caller() {
    let bench = Bench::new();
    bench.check(&[GOOD], "shop", 200).await;
    bench.server.hangs.store(true, Ordering::Relaxed);
    let bad = [("authorization", "Bearer bad")];
    let mut floods: Vec<_> =
        (0..TOKENS_OF_PEER_MAX).map(|_| Box::pin(bench.code(&bad, "shop"))).collect();
    for flood in &mut floods {
        assert!(futures::poll!(flood).is_pending());
    }
    bench.check(&bad, "shop", 429).await;
    // The token of a user is asked about all the same once its answer is old.
    let old = Instant::now().checked_sub(recent::AGE_MAX).expect("the machine runs for longer");
    let hash = Sha256::digest("good").into();
    bench.callers.users.lock().insert(hash, Some(Arc::default()), old);
    bench.server.hangs.store(false, Ordering::Relaxed);
    bench.check(&[GOOD], "shop", 200).await;
    bench.check(&[GOOD], "dark", 403).await;
    drop(floods);
    bench.check(&bad, "shop", 401).await;
}

#[tokio::test]
async fn a_revoked_token_is_refused_once_its_answer_is_old() {
    let bench = Bench::new();
    bench.check(&[GOOD], "shop", 200).await;
    bench.server.is_revoked.store(true, Ordering::Relaxed);
    // The same answers, 10 s older.
    let hash = Sha256::digest("good").into();
    let old = Instant::now().checked_sub(recent::AGE_MAX).expect("the machine runs for longer");
    bench.callers.users.lock().insert(hash, Some(Arc::default()), old);
    bench.check(&[GOOD], "shop", 401).await;
}

#[tokio::test(start_paused = true)]
async fn without_an_api_server_no_new_caller_is_let_in() {
    let bench = Bench::new();
    bench.server.is_away.store(true, Ordering::Relaxed);
    bench.check(&[GOOD], "shop", 503).await;
    bench.server.is_away.store(false, Ordering::Relaxed);
    bench.server.hangs.store(true, Ordering::Relaxed);
    let start = tokio::time::Instant::now();
    bench.check(&[GOOD], "shop", 503).await;
    assert_eq!(start.elapsed(), REVIEW_DEADLINE);
    bench.server.hangs.store(false, Ordering::Relaxed);
    bench.check(&[GOOD], "shop", 200).await;
}

#[tokio::test]
async fn tokens_of_strangers_push_out_no_known_caller() {
    let bench = Bench::new();
    bench.check(&[GOOD], "shop", 200).await;
    let now = Instant::now();
    for number in 0..5_000_u32 {
        let hash = Sha256::digest(number.to_le_bytes()).into();
        bench.callers.strangers.lock().insert(hash, None, now);
    }
    let asked = bench.server.asked.load(Ordering::Relaxed);
    bench.check(&[GOOD], "shop", 200).await;
    assert_eq!(bench.server.asked.load(Ordering::Relaxed), asked, "it is known");
}

/// Invariant 42.
#[test]
fn an_encoded_path_is_asked_about_as_it_is_served() {
    for path in ["/plugins/mal/logs", "/plugins/%6dal/logs", "/plugins/m%61l/logs"] {
        assert_eq!(asked_path(path), "/plugins/mal/logs");
    }
    assert_eq!(asked_path("/plugins/%ff"), "/plugins/\u{fffd}");
}
