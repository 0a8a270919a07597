//! The HTTP requests and the parsing of answers, with a service in place of the network.

use super::*;
use crate::list_watch::ListTweaks;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http_body_util::StreamBody;
use parking_lot::Mutex;
use std::task::{Context, Poll};

/// Answers every request with the same status, headers and chunks; notes the requests.
#[derive(Clone)]
struct Canned {
    code: u16,
    header: Option<(&'static str, &'static str)>,
    chunks: Vec<Bytes>,
    /// Other answers for some paths.
    paths: Vec<(&'static str, u16, &'static str)>,
    /// Whether it has objects in their usual form only.
    refuses_forms: bool,
    asked: Arc<Mutex<Vec<String>>>,
}

impl tower::Service<Request<Body>> for Canned {
    type Response = Response<http_body_util::combinators::BoxBody<Bytes, std::io::Error>>;
    type Error = std::io::Error;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let accept = header(ACCEPT).unwrap_or_default();
        let encoding = header(ACCEPT_ENCODING).unwrap_or_default();
        self.asked.lock().push(format!("{} {accept} {encoding}", request.uri()));
        let path = request.uri().path();
        let other = self.paths.iter().find(|(other, ..)| *other == path);
        let code = other.map_or(self.code, |(_, code, _)| *code);
        let code = if self.refuses_forms && accept.contains("as=") { 406 } else { code };
        let chunks = other.map(|(.., body)| vec![Bytes::from_static(body.as_bytes())]);
        let frames = chunks
            .unwrap_or_else(|| self.chunks.clone())
            .into_iter()
            .map(|chunk| Ok(http_body::Frame::data(chunk)));
        let body = BodyExt::boxed(StreamBody::new(stream::iter(frames)));
        let mut response = Response::builder().status(code);
        if let Some((name, value)) = self.header {
            response = response.header(name, value);
        }
        std::future::ready(Ok(response.body(body).expect("a response")))
    }
}

fn canned(code: u16, chunks: &[&str]) -> Canned {
    let chunks = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk.as_bytes())).collect();
    let (paths, asked) = (Vec::new(), Arc::default());
    Canned { code, header: None, chunks, paths, refuses_forms: false, asked }
}

fn pods(canned: &Canned) -> Arc<dyn ListerWatcher> {
    part_of_pods(canned, &Part::all())
}

fn part_of_pods(canned: &Canned, part: &Part) -> Arc<dyn ListerWatcher> {
    let client = Client::new(canned.clone(), "default");
    ApiServer::new(client).lister_watcher(&"v1/pods".parse().expect("a resource"), part)
}

async fn list(canned: &Canned, options: ListOptions) -> Result<Vec<String>, ListWatchError> {
    let stream = pods(canned).list(options).await?;
    let shown = |event| match event {
        ListEvent::Object(object, _) => format!("{}@{}", object.key(), object.resource_version()),
        ListEvent::Malformed(error) => format!("malformed: {error}"),
        ListEvent::End { resource_version, continue_token } => {
            format!("end {resource_version} {continue_token:?}")
        }
    };
    stream.map_ok(shown).try_collect().await
}

/// The events, then the end of the stream.
async fn watch(canned: &Canned, options: WatchOptions) -> Vec<String> {
    let mut stream = match pods(canned).watch(options).await {
        Ok(stream) => stream,
        Err(error) => return vec![format!("refused: {error}")],
    };
    let mut shown = Vec::new();
    while let Some(event) = stream.next().await {
        shown.push(match event {
            Ok(WatchEvent::Changed(change, object, _)) => {
                format!("{change:?} {}@{}", object.key(), object.resource_version())
            }
            Ok(WatchEvent::Bookmark { resource_version, initial_events_end }) => {
                format!("bookmark {resource_version} {initial_events_end}")
            }
            Ok(WatchEvent::Malformed(error)) => format!("malformed: {error}"),
            Err(error) => format!("failed: {error:?}"),
        });
    }
    shown
}

async fn check_watch(lines: &[&str], expect: &[&str]) {
    let body = lines.join("\n") + "\n";
    for size in [1, 7, body.len()] {
        let mut canned = canned(200, &[]);
        canned.chunks = body.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
        let found = watch(&canned, WatchOptions::default()).await;
        assert_eq!(found, expect, "in chunks of {size}");
    }
}

