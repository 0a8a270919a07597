//! Reviews by a fake API server.

use super::*;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use reviews::GRACE;

const EVERY: Duration = Duration::from_secs(60);

/// Answers each verb and scope as it was last set; else it does not answer.
#[derive(Default)]
struct Server {
    asked: Mutex<Vec<String>>,
    says: Mutex<BTreeMap<String, Result<AccessAnswer, String>>>,
}

impl AccessReviewer for Server {
    fn review(&self, review: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let AccessReview { account, verb, resource, namespace } = review;
        let what = format!("{verb} {resource} {}", namespace.as_deref().unwrap_or("*"));
        self.asked.lock().push(format!("{what} by {account}"));
        let said = self.says.lock().get(&what).cloned();
        Box::pin(async move {
            match said {
                Some(said) => said,
                None => std::future::pending().await,
            }
        })
    }
}

impl Server {
    fn says(&self, what: &str, answer: Result<AccessAnswer, String>) {
        for verb in VERBS {
            self.says.lock().insert(format!("{verb} {what}"), answer.clone());
        }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

fn bench(descriptor: &str) -> (Arc<Server>, Access, VersionPermissions) {
    let server = Arc::<Server>::default();
    let mut access = Access::new(server.clone(), EVERY);
    let json = format!(r#"{{"version":"1",{descriptor}}}"#);
    let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
    let account = "shop/reader".parse().expect("it is one");
    let granted = access.of(Some(&account), &descriptor);
    (server, access, granted)
}

const PODS_IN_TWO: &str = r#""subscriptions":[{"resource":"v1/pods","namespaces":["a","b"]}],
    "reads":[{"resource":"v1/pods","namespaces":["a"]},{"resource":"v1/nodes"}]"#;

/// Waits for a change, for at most a day.
async fn changes(access: &mut Access) -> bool {
    let day = Duration::from_secs(24 * 60 * 60);
    tokio::time::timeout(day, access.changed()).await.is_ok()
}

fn shown(granted: &VersionPermissions) -> String {
    let all = granted.subscriptions.iter().chain(&granted.reads);
    let shown = all.map(|permissions| match permissions.refusal() {
        None => "yes",
        Some(ReadRefusal::Unknown(_)) => "?",
        Some(ReadRefusal::Denied(_)) => "no",
    });
    shown.collect::<Vec<_>>().join(" ")
}

async fn until_shown(access: &mut Access, granted: &VersionPermissions, expect: &str) {
    while shown(granted) != expect {
        assert!(changes(access).await, "{} never becomes {expect}", shown(granted));
    }
}

#[tokio::test(start_paused = true)]
async fn each_scope_is_asked_for_once_and_all_of_a_subscriptions_count() {
    let (server, mut access, granted) = bench(PODS_IN_TWO);
    server.says("v1/pods a", Ok(AccessAnswer::Allowed));
    server.says("v1/pods b", Ok(AccessAnswer::Denied("no role".to_owned())));
    server.says("v1/nodes *", Ok(AccessAnswer::Allowed));
    assert_eq!(shown(&granted), "? ? ?");
    until_shown(&mut access, &granted, "no yes yes").await;
    let mut asked = server.asked();
    asked.sort();
    let expect = [
        "list v1/nodes * by shop/reader",
        "list v1/pods a by shop/reader",
        "list v1/pods b by shop/reader",
        "watch v1/nodes * by shop/reader",
        "watch v1/pods a by shop/reader",
    ];
    assert_eq!(asked, expect, "nothing is watched that may not be listed");
    let why = granted.subscriptions[0].refusal().expect("it is denied").text().to_owned();
    let expect = "v1/pods in b by the service account shop/reader may not be listed: no role";
    assert_eq!(why, expect);

    server.says("v1/pods b", Ok(AccessAnswer::Allowed));
    let began = tokio::time::Instant::now();
    until_shown(&mut access, &granted, "yes yes yes").await;
    assert_eq!(began.elapsed().as_secs(), EVERY.as_secs());
    let counts = access.counts();
    assert_eq!((counts.denied.load(Relaxed), counts.asks.load(Relaxed)), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn one_account_leaves_room_for_another() {
    let namespaces = |count: usize| {
        let names: Vec<_> = (0..count).map(|n| format!(r#""n{n}""#)).collect();
        names.join(",")
    };
    let of_one = |resource: &str| {
        format!(r#"{{"resource":"v1/{resource}","namespaces":[{}]}}"#, namespaces(250))
    };
    let resources = ["pods", "services", "nodes"].map(of_one).join(",");
    let (_, mut access, granted) = bench(&format!(r#""reads":[{resources}]"#));
    assert_eq!(shown(&granted), "? ? no", "the third has no room");
    let why = granted.reads[2].refusal().expect("it is denied").text().to_owned();
    assert!(why.contains("500 permissions of the service account shop/reader"), "{why}");
    let json = format!(r#"{{"version":"1","reads":[{}]}}"#, of_one("pods"));
    let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
    let account = "shop/other".parse().expect("it is one");
    assert_eq!(shown(&access.of(Some(&account), &descriptor)), "?", "it is asked for");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_no_more_allows_for_so_long_and_no_longer() {
    let (server, mut access, granted) = bench(r#""subscriptions":[{"resource":"v1/pods"}]"#);
    server.says("v1/pods *", Ok(AccessAnswer::Allowed));
    until_shown(&mut access, &granted, "yes").await;
    let began = tokio::time::Instant::now();
    server.says.lock().clear();
    until_shown(&mut access, &granted, "no").await;
    assert_eq!(began.elapsed().as_secs(), (EVERY + GRACE).as_secs());
    let why = granted.subscriptions[0].refusal().expect("it is denied").text().to_owned();
    assert!(why.ends_with("could not be reviewed for 300 s: no answer within 10 s"), "{why}");
    assert!(access.counts().failed.load(Relaxed) > 5);
    server.says("v1/pods *", Ok(AccessAnswer::Allowed));
    until_shown(&mut access, &granted, "yes").await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_any_more_is_reviewed_no_more() {
    let (server, mut access, granted) = bench(PODS_IN_TWO);
    for what in ["v1/pods a", "v1/pods b", "v1/nodes *"] {
        server.says(what, Ok(AccessAnswer::Allowed));
    }
    until_shown(&mut access, &granted, "yes yes yes").await;
    drop(granted);
    server.asked();
    assert!(!changes(&mut access).await);
    assert_eq!(server.asked(), Vec::<String>::new());
    assert_eq!(access.counts().asks.load(Relaxed), 0);
}

#[test]
fn a_plugin_that_acts_as_nobody_else_is_asked_nothing() {
    let server = Arc::<Server>::default();
    let mut access = Access::new(server, EVERY);
    let json = format!(r#"{{"version":"1",{PODS_IN_TWO}}}"#);
    let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
    assert_eq!(shown(&access.of(None, &descriptor)), "yes yes yes");
    assert_eq!(access.counts().asks.load(Relaxed), 0);
}
