//! The parsing of URLs: their many forms, and texts that are not URLs.

use super::*;

/// The sent parts: `https host port authority path`; or the problem.
#[track_caller]
fn check(text: &str, expect: &str) {
    let shown = Target::parse(text).map(|target| shown(&target));
    assert_eq!(shown.unwrap_or_else(|problem| problem), expect, "{text:?}");
}

fn shown(target: &Target) -> String {
    let scheme = if target.is_https() { "https" } else { "http" };
    let address = if target.address().is_some() { "address" } else { "name" };
    let (host, port) = (target.host(), target.port());
    let (authority, path) = (target.authority(), target.path_and_query());
    format!("{scheme} {address} {host} {port} {authority} {path}")
}

#[test]
fn a_url_is_scheme_host_port_path_and_query() {
    check("https://a.org", "https name a.org 443 a.org /");
    check("https://a.org/b/c?d=e&f", "https name a.org 443 a.org /b/c?d=e&f");
    check("http://a.org:8080?x", "http name a.org 8080 a.org:8080 /?x");
    check("HTTP://A.Org:80/B", "http name a.org 80 a.org /B");
    check("https://a.org:443/", "https name a.org 443 a.org /");
    check("https://a.org/b#c", "https name a.org 443 a.org /b");
    check("https://a.org/ä?ö", "https name a.org 443 a.org /%C3%A4?%C3%B6");
    check("https://münchen.de/", "https name xn--mnchen-3ya.de 443 xn--mnchen-3ya.de /");
    check("https://a_b.org", "https name a_b.org 443 a_b.org /");
    check("http://[::1]:8080/", "http address ::1 8080 [::1]:8080 /");
}

