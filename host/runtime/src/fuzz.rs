//! Fuzz targets: plugin files, descriptors, texts and URLs. They come from a plugin's author, or
//! from the server that answers a plugin.

use crate::contract::component::check;
use crate::contract::descriptor::Descriptor;
use crate::offline::Script;
use crate::one_line::one_line;
use crate::outside::outbound::{self, OriginRule, PathRule};
use crate::recording::{Recording, hide_in_call};
use informant_fuzz::Target;
use serde_json::Value;
use std::collections::BTreeSet;

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name)
}

#[test]
fn descriptor() {
    let words = &[
        "\"version\":\"1\"",
        "\"subscriptions\":[]",
        "{\"resource\":\"v1/pods\"}",
        "\"name\":\"x\"",
        "\"namespaces\":[\"default\"]",
        "\"namespaceSelector\":\"a=b\"",
        "\"labelSelector\":\"a=b\"",
        "\"fieldSelector\":\"metadata.name=x\"",
        "\"types\":[\"added\"]",
        "\"replay\":\"never\"",
        "\"delivery\":\"lazy\"",
        "\"withOld\":true",
        "\"onlyIfChanged\":[\"/spec\"]",
        "\"indexes\":[{\"resource\":\"v1/pods\",\"name\":\"n\",\"pointer\":\"/spec/nodeName\"}]",
        "\"reads\":[{\"resource\":\"v1/nodes\"}]",
        "\"filter\":\"\"",
        "\"http\":[{\"origins\":[\"https://*.a.org\"],\"methods\":[\"GET\"],\"paths\":[\"/v1\"]}]",
    ];
    target("descriptor").words(words).run(|input| match Descriptor::parse(input) {
        Ok(descriptor) => {
            let names: BTreeSet<&str> =
                descriptor.subscriptions.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.len(), descriptor.subscriptions.len(), "names tell them apart");
            assert!(names.iter().all(|name| !name.is_empty() && !name.contains('\n')));
            let resources = descriptor.resources();
            assert!(descriptor.indexes.iter().all(|index| resources.contains(&index.resource)));
            assert!(serde_json::from_slice::<Value>(input).is_ok());
        }
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(['\n', '\x1b']) && error.len() < 2048, "{error:?}");
        }
    });
}

#[test]
fn recording() {
    let head = concat!(
        r#"{"informant":"recording","version":1,"host":"0","plugin":"p","pluginVersion":"1","shard":[0,1],"#,
        r#""began":"2026-01-01T00:00:00Z","subscriptions":[{"name":"s","resource":"v1/pods"}]}"#,
        "\n"
    );
    let words = &[
        r#"{"line":"call","at":1,"with":"start"}"#,
        r#"{"line":"call","at":1,"with":{"synced":{"subscription":0}}}"#,
        r#"{"line":"call","at":1,"with":{"handle":{"seq":1,"subscription":0,"change":"added","reason":"watch","gone":null,"coalesced":0,"attempt":1,"object":"{}","old":null}}}"#,
        r#"{"line":"asked","function":"indexer.get","with":{"resource":"v1/secrets"},"answer":{"ok":"{}"}}"#,
        r#"{"line":"ended","result":null}"#,
        r#"{"line":"stopped","why":""}"#,
        "\n",
    ];
    target("recording").words(words).run(|input| {
        for text in [input.to_vec(), [head.as_bytes(), input].concat()] {
            match Recording::parse(&text) {
                Ok(recording) => {
                    for asked in recording.moments.into_iter().flat_map(|it| it.asked) {
                        let (mut with, mut answer) = (asked.with, asked.answer);
                        hide_in_call(&asked.function, &mut with, &mut answer);
                        let once = (with.clone(), answer.clone());
                        hide_in_call(&asked.function, &mut with, &mut answer);
                        assert_eq!((with, answer), once, "what is hidden stays so");
                    }
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(!text.contains(['\n', '\x1b']) && text.len() < 512, "{text:?}");
                }
            }
        }
    });
}

