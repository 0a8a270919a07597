//! Words that would have another meaning where they are shown: in lines of a log, metrics, and keys of another
//! plugin's state.

use super::attacker::{ATTACKER, Try, answered, check, configuration, harmless, refused};
use crate::bench::labelled_pod;
use crate::host::bench::{LINES_DEADLINE, host_fact};
use informant_e2e::host::Line;
use serde_json::{Value, json};

fn line(text: &str, pairs: Value) -> Value {
    json!({"call": "log.log", "text": text, "pairs": pairs})
}

#[test]
fn a_line_of_a_plugin_is_one_line_and_its_own() {
    host_fact(async |bench| {
        let forged = r#"{"level":"ERROR","plugin":"forged","message":"forged"}"#;
        let next = format!("x\n{forged}");
        let tries = [
            answered("a second line", line(&next, json!([])), ""),
            answered(
                "a second line by carriage return",
                line(&next.replace('\n', "\r"), json!([])),
                "",
            ),
            answered(
                "a second line by U+2028",
                line(&next.replace('\n', "\u{2028}"), json!([])),
                "",
            ),
            answered(
                "the end of a JSON text",
                line(r#"x","plugin":"forged","y":""#, json!([])),
                "",
            ),
            answered("a cleared terminal", line("\u{1b}[2J\u{1b}[1;1H", json!([])), ""),
            answered("a coloured terminal in one byte", line("\u{9b}31m", json!([])), ""),
            answered("a text that reads backwards", line("a\u{202e}b\u{2066}c", json!([])), ""),
            answered("NUL and a bell", line("a\0b\u{7}c", json!([])), ""),
            answered("a field called as the host's", line("x", json!([["plugin", "forged"]])), ""),
            answered(
                "a field with a second line",
                line("x", json!([["a\nb", forged], ["c", "\r\n"]])),
                "",
            ),
        ];
        let (host, _directory) = check(&bench, json!({"config": {}}), json!({}), &tries).await;
        for line in host.lines() {
            assert!(!disturbs(&line.text), "{:?}", line.text);
            let json: Value = serde_json::from_str(&line.text).unwrap_or_default();
            assert!(json.is_object(), "{}", line.text);
            assert_ne!(line.field("plugin"), Some("forged"), "{}", line.text);
            let is_own = line.message().starts_with('x') || line.message().starts_with("tried ");
            assert!(!is_own || json["target"] == "plugin", "{}", line.text);
        }
    });
}

/// RBAC has no bound for names but that of a request.
#[test]
fn lines_of_the_host_about_an_object_are_short_whatever_its_name() {
    host_fact(async |bench| {
        let (group, namespace) = ("rbac.authorization.k8s.io/v1", &bench.namespace);
        let name = "n".repeat(60_000);
        let role = json!({"apiVersion": group, "kind": "Role", "metadata": {"name": name}});
        let path = format!("/apis/{group}/namespaces/{namespace}/roles");
        bench.api.create(&path, &role).await.expect(201);
        let resource = format!("{group}/roles");
        let config = json!({"as": "handler", "resource": resource, "namespace": namespace, "mood": "gives-up"});
        let (_directory, own) = configuration(&json!({"plugins": {"moods": {"config": config}}}));
        bench.drop_plugin("moods", "moods");
        let host = bench.start(&["--config", &own]).await;
        let is_given_up = |line: &Line| line.message().contains("gave up on the event");
        let what = "the event to be given up";
        let line = host.await_line(what, LINES_DEADLINE, is_given_up).await.unwrap();
        assert!(line.message().contains("see `informant dlq list moods`: "), "{}", line.text);
        let cut = format!("{} … (59747 bytes more)", &name[..253]);
        assert_eq!(line.field("name"), Some(&*cut));
        let long = |line: &Line| line.text.len() > 4 << 10;
        assert!(!host.lines().iter().any(long), "a line has the whole name");
    });
}

/// Whether the text controls a terminal, begins a line, or changes the reading direction.
fn disturbs(text: &str) -> bool {
    let turns = |one: char| matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().any(|one| one.is_control() || turns(one) || matches!(one, '\u{2028}' | '\u{2029}'))
}

fn metric(kind: &str, name: &str, pairs: Value, value: &str) -> Value {
    json!({"call": format!("metrics.{kind}"), "of": name, "pairs": pairs, "text": value})
}

#[test]
fn a_metric_of_a_plugin_is_no_other() {
    host_fact(async |bench| {
        let long = "n".repeat(129);
        let value = "x\"} 1\ninformant_plugin_up{plugin=\"forged\"} 0\n# EOF\n\\";
        let none = || json!([]);
        let gauge = |name: &str| metric("gauge", name, none(), "1");
        let labelled = |label: &str| metric("gauge", "own", json!([[label, "x"]]), "1");
        let tries: Vec<Try> = vec![
            refused("a name of the host", gauge("informant_plugin_up"), "are the host's"),
            refused("who leads", gauge("leader_election_master_status"), "are the host's"),
            refused(
                "what the process costs",
                gauge("process_resident_memory_bytes"),
                "are the host's",
            ),
            refused(
                "what a scrape says of itself",
                gauge("scrape_duration_seconds"),
                "are the host's",
            ),
            refused("whether the host is up", gauge("up"), "is Prometheus' own"),
            refused("an alert", gauge("ALERTS"), "is Prometheus' own"),
            refused("a name of two lines", gauge("a\nb"), "is not of letters, digits and _"),
            refused(
                "a name with labels",
                gauge("informant_plugin_up{plugin=\"forged\"}"),
                "is not of letters",
            ),
            refused("no name", gauge(""), "0 bytes"),
            refused("a name of 129 bytes", gauge(&long), "129 bytes"),
            refused(
                "what is written behind a histogram",
                gauge("own_bucket"),
                "is not for the end of a gauge",
            ),
            refused("another plugin's label", labelled("plugin"), "the host's or Prometheus' own"),
            refused("a bucket's bound", labelled("le"), "the host's or Prometheus' own"),
            refused("a name as a label", labelled("__name__"), "the host's or Prometheus' own"),
            refused("a label of two lines", labelled("a\nb"), "is not of letters"),
            refused("no number", metric("gauge", "own", none(), "NaN"), "is no value"),
            refused("endless", metric("histogram", "own_seconds", none(), "inf"), "is no value"),
            refused(
                "a counter that falls",
                metric("counter", "own_hits", none(), "-1"),
                "a counter only rises",
            ),
            answered("as much as there is", metric("counter", "most", none(), "1.7e308"), ""),
            answered("as much again", metric("counter", "most", none(), "1.7e308"), ""),
            answered(
                "as much in a histogram",
                metric("histogram", "most_seconds", none(), "1.7e308"),
                "",
            ),
            answered(
                "as much in it again",
                metric("histogram", "most_seconds", none(), "1.7e308"),
                "",
            ),
            answered(
                "a value of several lines",
                metric("gauge", "own", json!([["a", value]]), "1"),
                "",
            ),
            refused(
                "more series than there may be",
                metric("flood", "flood", none(), "1500"),
                "at most so many are kept",
            ),
        ];
        let (host, _directory) = check(&bench, json!({"config": {}}), json!({}), &tries).await;
        let page = host.get("/metrics").expect("an answer").body;
        for line in page.lines() {
            assert!(!line.starts_with("informant_plugin_up{plugin=\"forged\""), "{line}");
            let number = line.rsplit(' ').next().unwrap_or_default();
            let is_own = !line.starts_with('#') && line.contains("plugin=\"attacker\"");
            let is_finite = number.parse::<f64>().is_ok_and(f64::is_finite);
            assert!(!is_own || is_finite, "{line}");
        }
        let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let mut families: Vec<&str> = families.collect();
        let all = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), all, "each family is there once");
        assert_eq!(page.lines().filter(|line| *line == "# EOF").count(), 1);
    });
}

