//! HTTP grants, their sources, and the texts for missing ones.

use super::*;
use crate::contract::configuration::tests::configured;
use crate::contract::descriptor::Descriptor;
use crate::outside::outbound::PluginRequest;

fn grants(host: &str, sidecar: &str) -> HttpGrants {
    configured(host, sidecar).unwrap_or_else(|error| panic!("{error}")).http
}

/// `POST https://a.org/b`.
fn request(text: &str) -> OutboundRequest {
    let (method, url) = text.split_once(' ').expect("a method and a URL");
    let (method, url) = (method.to_owned(), url.to_owned());
    let asked = PluginRequest { method, url, headers: Vec::new(), body: Vec::new() };
    OutboundRequest::new(asked, 0).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

/// Checks which of these requests are granted.
#[track_caller]
fn check(host: &str, sidecar: &str, granted: &[&str], refused: &[&str]) {
    let grants = grants(host, sidecar);
    let is_granted = |text: &&str| grants.check_request("a", &request(text)).is_ok();
    let all = granted.iter().chain(refused).copied();
    let found: Vec<&str> = all.filter(|text| is_granted(text)).collect();
    assert_eq!(found, granted, "{host} {sidecar}");
}

const RULE: &str =
    "{origins: ['https://a.org', 'http://b.svc:81'], methods: [GET, POST], paths: [/v1, /w]}";

#[test]
fn nothing_is_granted_by_itself() {
    let all = ["GET https://a.org/v1", "POST http://b.svc:81/w"];
    check("{}", "", &[], &all);
    check("{}", "http: []", &[], &all);
    check("{}", &format!("http: [{RULE}]"), &[], &all);
    check(&format!("ceiling: {{http: [{RULE}]}}"), "", &[], &all);
}

#[test]
fn a_rule_grants_what_it_names_and_nothing_beside_it() {
    let granted = ["GET https://a.org/v1/x?y", "POST http://b.svc:81/w"];
    let refused = [
        "PUT https://a.org/v1",
        "GET https://a.org/",
        "GET https://a.org/v10",
        "GET https://a.org/v1%2fx",
        "GET http://a.org/v1",
        "GET http://b.svc/w",
        "GET https://c.org/v1",
    ];
    check(&format!("a: {{http: [{RULE}]}}"), "", &granted, &refused);
    let ceiling = format!("ceiling: {{http: [{RULE}]}}");
    check(&ceiling, &format!("http: [{RULE}]"), &granted, &refused);
    let defaults = format!("{ceiling}\ndefaults: {{http: [{RULE}]}}");
    check(&defaults, "", &granted, &refused);
    check(&defaults, "http: []", &[], &granted);
    check(&format!("{defaults}\na: {{http: []}}"), &format!("http: [{RULE}]"), &[], &granted);
    let everything = "{origins: ['*.org'], methods: [GET]}";
    let encoded = ["GET https://a.org/v1%2fx", "GET https://b.a.org/"];
    check(&format!("a: {{http: [{everything}]}}"), "", &encoded, &["GET https://org/"]);
}

#[test]
fn a_file_beside_a_plugin_grants_up_to_the_ceiling() {
    let ceiling = "ceiling: {http: [{origins: ['*.a.org'], methods: [GET], paths: [/v1], addresses: [public, private], headers: {X-Key: {secret: s}}}]}";
    let rule = |more: &str| {
        format!("http: [{{origins: ['b.a.org', 'c.org'], methods: [GET, POST]{more}}}]")
    };
    let (within, beyond) =
        ("GET https://b.a.org/v1/x", ["GET https://b.a.org/", "GET https://c.org/v1"]);
    check(ceiling, &rule(""), &[within], &beyond);
    check(ceiling, &rule(""), &[within], &["POST https://b.a.org/v1"]);
    for more in [", addresses: [private]", ", headers: {x-key: {secret: s}}"] {
        check(ceiling, &rule(more), &[within], &[]);
    }
    let too_much = [
        ", addresses: [loopback]",
        ", headers: {x-key: {secret: other}}",
        ", headers: {x-key: {secret: s, prefix: p}}",
        ", headers: {authorization: {secret: s}}",
    ];
    for more in too_much {
        check(ceiling, &rule(more), &[], &[within]);
    }
}

#[test]
fn the_first_rule_that_fits_counts() {
    let rules = "a: {http: [{origins: [a.org], methods: [GET], paths: [/k], headers: {Authorization: {secret: s, prefix: 'Bearer '}}}, \
                 {origins: ['*.org', a.org], methods: [GET], addresses: [private]}]}";
    let grants = grants(rules, "");
    let granted = |text: &str| grants.check_request("a", &request(text)).expect("it is granted");
    let first = granted("GET https://a.org/k/x");
    assert_eq!(first.addresses, AddressKinds::default());
    let [SecretHeader { name, prefix, secret }] = &first.secrets[..] else { panic!("{first:?}") };
    assert_eq!([name, prefix, secret.as_str()], ["authorization", "Bearer ", "s"]);
    let second = granted("GET https://a.org/x");
    assert_eq!(second.addresses, AddressKinds::new([AddressKind::Private]));
    assert_eq!(second.secrets, []);
}

#[test]
fn defaults_do_not_go_beyond_the_ceiling() {
    #[track_caller]
    fn check(ceiling: &str, defaults: &str, beyond: &str) {
        let rule = |rule: &str| format!("{{http: [{{origins: [a.org], methods: [GET]{rule}}}]}}");
        let host = format!("ceiling: {}\ndefaults: {}", rule(ceiling), rule(defaults));
        let error = configured(&host, "").err().map(|error| error.to_string());
        let expect = match beyond {
            "" => None,
            beyond => Some(format!(
                "host.yaml line 2: defaults.http has {beyond}, and the ceiling of this host has it not"
            )),
        };
        assert_eq!(error, expect);
    }
    let beyond = "GET to https://a.org";
    check("", "", "");
    check("", ", paths: [/a]", "");
    check(", paths: [/a]", ", paths: [/a/b, /a]", "");
    check(", paths: [/a]", "", beyond);
    check(", paths: [/a]", ", paths: [/a, /b]", beyond);
    check("", ", addresses: [private]", beyond);
    check("", ", headers: {a: {secret: s}}", beyond);
    check(", headers: {a: {secret: s}}", ", headers: {A: {secret: s}}", "");
}

#[test]
fn whoever_is_granted_requests_by_name_is_configured_there() {
    let host = format!("a: {{http: [{RULE}]}}");
    let error = configured(&host, "config: {url: x}").expect_err("it steers them").to_string();
    assert!(error.contains("the host's own configuration grants requests to a"), "{error}");
}

#[test]
fn what_is_no_rule_is_refused_with_its_place() {
    #[track_caller]
    fn check(rule: &str, expect: &str) {
        let error = configured("{}", &format!("http: [{{{rule}}}]")).expect_err("it is none");
        let told = error.to_string().replace("a.yaml", "").replace(" line 3", "");
        assert!(told.starts_with(&format!(": http[0]{expect}")), "{told}");
    }
    let both = "origins: [a.org], methods: [GET]";
    check("methods: [GET]", ".origins is to name some: write it as [\"https://api.example.com\"]");
    check("origins: [a.org]", ".methods is to name some: write it as [GET]");
    check("origins: [a.org], methods: []", ".methods is to name some");
    check("origins: [a.org/b], methods: [GET]", ".origins has \"a.org/b\", which is no origin");
    check("origins: [a.org], methods: [TRACE]", ".methods has \"TRACE\", and may have GET");
    check(&format!("{both}, paths: []"), ".paths has 0 entries: name 1, or leave it out for all");
    check(&format!("{both}, paths: [v1]"), ".paths has \"v1\"");
    check(&format!("{both}, addresses: [metadata]"), ".addresses has \"metadata\", and may have");
    let header = |header: &str| format!("{both}, headers: {{{header}}}");
    check(&header("a: {}"), ".headers.a.secret is missing: write it as api-token");
    check(&header("a: {secret: ../b}"), ".headers.a.secret has \"../b\"");
    check(&header("a: {secret: s, prefix: \"x\\r\\n\"}"), ".headers.a.prefix has control");
    check(&header("Host: {secret: s}"), ".headers: header \"Host\" is the host's own");
    check(&header("a-b: {secret: s}, A_B: {secret: s}"), ".headers has \"a_b\" twice");
    let many = |count: usize| {
        let all: Vec<String> = (0..count).map(|n| format!("a{n}: {{secret: s}}")).collect();
        header(&all.join(", "))
    };
    check(&many(SECRET_HEADERS_MAX + 1), ".headers has more than 8 entries");
    assert!(configured("{}", &format!("http: [{{{}}}]", many(SECRET_HEADERS_MAX))).is_ok());
}

#[test]
fn the_line_that_would_grant_a_request_grants_little_else_and_shows_no_secret() {
    let ceiling = "ceiling: {http: [{origins: ['*.org'], methods: [GET]}]}";
    let told = |host: &str, sidecar: &str, text: &str| {
        grants(host, sidecar).check_request("a", &request(text)).expect_err("it is not granted")
    };
    let line = r#"http: [{origins: ["https://a.org"], methods: [GET], paths: ["/hooks"]}]"#;
    let said = told(ceiling, "", "GET https://a.org/hooks/T01ABCDEF?secret");
    let expect =
        format!("to GET https://a.org is not granted; to grant it, write in a.yaml: {line}");
    assert_eq!(said, expect);
    let others = ["GET https://a.org/other", "GET https://b.org/hooks/x"];
    check(ceiling, line, &["GET https://a.org/hooks/T01ABCDEF?secret"], &others);
    let own = "write in the host's own configuration (--config): plugins: ";
    let rule = r#"http: [{origins: ["http://b.svc:81"], methods: [PUT], paths: ["/x"]}]"#;
    let said = told(ceiling, line, "PUT http://b.svc:81/x");
    let expect = format!(
        "to PUT http://b.svc:81 is not granted; to grant it, {own}{{a: {{{rule}}}}}, before the rules that are there"
    );
    assert_eq!(said, expect);
    let others = ["POST http://b.svc:81/x", "PUT http://b.svc:81/y"];
    check(&format!("a: {{{rule}}}"), "", &["PUT http://b.svc:81/x"], &others);
    let said = told(&format!("a: {{http: [{RULE}]}}"), "", "GET https://a.org/secret");
    assert!(said.starts_with("to GET this path of https://a.org is not granted"), "{said}");
    // A request that a rule with a path would not grant needs a rule without one.
    let said = told(ceiling, "", "GET https://a.org/a%2fb");
    assert!(said.ends_with(r#"http: [{origins: ["https://a.org"], methods: [GET]}]"#), "{said}");
    let advised = grants(ceiling, "").advice(
        "a",
        &request("GET https://a.org"),
        &AddressKinds::default().with(AddressKind::Private),
    );
    let rule =
        r#"http: [{origins: ["https://a.org"], methods: [GET], addresses: [public, private]}]"#;
    assert_eq!(advised, format!("to grant it, {own}{{a: {{{rule}}}}}"));
}

#[test]
fn rules_name_as_much_as_they_may() {
    let rules = |origins: usize, paths: usize| {
        let origins: Vec<String> = (0..origins).map(|n| format!("'{n}.a.org'")).collect();
        let paths: Vec<String> = (0..paths).map(|n| format!("/{n}")).collect();
        let (origins, paths) = (origins.join(", "), paths.join(", "));
        format!("http: [{{origins: [{origins}], methods: [GET], paths: [{paths}]}}]")
    };
    #[track_caller]
    fn check(host: &str, sidecar: &str, expect: Option<&str>) {
        let error = configured(host, sidecar).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expect);
    }
    check("{}", &rules(200, 56), None);
    let problem =
        "http has 257 origins and paths in its rules, and may have 256 (limits.httpRules)";
    check("{}", &rules(200, 57), Some(&format!("a.yaml line 3: {problem}")));
    check("{}", &format!("{}\nlimits: {{httpRules: 257}}", rules(200, 57)), None);
    check(&format!("a: {{{}}}", rules(1, 256)), "", Some(&format!("host.yaml line 1: {problem}")));
    let more = format!("a: {{{}, limits: {{httpRules: 10000}}}}", rules(256, 256));
    check(&more, "", None);
    assert_eq!(entries(grants(&more, "").rules()), 512);
}

#[test]
fn methods_and_origins_that_are_asked_for_may_be_granted_by_several_rules() {
    let spec = |paths: usize| {
        let paths: Vec<String> = (0..paths).map(|n| format!("\"/{n}\"")).collect();
        let paths = paths.join(",");
        format!(r#"{{"origins":["https://a.org"],"methods":["GET","PUT"],"paths":[{paths}]}}"#)
    };
    let json = format!(r#"{{"version":"1","http":[{}]}}"#, spec(32));
    let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
    let rules = |methods: &str| {
        let paths: Vec<String> = (0..32).map(|n| format!("/{n}")).collect();
        format!("{{origins: [a.org], methods: [{methods}], paths: [{}]}}", paths.join(", "))
    };
    // Several rules may grant the methods.
    let granted = grants(&format!("a: {{http: [{}, {}]}}", rules("GET"), rules("PUT")), "");
    assert_eq!(granted.check("a", &descriptor.http), Ok(()));
    let granted = grants(&format!("a: {{http: [{}]}}", rules("GET")), "");
    assert!(granted.check("a", &descriptor.http).is_err());
}

#[test]
fn what_a_plugin_asks_for_is_held_against_what_is_granted() {
    let asks = |http: &str, rules: &str| {
        let json = format!(r#"{{"version":"1","http":[{http}]}}"#);
        let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
        grants(&format!("a: {{http: [{rules}]}}"), "").check("a", &descriptor.http).err()
    };
    let posts = r#"{"origins":["https://a.org"],"methods":["POST"]}"#;
    assert_eq!(asks(posts, RULE), None, "whatever path it will be");
    let below =
        |path: &str| format!(r#"{{"origins":["a.org"],"methods":["GET"],"paths":["{path}"]}}"#);
    assert_eq!(asks(&below("/v1/x"), RULE), None);
    assert_eq!(asks(&below("/"), RULE), None);
    let told = asks(&below("/x"), RULE).expect("nothing of it");
    let line = r#"http: [{origins: ["https://a.org"], methods: [GET], paths: ["/x"]}]"#;
    let expect = format!(
        "it asks to GET https://a.org below /x, which is not granted; to grant all that it asks for, write in the host's own \
         configuration (--config): plugins: {{a: {{{line}}}}}"
    );
    assert_eq!(told, expect);
    for here in ["http://127.0.0.1:8080", "http://localhost:8080", "https://web.localhost"] {
        let spec = format!(r#"{{"origins":["{here}"],"methods":["GET"]}}"#);
        let rule = |more: &str| format!("{{origins: ['{here}'], methods: [GET]{more}}}");
        let told = asks(&spec, &rule("")).expect("its address is not granted");
        assert!(told.contains("addresses: [public, loopback]"), "{told}");
        assert_eq!(asks(&spec, &rule(", addresses: [loopback]")), None);
    }
    let private = r#"{"origins":["http://b.svc:81"],"methods":["GET"],"addresses":["private"]}"#;
    assert!(asks(private, RULE).expect("not there").contains("at private addresses"));
    assert_eq!(
        asks(private, "{origins: ['http://b.svc:81'], methods: [GET], addresses: [private]}"),
        None
    );
    let star = r#"{"origins":["https://*.org"],"methods":["GET"]}"#;
    assert!(asks(star, RULE).is_some());
    assert_eq!(asks(posts, "{origins: ['*.org'], methods: [POST]}"), None);
}