#[test]
fn events_file() {
    let words = &[
        r#"{"resource":"v1/pods","change":"added","object":{}}"#,
        r#"{"resource":"v1/pods","change":"updated","object":{},"old":{}}"#,
        r#"{"wait":"5m"}"#,
        r#"{"time":"2026-01-01T00:00:00Z"}"#,
        r#"{"http":{"url":"https://a.org/"},"answer":{"status":200,"body":"x"}}"#,
        r#"{"kube":{"verb":"patch"},"answer":{"error":"x"},"times":1}"#,
        "\n",
        "#",
    ];
    target("events_file").words(words).run(|input| {
        if let Err(error) = Script::parse(input) {
            let lines = input.split(|byte| *byte == b'\n').count();
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(!error.problem.is_empty());
        }
    });
}

#[test]
fn plugin_file() {
    let texts = [
        "(module)",
        "(module (func (export \"f\")) (memory 1) (data (i32.const 0) \"abc\"))",
        "(module (func (export \"informant:plugin/handler@0.1.0#handle\")))",
        "(module (func (export \"informant:plugin/lifecycle@0.1.0#stop\")))",
        "(module (import \"wasi_snapshot_preview1\" \"fd_write\" (func (param i32 i32 i32 i32) (result i32))))",
        "(component (import \"wasi:cli/environment@0.2.6\" (instance)) (instance $i)
            (export \"informant:plugin/lifecycle@0.1.0\" (instance $i))
            (export \"informant:plugin/handler@0.1.0\" (instance $i)))",
        "(component (core module (func (export \"f\"))) (core instance (instantiate 0))
            (func (canon lift (core func 0 \"f\"))) (export \"g\" (func 0)))",
    ];
    let made = texts.map(|text| wat::parse_str(text).expect("the test's text is well formed"));
    let words = &["\0asm\u{1}\0\0\0", "component-type", "informant:plugin/handler@0.1.0", "cm32p2"];
    target("plugin_file").words(words).inputs(made).run(|input| match check(input.to_vec()) {
        Ok(component) => {
            assert!(check(component.bytes.clone()).is_ok(), "what was made is accepted")
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    });
}

#[test]
fn text_of_a_guest() {
    let words = &["\u{202e}", "\u{2028}", "\u{85}", "\x1b[2J", "\r\n", "\t", "\u{feff}"];
    target("text_of_a_guest").words(words).run(|input| {
        let Some((first, text)) = input.split_first() else { return };
        let Ok(text) = std::str::from_utf8(text) else { return };
        let bytes_max = usize::from(*first);
        let line = one_line(text, bytes_max);
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert!(line.len() <= bytes_max + 40, "{} bytes of at most {bytes_max}", line.len());
        if text.bytes().all(|byte| byte.is_ascii_graphic()) && text.len() <= bytes_max {
            assert_eq!(line, text, "what is harmless stays");
        }
    });
}

/// Invariant 38.
#[test]
fn url_of_a_request() {
    let words = &[
        "https://",
        "HTTP://",
        "a.org",
        "127.1",
        "0x7f.1",
        "[::ffff:7f00:1]",
        "2130706433",
        ":8443",
        "@",
        "\\",
        "#",
        "?",
        "/..",
        "/%2e%2e",
        "/%252f",
        "%2F",
        "。",
        "xn--",
        "\u{ad}",
        "//b.org",
    ];
    target("url_of_a_request").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let url = match outbound::Target::parse(text) {
            Ok(url) => url,
            Err(problem) => {
                assert!(!problem.is_empty() && !problem.contains(['\n', '\x1b']), "{problem:?}");
                return;
            }
        };
        let (origin, path) = (url.origin(), url.path_and_query());
        assert!(origin.is_ascii() && path.is_ascii() && path.starts_with('/'), "{origin} {path}");
        assert!(!origin.contains(['@', '\\', '%', ' ']) && !path.contains(['#', ' ', '\n']));
        // The sent form is parsed as the checked one, by this parser and by the simplest split.
        let again = outbound::Target::parse(&format!("{origin}{path}"));
        assert_eq!(again.as_ref(), Ok(&url));
        let rest = origin.split_once("://").map(|(_, rest)| rest).expect("it has a scheme");
        assert_eq!(rest, url.authority());
        assert!(rest.starts_with(url.host()) || rest.starts_with(&format!("[{}]", url.host())));
        let rule: OriginRule = origin.parse().expect("an origin is one");
        assert!(rule.covers(&url) && rule.contains(&rule));
        let root: PathRule = "/".parse().expect("it is one");
        assert_eq!(root.covers(&url), !url.is_ambiguous());
        if let Ok(joined) = url.join(text) {
            assert_eq!(joined, url, "a whole URL is the same from wherever it is read");
        }
    });
}