#[test]
fn an_address_is_one_however_it_is_written() {
    let loopback = "http address 127.0.0.1 80 127.0.0.1 /";
    let spellings = [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "127。0。0。1",
        "127．0．0．1",
        "１２７.0.0.1",
        "%31%32%37.1",
        "⑫7.1",
    ];
    for host in spellings {
        check(&format!("http://{host}/"), loopback);
    }
    check("http://[::ffff:127.0.0.1]/", "http address ::ffff:7f00:1 80 [::ffff:7f00:1] /");
    check("http://169.254.43518/", "http address 169.254.169.254 80 169.254.169.254 /");
    for host in ["256.1.1.1", "1.2.3.4.5", "0x100000000", "a.1", "127.0.0.08"] {
        check(&format!("http://{host}/"), "invalid IPv4 address");
    }
    for host in ["[::1", "[1::2::3]", "[fe80::1%25eth0]", "[127.0.0.1]"] {
        check(&format!("http://{host}/"), "invalid IPv6 address");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for text in ["https://a.org@evil.org/", "https://u:p@a.org", "https://@a.org", "https://a@b@c"]
    {
        check(text, USERINFO);
    }
    // A parser that stops at the `#` sees another host.
    check("https://a.org#@evil.org/", "https name a.org 443 a.org /");
    check("https://a.org?@evil.org/", "https name a.org 443 a.org /?@evil.org/");
    check("https://a.org\\@evil.org/", r"a URL has no '\\'");
    check("https:\\\\a.org/", r"a URL has no '\\'");
    check("https://a.org/\tb", r"a URL has no '\t'");
    check("https://a.org/b\r\nHost: evil.org", r"a URL has no '\r'");
    check(" https://a.org", "a URL has no ' '");
    check("https://a.org/\u{2028}", r"a URL has no '\u{2028}'");
    check("https://a.org\0.evil.org", r"a URL has no '\0'");
    let begin = "a URL begins with https:// or http://";
    for text in ["", "a.org", "//a.org", "https:a.org", "https:/a.org", "ftp://a.org", "file:///x"]
    {
        check(text, begin);
    }
    for text in ["javascript://a.org", "httpss://a.org", "data:,x"] {
        check(text, begin);
    }
    for text in ["https://", "https:///a.org", "https://?a", "https://#a"] {
        check(text, "it names no host");
    }
    check("https://a.org:0/", "its port is none");
    check("https://a.org:65536/", "invalid port number");
    check("https://a.org:8 0/", "a URL has no ' '");
    check("https://a.org:x/", "invalid port number");
}

#[test]
fn a_host_is_a_name_that_means_the_same_to_everybody() {
    check("https://a.org./", "its host ends with a dot: leave that out");
    let no_name = "its host cannot be a name";
    for host in ["a..org", ".a.org", "*.a.org", "a,b.org", "a'b.org", "a!b"] {
        check(&format!("https://{host}/"), no_name);
    }
    let label = |bytes: usize| format!("https://{}.org/", "a".repeat(bytes));
    assert!(Target::parse(&label(LABEL_BYTES_MAX)).is_ok());
    assert!(Target::parse(&label(LABEL_BYTES_MAX + 1)).is_err());
    let name = |bytes: usize| format!("https://{}", &"a.".repeat(200)[..bytes]);
    assert!(Target::parse(&name(NAME_BYTES_MAX)).is_ok());
    assert!(Target::parse(&name(NAME_BYTES_MAX + 2)).is_err());
    for host in ["a%2eorg%2f", "a%00.org", "a<b", "a|b", "a^b", "xn--a"] {
        assert!(Target::parse(&format!("https://{host}/")).is_err(), "{host}");
    }
    // Soft hyphens and similar characters vanish: the rest is the host.
    check("https://ex\u{ad}ample.org", "https name example.org 443 example.org /");
}

#[test]
fn a_path_has_no_dots_of_its_own() {
    let dots = "the path has . or .. in it: write it without";
    for path in ["/..", "/a/../b", "/.", "/./a", "/a/%2e%2E/b", "/.%2e/", "/..;x/a"] {
        check(&format!("https://a.org{path}"), dots);
    }
    check("https://a.org/...", "https name a.org 443 a.org /...");
    check("https://a.org/a?b=/../c", "https name a.org 443 a.org /a?b=/../c");
}

#[test]
fn what_is_plainly_no_secret_of_a_path_is_shown() {
    #[track_caller]
    fn check(path: &str, expect: Option<&str>) {
        let target = Target::parse(&format!("https://a.org{path}")).expect("a URL");
        assert_eq!(target.plain_path(), expect, "{path}");
    }
    check("/api/v1beta2/alerts?token", Some("/api/v1beta2/alerts"));
    check("/Reports/a-b_c.json", Some("/Reports/a-b_c.json"));
    check("/services/T01ABCDEF/x", Some("/services"));
    check("/api/webhooks/1234/x", Some("/api/webhooks"));
    check("/hooks/aBcDe", Some("/hooks"));
    check(&format!("/a/{}/b", "x".repeat(PLAIN_BYTES_MAX + 1)), Some("/a"));
    check(&format!("/{}", "x".repeat(PLAIN_BYTES_MAX)), Some(&format!("/{}", "x".repeat(24))));
    check(&"/a".repeat(PLAIN_SEGMENTS_MAX + 1), Some(&"/a".repeat(PLAIN_SEGMENTS_MAX)));
    for nothing in ["", "/", "/bot123456/x", "/%41", "/a%2fb", "//a"] {
        check(nothing, None);
    }
    check("/a//b", Some("/a"));
    let from = Target::parse("https://a.org/b").expect("a URL");
    assert_eq!(from.join("/c").expect("a URL").plain_path(), None);
}

#[test]
fn a_location_is_read_from_where_it_was_sent() {
    #[track_caller]
    fn check(location: &str, expect: &str) {
        let from = Target::parse("https://a.org:8443/b/c?d").expect("a URL");
        let target = from.join(location).map(|target| shown(&target));
        assert_eq!(target.unwrap_or_else(|problem| problem), expect, "{location:?}");
    }
    check("/x", "https name a.org 8443 a.org:8443 /x");
    check("../x?y#z", "https name a.org 8443 a.org:8443 /x?y");
    check("?y", "https name a.org 8443 a.org:8443 /b/c?y");
    check("", "https name a.org 8443 a.org:8443 /b/c?d");
    check("//b.org/x", "https name b.org 443 b.org /x");
    check("http://127.1/", "http address 127.0.0.1 80 127.0.0.1 /");
    check("https://u:p@b.org/", USERINFO);
    check("ftp://b.org/", "it is neither https nor http");
    check("data:,x", "it is neither https nor http");
    check("https:\\\\b.org", r"a URL has no '\\'");
    check("https://b.org./", "its host ends with a dot: leave that out");
}

#[test]
fn urls_are_bounded() {
    let url = |bytes: usize| format!("https://a.org/{}", "a".repeat(bytes - 14));
    assert!(Target::parse(&url(URL_BYTES_MAX)).is_ok());
    check(&url(URL_BYTES_MAX + 1), "a URL has at most 8192 bytes, and this has 8193");
    // The sent form is longer.
    let long = format!("https://a.org/{}", "ä".repeat(2_000));
    check(&long, "a URL has at most 8192 bytes, and this has 12014");
}

#[test]
fn path_and_query_are_not_shown() {
    let target = Target::parse("https://a.org:8443/secret?secret").expect("a URL");
    assert_eq!(
        format!("{target:?} {}", target.origin()),
        "https://a.org:8443/… https://a.org:8443"
    );
}
