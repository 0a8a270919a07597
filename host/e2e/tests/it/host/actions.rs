//! Actions on plugins over HTTP: on loopback with the token of `informant ui`, and on the secure address with the right of each
//! caller.

use ::http::{HeaderName, Method};
use informant_e2e::api::{Api, Reply};
use informant_e2e::cluster::{TestCluster, User};
use informant_e2e::host::{Host, Line};
use informant_e2e::http::{self, Answer};
use informant_e2e::poll;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use crate::host::admin::{ask, check as check_said};
use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact};
use crate::host::secure::{Caller, certificate, code, options};

pub const ACTION: &str = "X-Informant-Action: true";
const PATHS: [&str; 7] =
    ["pause", "resume", "reload", "rollback", "fire", "dead-letters/redrive", "dead-letters/purge"];

/// The token that `informant ui` prints with the address of the dashboard.
pub fn token(bench: &HostBench<'_>, host: &Host) -> String {
    let (success, said) = ask(bench, host, &["ui"]);
    let start = format!("http://{}/ui/#token=", host.address());
    let token = said.strip_prefix(&start).unwrap_or_else(|| panic!("{said}"));
    assert!(success && token.len() == 22, "{said}");
    token.to_owned()
}

/// POST with these headers.
pub fn post(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> Answer {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}");
    http::exchange(address, &format!("{head}\r\n{headers}\r\n{body}")).expect("an answer")
}

/// A caller on loopback with the token.
struct Acting {
    host: Host,
    token: String,
}

impl Acting {
    async fn start(bench: &HostBench<'_>, more: &[&str]) -> Self {
        let host = bench.start(more).await;
        let token = token(bench, &host);
        Self { host, token }
    }

    fn ask(&self, path: &str, body: &str) -> Answer {
        let bearer = format!("Authorization: Bearer {}", self.token);
        let origin = format!("Origin: http://{}", self.host.address());
        // As a browser sends it for the dashboard.
        let headers = [ACTION, &bearer, &origin, "Sec-Fetch-Site: same-origin"];
        post(self.host.address(), path, &headers, body)
    }

    #[track_caller]
    fn check(&self, path: &str, body: &str, status: u16, expect: &str) {
        let answer = self.ask(path, body);
        let said = answer.json()["msg"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.body);
        assert!(said.contains(expect), "{path} {body}: {said}");
    }
}

/// Invariant 43.
#[test]
fn actions_over_http_do_what_the_commands_do_in_their_words() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let acting = Acting::start(&bench, &[]).await;
        let host = &acting.host;
        acting.check("/plugins/event-printer/pause", "", 200, "paused; its events wait");
        let is = |state: &'static str| move |plugin: &Value| plugin["state"] == state;
        host.await_plugin("event-printer", "it to pause", is("paused")).await.unwrap();
        acting.check("/plugins/event-printer/resume", "", 200, "resumed");
        host.await_plugin("event-printer", "it to go on", is("running")).await.unwrap();
        acting.check("/plugins/event-printer/reload", "", 200, "took over");
        let rollback = "/plugins/event-printer/rollback";
        acting.check(rollback, "", 409, "there is no version before this one");
        bench.drop_plugin("counter", "event-printer");
        let replaced = |plugin: &Value| plugin["counters"]["reloads"].as_u64() >= Some(2);
        host.await_plugin("event-printer", "another to take its place", replaced).await.unwrap();
        acting.check(rollback, "", 200, "took over");
        acting.check("/plugins/nobody/pause", "", 404, "there is no plugin nobody");
        acting.check("/plugins/.a/pause", "", 400, "cannot be a plugin's name");

        let line = |line: &Line| line.text.contains("pause was asked for: paused; its events wait");
        let line = host.await_line("the action in the log", LINES_DEADLINE, line).await.unwrap();
        let fields = ["plugin", "by", "listener", "from"].map(|field| line.field(field));
        let expect = ["event-printer", "admin token", "loopback", "127.0.0.1"];
        assert_eq!(fields, expect.map(Some));
        check_said(&bench, host, &["plugin", "pause", "event-printer"], "paused; its events wait");
        let by_command = |line: &informant_e2e::host::Line| {
            line.field("listener") == Some("admin socket") && line.field("by") == Some("host user")
        };
        host.await_line("the command in the log", LINES_DEADLINE, by_command).await.unwrap();
        let shown = host.lines().iter().any(|line| line.text.contains(&acting.token));
        assert!(!shown, "the token is in the log");
    });
}