#[test]
fn a_key_of_a_plugin_is_nobody_elses() {
    host_fact(async |bench| {
        // The other plugin stores its state now, and the attacker tries after that.
        let first = labelled_pod(&format!("{ATTACKER}-0"), &[("app", "mine")]);
        bench.api.create(&bench.pods(), &first).await.expect(201);
        bench.drop_plugin(ATTACKER, "other");
        let state = |call: &str, of: &str, text: &str| json!({"call": format!("state.{call}"), "of": of, "text": text});
        let control = "\u{1b}[2J\n\0\u{202e}";
        let tries = [
            answered("another plugin's key", state("get", "shared", ""), ""),
            answered("another plugin's key by a path", state("get", "../other/shared", ""), ""),
            answered("another plugin's key by NUL", state("get", "other\0shared", ""), ""),
            harmless("all keys", state("keys", "", "")),
            harmless("the other's keys", state("keys", "sh", "")),
            refused("an empty key", state("set", "", "x"), "a key of 0 bytes"),
            answered("a key of 512 bytes", state("set", &"k".repeat(512), "x"), ""),
            refused(
                "a key of 513 bytes",
                state("set", &"k".repeat(513), "x"),
                "a key of 513 bytes",
            ),
            answered("a key that speaks to a terminal", state("set", control, "x"), ""),
            answered("what it kept there", state("get", control, ""), "x"),
        ];
        let keeps =
            json!([{"name": "keeps", "call": "state.set", "of": "shared", "text": "xyzzy"}]);
        let others = json!({"other": {"config": {"tries": keeps}}});
        let (host, _directory) = check(&bench, json!({"config": {}}), others, &tries).await;
        let kept =
            host.lines_of("other").iter().any(|line| line.message() == "tried keeps: answered: ");
        assert!(kept, "there was something to be found");
    });
}