async fn check_refusal(code: u16, body: &str, expect: &str) {
    let error = list(&canned(code, &[body]), ListOptions::default()).await.expect_err("refused");
    let error = format!("{error:?}");
    assert!(error.starts_with(expect), "{error} does not start with {expect}");
}

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","resourceVersion":"5"}}"#;

#[tokio::test]
async fn lists_are_asked_for_as_the_options_say() {
    let body = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t=="},
        "items":[{"metadata":{"name":"a","resourceVersion":"5"}},{"metadata":{}}]}"#;
    let canned = canned(200, &[&body[..90], &body[90..]]);
    let options = ListOptions { limit: 500, ..Default::default() };
    let events = list(&canned, options.clone()).await.expect("a list");
    let malformed = "malformed: object has no metadata.name";
    assert_eq!(events, ["a@5", malformed, "end 7 Some(\"t==\")"]);
    let token = ListOptions { continue_token: Some("t==".into()), ..options.clone() };
    list(&canned, token).await.expect("a list");
    let newer = ListOptions { not_older_than: Some("7".into()), ..options };
    list(&canned, newer).await.expect("a list");
    let asked = canned.asked.lock();
    let asked: Vec<_> = asked.iter().map(|a| a.trim_start_matches("/api/v1/pods?")).collect();
    let expect = [
        "limit=500 application/json identity",
        "limit=500&continue=t%3D%3D application/json identity",
        "limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan application/json identity",
    ];
    assert_eq!(asked, expect);
}

#[tokio::test]
async fn watches_are_asked_for_as_the_options_say() {
    let canned = canned(200, &[]);
    let timeout = Duration::from_secs(400);
    for send_initial_events in [false, true] {
        let resource_version = "7".into();
        let options =
            WatchOptions { resource_version, send_initial_events, timeout, ..Default::default() };
        watch(&canned, options).await;
    }
    let plain =
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=400&resourceVersion=7";
    let headers = "application/json identity";
    let expect = [
        format!("{plain} {headers}"),
        format!("{plain}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan {headers}"),
    ];
    assert_eq!(*canned.asked.lock(), expect);
}

#[tokio::test]
async fn parts_and_tweaks_go_with_every_request() {
    let canned = canned(200, &[]);
    let part = Part {
        label_selector: "app in (a,b)".to_owned(),
        field_selector: "metadata.name=x".to_owned(),
        ..Part::namespace("n")
    };
    let pods = part_of_pods(&canned, &part);
    let tweaks = ListTweaks::default().parameter("shardSelector", "1/2").expect("accepted");
    let parameters = tweaks.parameters();
    let token = Some("t".into());
    let page =
        ListOptions { continue_token: token, parameters: parameters.clone(), ..Default::default() };
    let _ = pods.list(page).await.expect("a list");
    let _ = pods.watch(WatchOptions { parameters, ..Default::default() }).await.expect("a watch");
    let part = "labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=metadata%2Ename%3Dx\
                &shardSelector=1%2F2 application/json identity";
    let pods = "/api/v1/namespaces/n/pods";
    let watch = "watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=";
    let expect = [format!("{pods}?continue=t&{part}"), format!("{pods}?{watch}&{part}")];
    assert_eq!(*canned.asked.lock(), expect);
}