/// A host with dead letters of the Pods `fail-1` and `fail-2`.
async fn with_letters(bench: &HostBench<'_>) -> Acting {
    bench.limit_plugin("fail", "attempts: 5");
    bench.drop_plugin("fail", "fail");
    let acting = Acting::start(bench, &[]).await;
    bench.create_pods(&["fail-1".to_owned(), "fail-2".to_owned()]).await;
    await_letters(&acting.host, 2, 2).await;
    acting
}

/// Waits for so many letters, and for so many events that were given up in all.
async fn await_letters(host: &Host, letters: u64, given_up: u64) {
    let found = |plugin: &Value| {
        plugin["deadLetters"] == letters && plugin["counters"]["dead"].as_u64() >= Some(given_up)
    };
    host.await_plugin("fail", "its dead letters", found).await.unwrap();
}

/// GET of the dead letters of a plugin with this token.
pub fn dead_letters(host: &Host, plugin: &str, query: &str, token: &str) -> Answer {
    let address = host.address();
    let head = format!("GET /plugins/{plugin}/dead-letters{query} HTTP/1.0\r\nHost: {address}");
    let request = format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n");
    http::exchange(address, &request).expect("it serves")
}

fn letters(acting: &Acting, query: &str) -> Vec<u64> {
    let answer = dead_letters(&acting.host, "fail", query, &acting.token);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let letters = answer.json();
    let letters = letters.as_array().expect("a list").iter();
    letters.map(|letter| letter["id"].as_u64().expect("a number")).collect()
}

/// Invariant 43.
#[test]
fn one_dead_letter_or_all_are_sent_again_or_purged_over_http() {
    host_fact(async |bench| {
        let acting = with_letters(&bench).await;
        let host = &acting.host;
        assert_eq!(letters(&acting, ""), [1, 2]);
        assert_eq!(letters(&acting, "?limit=1"), [1]);
        let wrong = dead_letters(host, "fail", "?limit=0", &acting.token);
        assert_eq!(wrong.status, 400, "{}", wrong.body);
        for path in ["/plugins/fail/dead-letters", "/plugins/nobody/dead-letters?limit=0"] {
            let refused = host.get(path).expect("it serves");
            assert_eq!(refused.status, 401, "{path}: {}", refused.body);
            assert!(refused.body.contains("needs the token of the host"), "{}", refused.body);
        }
        let (redrive, purge) =
            ("/plugins/fail/dead-letters/redrive", "/plugins/fail/dead-letters/purge");
        for body in ["", "{}", "all", r#"{"all": true, "ids": [1]}"#, r#"{"every": true}"#] {
            acting.check(redrive, body, 400, "");
            acting.check(purge, body, 400, "");
        }
        let many = format!("{{\"ids\": {:?}}}", vec![1; 1_001]);
        acting.check(purge, &many, 400, "1001 ids are more than 1000");
        assert_eq!(letters(&acting, ""), [1, 2]);

        acting.check(redrive, r#"{"ids": [1]}"#, 200, "1 dead letter");
        await_letters(host, 2, 3).await;
        assert_eq!(letters(&acting, ""), [2, 3], "it failed again");
        acting.check(purge, r#"{"ids": [2]}"#, 200, "1 dead letter");
        assert_eq!(letters(&acting, ""), [3]);
        acting.check(redrive, r#"{"all": true}"#, 200, "1 dead letter");
        await_letters(host, 1, 4).await;
        acting.check(purge, r#"{"all": true}"#, 200, "1 dead letter");
        assert_eq!(letters(&acting, ""), [0; 0]);
        let purged = |line: &informant_e2e::host::Line| {
            line.text.contains("purge of dead letters was asked for")
                && line.field("letters") == Some("2")
        };
        host.await_line("the purge in the log", LINES_DEADLINE, purged).await.unwrap();
    });
}

#[test]
fn each_start_has_another_token_and_an_open_address_has_none() {
    host_fact(async |bench| {
        let [first, second] = [Acting::start(&bench, &[]).await, Acting::start(&bench, &[]).await];
        assert_ne!(first.token, second.token);
        let foreign = Acting { host: second.host, token: first.token };
        let answer = foreign.ask("/plugins/nobody/pause", "");
        assert_eq!(answer.status, 401, "{}", answer.body);
        assert!(answer.body.contains("not that of this host"), "{}", answer.body);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));

        let open = bench.start_unready(User::Admin, &["--listen", "0.0.0.0:0"]).await;
        let (success, said) = ask(&bench, &open, &["ui"]);
        assert!(!success && said.contains("this host's --listen is neither"), "{said}");
        drop(open);
        let files = ["server.pem", "server.key"].map(certificate);
        let secure = options(&files[0], &files[1]);
        let secure = [&["--listen", "0.0.0.0:0"][..], &secure].concat();
        let open = bench.start_unready(User::Admin, &secure).await;
        let (success, said) = ask(&bench, &open, &["ui"]);
        let address = open.secure_address().expect("it is announced").to_string();
        assert!(!success && said.contains(&address), "{said}");
    });
}

/// An action goes on without its caller, and its line has the result.
#[test]
fn an_action_whose_caller_leaves_is_carried_out() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let acting = Acting::start(&bench, &[]).await;
        let address = acting.host.address();
        acting.host.take_lines();
        let mut connection = std::net::TcpStream::connect(address).expect("it listens");
        let bearer = format!("Authorization: Bearer {}", acting.token);
        let head = format!("POST /plugins/event-printer/reload HTTP/1.1\r\nHost: {address}");
        connection
            .write_all(format!("{head}\r\n{ACTION}\r\n{bearer}\r\n\r\n").as_bytes())
            .expect("it takes a request");
        let begins = |line: &Line| line.message().starts_with("loading ");
        acting.host.await_line("the reload to begin", LINES_DEADLINE, begins).await.unwrap();
        drop(connection);
        let line = |line: &informant_e2e::host::Line| {
            line.text.contains("reload was asked for") && line.text.contains("took over")
        };
        acting.host.await_line("the reload with its result", LINES_DEADLINE, line).await.unwrap();
    });
}

/// What the host lets a caller on loopback do with `event-printer`.
fn permitted(host: &Host, header: &str) -> Value {
    let address = host.address();
    let head =
        format!("GET /plugins/event-printer/actions HTTP/1.0\r\nHost: {address}\r\n{header}");
    let answer = http::exchange(address, &format!("{head}\r\n\r\n")).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

#[test]
fn a_page_learns_which_actions_are_permitted() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let acting = Acting::start(&bench, &[]).await;
        let absent = acting.host.get("/plugins/nobody/actions").expect("it serves");
        assert_eq!(absent.status, 404, "{}", absent.body);
        let all = permitted(&acting.host, &format!("Authorization: Bearer {}", acting.token));
        assert_eq!(all, json!({"actions": PATHS, "reason": null}));
        for header in ["X: y", "Authorization: Bearer other"] {
            let none = permitted(&acting.host, header);
            assert_eq!(none["actions"], json!([]));
            assert!(none["reason"].as_str().unwrap_or_default().contains("informant ui"), "{none}");
        }
    });
}