#[tokio::test]
async fn watch_events_are_read_wherever_the_chunks_end() {
    let added = format!(r#"{{"type":"ADDED","object":{POD}}}"#);
    let odd = format!(r#" {{ "object" : {POD} , "type" : "MODIFIED" , "more" : 1 }}"#);
    let more = format!(r#"{{"type":"DELETED","object":{POD},"more":1}}"#);
    let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
    check_watch(
        &[&added, &odd, "", &more, bookmark],
        &["Added n/a@5", "Modified n/a@5", "Deleted n/a@5", "bookmark 9 true"],
    )
    .await;
}

#[tokio::test]
async fn an_error_event_ends_the_watch_with_what_to_do_next() {
    let expired = Status::too_old_resource_version(3, 9).to_json();
    let expired = String::from_utf8(expired).expect("UTF-8");
    check_watch(
        &[&format!(r#"{{"type":"ERROR","object":{expired}}}"#)],
        &["failed: Expired { message: \"too old resource version: 3 (9)\" }"],
    )
    .await;
}

#[tokio::test]
async fn an_event_that_cannot_be_read_does_not_take_the_next_with_it() {
    let added = format!(r#"{{"type":"ADDED","object":{POD}}}"#);
    check_watch(
        &[
            r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}"#,
            r#"{"type":"RENAMED","object":{}}"#,
            &added,
        ],
        &[
            "malformed: object has no metadata.name",
            "malformed: watch event has the unknown type \"RENAMED\"",
            "Added n/a@5",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_transient() {
    let half = canned(200, &[r#"{"type":"ADDED","obj"#]);
    let expect = "failed: Transient { message: \"watch broke off within an event\" }";
    assert_eq!(watch(&half, WatchOptions::default()).await, [expect]);
    check_refusal(200, r#"{"items":["#, "Unreadable { message: \"list cannot be read").await;
}

/// The result of a watch without a listener, or with a server that accepts and ends each connection.
async fn check_unanswered(accepts: bool, expect: &str) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it has one"));
    let server = accepts.then(|| {
        // Each connection is ended at once.
        tokio::spawn(async move { while listener.accept().await.is_ok() {} })
    });
    let client = client_for_config(kube::Config::new(url.parse().expect("a URI")));
    let source = ApiServer::new(client.expect("a client"));
    let pods = source.lister_watcher(&"v1/pods".parse().expect("a resource"), &Part::all());
    let error = pods.watch(WatchOptions::default()).await.err();
    let shown = format!("{error:?}");
    assert!(shown.starts_with(expect), "{shown} does not start with {expect}");
    if let Some(server) = server {
        server.abort();
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_told_apart_from_a_connection_that_breaks() {
    check_unanswered(false, "Some(Unreachable {").await;
    check_unanswered(true, "Some(Transient {").await;
}

/// Whether objects of a list and of a watch have the annotation that `kubectl apply` needs.
async fn check_last_applied(make: fn(ApiServer) -> ApiServer, expect: bool) {
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    let pod = POD.replace(r#""name""#, &format!(r#""annotations":{{"{key}":"{{}}"}},"name""#));
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{pod}]}}"#
    );
    let line = format!("{{\"type\":\"ADDED\",\"object\":{pod}}}\n");
    let source = |body: &str| {
        let api_server = make(ApiServer::new(Client::new(canned(200, &[body]), "default")));
        api_server.lister_watcher(&"v1/pods".parse().expect("a resource"), &Part::all())
    };
    let listed = source(&list).list(ListOptions::default()).await.expect("a list").next().await;
    let watched = source(&line).watch(WatchOptions::default()).await.expect("a watch").next().await;
    let (Some(Ok(ListEvent::Object(listed, _))), Some(Ok(WatchEvent::Changed(_, watched, _)))) =
        (listed, watched)
    else {
        panic!("both bring the pod");
    };
    let has = |object: &crate::Object| String::from_utf8_lossy(&object.json()).contains(key);
    assert_eq!((has(&listed), has(&watched)), (expect, expect));
}

#[tokio::test]
async fn what_was_read_may_replace_what_is_there_unless_it_is_told_otherwise() {
    check_last_applied(|source| source, true).await;
    check_last_applied(ApiServer::without_last_applied, false).await;
}

#[tokio::test]
async fn refusals_are_sorted() {
    let status = |status: Status| String::from_utf8(status.to_json()).expect("UTF-8");
    check_refusal(410, &status(Status::expired("old")), "Expired { message: \"old\" }").await;
    check_refusal(404, "404 page not found\n", "NotFound { message: \"404 Not Found: 404 page")
        .await;
    check_refusal(502, "<html>bad gateway</html>", "Transient { message: \"502 Bad Gateway").await;
    let long = "bad gateway ".repeat(ERROR_BODY_BYTES_MAX);
    check_refusal(502, &long, "Transient { message: \"502 Bad Gateway: bad gateway bad").await;
    check_refusal(429, "", "TooManyRequests { message: \"429").await;
    let mut later = canned(503, &[""]);
    later.header = Some(("Retry-After", "7"));
    let error = list(&later, ListOptions::default()).await.expect_err("refused");
    let ListWatchError::TooManyRequests { retry_after, .. } = error else { panic!("{error:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
}

fn gzip(text: &str) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("it is written to memory");
    encoder.finish().expect("it is written to memory").into()
}

#[tokio::test]
async fn an_answer_that_is_gzip_all_the_same_is_read_member_by_member() {
    let mut watched = canned(200, &[]);
    watched.header = Some(("Content-Encoding", "gzip"));
    let line = |name: &str| {
        gzip(&format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", POD.replace("\"a\"", name)))
    };
    watched.chunks = vec![line("\"a\""), line("\"b\"")];
    let found = watch(&watched, WatchOptions::default()).await;
    assert_eq!(found, ["Added n/a@5", "Added n/b@5"]);
    let cut = watched.chunks[1].slice(..20);
    watched.chunks[1] = cut;
    let found = watch(&watched, WatchOptions::default()).await;
    let broken = "failed: Transient { message: \"gzip broke off within a member\" }";
    assert_eq!(found, ["Added n/a@5", broken]);
    let mut listed = canned(200, &[]);
    listed.header = Some(("Content-Encoding", "gzip"));
    let body = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{POD}]}}"#
    );
    listed.chunks = vec![gzip(&body)];
    let found = list(&listed, ListOptions::default()).await.expect("a list");
    assert_eq!(found, ["n/a@5", "end 7 None"]);
}

/// The turns of another task on the same thread until the reader is at the end.
async fn turns_beside<T>(read: impl Future<Output = T>) -> usize {
    let turns = Arc::new(Mutex::new(0));
    let counted = turns.clone();
    let other = tokio::spawn(async move {
        loop {
            *counted.lock() += 1;
            tokio::task::yield_now().await;
        }
    });
    read.await;
    other.abort();
    *turns.lock()
}

/// Some hundred bytes expand to very many items or events, and the thread has other tasks.
#[tokio::test]
async fn a_short_answer_with_very_many_items_leaves_others_their_turns() {
    const COUNT: usize = 200_000;
    let mut listed = canned(200, &[]);
    listed.header = Some(("Content-Encoding", "gzip"));
    let items = vec!["{}"; COUNT].join(",");
    listed.chunks =
        vec![gzip(&format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{items}]}}"#))];
    let mut watched = listed.clone();
    watched.chunks = vec![gzip(&"{}\n".repeat(COUNT))];
    let list = async {
        let stream = pods(&listed).list(ListOptions::default()).await.expect("a list");
        assert_eq!(
            stream.filter(|event| std::future::ready(event.is_ok())).count().await,
            COUNT + 1
        );
    };
    assert!(turns_beside(list).await > COUNT / 1000);
    let watch = async {
        let stream = pods(&watched).watch(WatchOptions::default()).await.expect("a watch");
        assert_eq!(stream.count().await, COUNT);
    };
    assert!(turns_beside(watch).await > COUNT / 1000);
}

#[tokio::test]
async fn an_answer_in_another_encoding_or_type_says_so() {
    for (name, value, expect) in [
        (
            "Content-Encoding",
            "br",
            "refused: answer cannot be read: it is encoded as \"br\" although",
        ),
        (
            "Content-Type",
            "text/html",
            "refused: answer cannot be read: it is text/html: <html>login",
        ),
    ] {
        let mut other = canned(200, &["<html>login</html>"]);
        other.header = Some((name, value));
        let found = watch(&other, WatchOptions::default()).await;
        assert!(found.len() == 1 && found[0].starts_with(expect), "{found:?}");
        list(&other, ListOptions::default()).await.expect_err("it is no list");
    }
}

#[tokio::test]
async fn what_cannot_be_a_watch_ends_it_with_the_reason() {
    let table =
        r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{}}}"#;
    check_watch(
        &[table],
        &["failed: Unreadable { message: \"it is a Table, which has no objects\" }"],
    )
    .await;
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
    let forbidden = "failed: Forbidden { message: \"no\" }";
    check_watch(&[status], &[forbidden]).await;
    check_watch(&[&format!(r#"{{"type":"ADDED","object":{status}}}"#)], &[forbidden]).await;
    let page = "failed: Unreadable { message: \"it is a page: <html>\" }";
    check_watch(&["<html>", "</html>"], &[page]).await;
    let error = r#"{"type":"ERROR","object":"what"}"#;
    let found = "failed: Unreadable { message: \"error event without a Status: ";
    let canned = canned(200, &[error, "\n"]);
    let shown = watch(&canned, WatchOptions::default()).await;
    assert!(shown.len() == 1 && shown[0].starts_with(found), "{shown:?}");
}

#[tokio::test]
async fn a_status_in_place_of_a_list_is_no_empty_list() {
    let status = String::from_utf8(
        Status::forbidden(&"v1/pods".parse().expect("a resource"), "", "no").to_json(),
    );
    check_refusal(200, &status.expect("UTF-8"), "Unreadable").await;
}

#[tokio::test]
async fn metadata_alone_are_asked_for_as_a_form_of_their_own() {
    let core = r#"{"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod"}]}"#;
    let list = [
        r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"#,
        r#""items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}}]}"#,
    ];
    let pod = r#"Object(a@ b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}")"#;
    let usual = " application/json identity";
    let form = |kind: &str| {
        format!(" application/json;as={kind};g=meta.k8s.io;v=v1,application/json identity")
    };
    let asks = async |canned: &Canned, ends: &[&str]| {
        let part = Part { metadata_only: true, ..Part::all() };
        let pods = part_of_pods(canned, &part);
        let listed = pods.list(ListOptions::default()).await.expect("a list");
        let listed: Vec<ListEvent> = listed.try_collect().await.expect("objects");
        let ListEvent::Object(object, _) = &listed[0] else { panic!("{listed:?}") };
        assert!(object.is_metadata_only());
        assert_eq!(format!("{object:?}"), pod);
        let _ = pods.watch(WatchOptions::default()).await;
        let asked = canned.asked.lock();
        assert_eq!(asked.len(), ends.len(), "{asked:?}");
        assert!(asked.iter().zip(ends).all(|(asked, end)| asked.ends_with(end)), "{asked:?}");
    };
    let (list_form, watch_form) =
        (form("PartialObjectMetadataList"), form("PartialObjectMetadata"));
    let mut canned_list = canned(200, &list);
    canned_list.paths = vec![("/api/v1", 200, core)];
    // The kind of the objects, then the objects.
    asks(&canned_list, &[usual, &list_form, &watch_form]).await;
    let whole = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","uid":"u"},"spec":{"nodeName":"n"}}]}"#;
    let mut refusing = canned(200, &[whole]);
    (refusing.paths, refusing.refuses_forms) = (vec![("/api/v1", 200, core)], true);
    asks(&refusing, &[usual, &list_form, usual, &watch_form, usual]).await;
    // Without an answer of discovery nothing says the kind.
    let mut silent = canned(200, &[whole]);
    silent.paths = vec![("/api/v1", 403, "")];
    asks(&silent, &[usual, usual, usual, usual]).await;
}

/// The answer of discovery about `example.com/v1/widgets`, with answers for some paths and 404 for all others.
async fn check_served(paths: &[(&'static str, u16, &'static str)], expect: &str) {
    let mut canned = canned(404, &["404 page not found"]);
    canned.paths = paths.to_vec();
    let client = Client::new(canned, "default");
    let widgets = "example.com/v1/widgets".parse().expect("a resource");
    let served = ApiServer::new(client).lister_watcher(&widgets, &Part::all()).is_served().await;
    let shown = format!("{served:?}");
    assert!(shown.starts_with(expect), "{shown} does not start with {expect}, for {paths:?}");
}

/// Invariant 13.
#[tokio::test]
async fn only_discovery_itself_says_that_a_resource_is_gone() {
    const GROUP: &str = "/apis/example.com/v1";
    let with =
        r#"{"kind":"APIResourceList","resources":[{"name":"widgets"},{"name":"widgets/status"}]}"#;
    let without = r#"{"kind":"APIResourceList","resources":[{"name":"gadgets"}]}"#;
    let groups =
        r#"{"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v1"}]}]}"#;
    let listed = r#"{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"version":"v1"}]}]}"#;
    let other_version = r#"{"kind":"APIGroupList","groups":[{"name":"example.com","versions":[{"version":"v2"}]}]}"#;
    check_served(&[(GROUP, 200, with)], "Ok(true)").await;
    check_served(&[(GROUP, 200, without)], "Ok(false)").await;
    check_served(&[("/apis", 200, groups)], "Ok(false)").await;
    check_served(&[("/apis", 200, other_version)], "Ok(false)").await;
    // Unknown: an aggregated API server that is down, a proxy, a page, another document.
    check_served(&[], "Err(NotFound").await;
    check_served(&[("/apis", 200, listed)], "Err(Transient").await;
    check_served(&[(GROUP, 503, ""), ("/apis", 200, groups)], "Err(Transient").await;
    check_served(&[("/apis", 200, "<html>")], "Err(Unreadable").await;
    check_served(&[(GROUP, 200, "{}"), ("/apis", 200, groups)], "Err(Unreadable").await;
    check_served(&[("/apis", 403, "")], "Err(Forbidden").await;
}

/// The error of a list of a resource, with answers for some paths and 404 for all others.
async fn check_nearest(resource: &str, paths: &[(&'static str, u16, &'static str)], expect: &str) {
    let mut canned = canned(404, &["not found"]);
    canned.paths = paths.to_vec();
    let resource = resource.parse().expect("a resource");
    let source = ApiServer::new(Client::new(canned, "default"));
    let listed = source.lister_watcher(&resource, &Part::all()).list(ListOptions::default()).await;
    let Err(ListWatchError::NotFound { message }) = listed else { panic!("it is there") };
    assert_eq!(message, expect, "{resource}");
}

#[tokio::test]
async fn a_resource_that_is_not_served_comes_with_the_nearest_that_is() {
    let core = r#"{"kind":"APIResourceList","resources":[{"name":"nodes"},{"name":"pods"},{"name":"pods/status"}]}"#;
    let known = [("/api/v1", 200, core)];
    let said = "404 Not Found: not found";
    check_nearest("v1/pod", &known, &format!("{said}; did you mean v1/pods?")).await;
    check_nearest("v1/zzz", &known, said).await;
    // A proxy hides the list itself.
    check_nearest("v1/pods", &known, said).await;
    check_nearest("app/v1/deployments", &known, said).await;
    check_nearest("v1/pod", &[("/api/v1", 403, "")], said).await;
}

#[tokio::test]
async fn a_resource_of_another_group_comes_before_the_nearest_of_its_own() {
    let core = r#"{"kind":"APIResourceList","resources":[{"name":"endpoints"},{"name":"pods"}]}"#;
    let of_core = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"creationTimestamp":null},"versions":[{"version":"v1","resources":[{"resource":"pods","scope":"Namespaced"}]}]}]}"#;
    let of_groups = r#"{"kind":"APIGroupDiscoveryList","items":[
        {"metadata":{"name":"old.org"},"versions":[{"version":"v1","resources":[{"resource":"jobs"}]}]},
        {"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments"}]}]},
        {"metadata":{"name":"batch"},"versions":[{"version":"v2"},{"version":"v1","resources":[{"resource":"jobs"}]}]}]}"#;
    let known = [("/api/v1", 200, core), ("/api", 200, of_core), ("/apis", 200, of_groups)];
    let said = "404 Not Found: not found";
    for (resource, meant) in [
        ("v1/deployments", "apps/v1/deployments"),
        ("app/v1/deployments", "apps/v1/deployments"),
        ("apps/v1/pods", "v1/pods"),
        ("batch/v1beta1/jobs", "batch/v1/jobs"),
        ("v1/endpoint", "v1/endpoints"),
    ] {
        check_nearest(resource, &known, &format!("{said}; did you mean {meant}?")).await;
    }
    check_nearest("v1/pods", &known, said).await;
}

#[tokio::test]
async fn a_namespace_that_would_lead_elsewhere_is_refused_before_anything_is_asked() {
    let canned = canned(200, &[]);
    let elsewhere = part_of_pods(&canned, &Part::namespace("n/../../nodes"));
    let Err(error) = elsewhere.list(ListOptions::default()).await else {
        panic!("it is asked for")
    };
    assert!(matches!(error, ListWatchError::BadRequest { .. }), "{error:?}");
    assert!(canned.asked.lock().is_empty());
}