async fn act(client: &Api, path: &str, more: &[(&'static str, &str)]) -> Reply {
    let header =
        |(name, value): &(&'static str, &'static str)| (HeaderName::from_static(name), *value);
    let action = [header(&("x-informant-action", "true"))];
    let more = more.iter().map(|(name, value)| (HeaderName::from_static(name), *value));
    let headers: Vec<_> = action.into_iter().chain(more).collect();
    client.call(Method::POST, path, &headers, Vec::new()).await
}

fn path_of(action: &str) -> String {
    format!("/plugins/event-printer/{action}")
}

/// A host with a secure address and event-printer.
async fn start_secure(bench: &HostBench<'_>) -> Host {
    bench.drop_plugin("event-printer", "event-printer");
    bench.start(&options(&certificate("server.pem"), &certificate("server.key"))).await
}

/// Invariant 43.
#[test]
fn a_caller_of_the_secure_address_needs_the_right_to_each_action() {
    host_fact(async |bench| {
        let host = start_secure(&bench).await;
        let caller = Caller::new(&bench, &host).await;
        let paths = PATHS.map(path_of);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        caller.grant_paths("get", &["/plugins", "/plugins/*"], &paths).await;
        let client = caller.client(&caller.token().await).await;
        let served = poll::until("the grant", LINES_DEADLINE, async || {
            (code(&client, "/plugins").await == 200).then_some(())
        });
        served.await.expect("it may read");
        for path in &paths {
            let refused = act(&client, path, &[]).await.expect_status(403, "Forbidden");
            let text = format!("cannot post path \"{path}\"");
            assert!(
                refused["message"].to_string().contains(&text.replace('"', "\\\"")),
                "{refused}"
            );
            assert_eq!(code(&client, path).await, 405, "an action is no page");
        }
        let shown = client.get("/plugins/event-printer/actions").await.expect(200);
        assert_eq!(shown["actions"], json!([]), "{shown}");

        caller.grant_paths("post", &[&path_of("pause")], &[]).await;
        let paused = poll::until("the grant", Duration::from_secs(60), async || {
            let reply = act(&client, &path_of("pause"), &[]).await;
            (reply.status == 200).then(|| reply.json())
        });
        assert_eq!(paused.await.expect("it may pause")["msg"], "paused; its events wait");
        let refused = act(&client, &path_of("resume"), &[]).await;
        assert_eq!(refused.status, 403);
        let shown = client.get("/plugins/event-printer/actions").await.expect(200);
        assert_eq!(shown["actions"], json!(["pause"]), "{shown}");
        assert_eq!(host.plugin("event-printer").expect("it is there")["state"], "paused");
        let user = caller.user();
        let line = |line: &informant_e2e::host::Line| line.field("by") == Some(user.as_str());
        let line = host.await_line("the action in the log", LINES_DEADLINE, line).await.unwrap();
        let fields = ["listener", "from"].map(|field| line.field(field));
        assert_eq!(fields, [Some("secure"), Some("127.0.0.1")]);
        assert_eq!(code(&client, "/plugins/nobody/actions").await, 404);
    });
}

/// Invariant 43.
#[test]
fn a_right_is_no_right_for_pages_of_other_sites_nor_with_the_token_of_loopback() {
    host_fact(async |bench| {
        let host = start_secure(&bench).await;
        let token = token(&bench, &host);
        let caller = Caller::new(&bench, &host).await;
        let pause = path_of("pause");
        let stranger = caller.client(&token).await;
        assert_eq!(act(&stranger, &pause, &[]).await.status, 401, "it is a token of loopback");
        if let TestCluster::Real(_) = &*bench.cluster {
            caller.grant_paths("post", &[&pause], &[]).await;
        }
        let client = caller.client(&caller.token().await).await;
        let own = format!("https://{}", client_host(&host));
        let permitted = poll::until("the right", Duration::from_secs(60), async || {
            let headers = [("origin", own.as_str()), ("sec-fetch-site", "same-origin")];
            (act(&client, &pause, &headers).await.status == 200).then_some(())
        });
        permitted.await.expect("it may pause");
        act(&client, &path_of("resume"), &[]).await;
        let forged: [(&'static str, &str); 6] = [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1:8888"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "none"),
        ];
        for header in forged {
            let reply = act(&client, &pause, &[header]).await;
            assert_eq!(reply.status, 403, "{header:?}: {:?}", reply.json());
        }
        let bare = client.call(Method::POST, &pause, &[], Vec::new()).await;
        assert_eq!(bare.status, 403, "without its header");
        let as_admin = act(&client, &pause, &[("impersonate-user", "admin")]).await;
        assert_eq!(as_admin.status, 403);
    });
}

/// The name by which the test asks the secure address.
fn client_host(host: &Host) -> SocketAddr {
    let port = host.secure_address().expect("it is announced").port();
    SocketAddr::from(([127, 0, 0, 1], port))
}
