//! What is kept out of recordings: everything that is in a Secret, wherever a plugin carries it, and what requests over HTTP say who they are with.
//! Synchronous.
//!
//! What is hidden is replaced by the same text everywhere, so that a plugin that is told of it in a playback makes of it what the recording has.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informant_apimachinery::GroupVersionResource;
use serde_json::Value;
use std::collections::BTreeMap;

/// What stands in the place of something hidden, and the same as Secrets' data has it.
pub(crate) const HIDDEN: &str = "REDACTED";
pub(crate) const HIDDEN_BASE64: &str = "UkVEQUNURUQ=";
/// Shorter values are not looked for elsewhere: they would be found in everything.
const NEEDLE_BYTES_MIN: usize = 6;
/// Values that are looked for, and their bytes.
const NEEDLES_MAX: usize = 10_000;
const NEEDLE_BYTES_MAX: usize = 8 << 20;
/// What a whole Secret is kept in by kubectl.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Headers that say who asks.
const HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];

/// More Secrets have been seen than can be kept out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plugin was shown more Secrets than a recording keeps out")]
pub(crate) struct TooMany;

/// The values of all Secrets that one plugin was shown while it was recorded.
#[derive(Default)]
pub(crate) struct Secrets {
    /// What stands in the place of each.
    needles: BTreeMap<String, &'static str>,
    bytes: usize,
    /// Made when it is needed and the values have changed.
    search: Option<(AhoCorasick, Vec<&'static str>)>,
}

impl Secrets {
    /// Hides what is in an object of a resource, if that is Secrets, and remembers it.
    pub(crate) fn object(&mut self, resource: &str, json: &str) -> Result<String, TooMany> {
        if !is_secrets(resource) {
            return Ok(json.to_owned());
        }
        let Ok(mut object) = serde_json::from_str::<Value>(json) else { return Ok(HIDDEN.into()) };
        self.hide_object(&mut object)?;
        Ok(object.to_string())
    }

    fn hide_object(&mut self, object: &mut Value) -> Result<(), TooMany> {
        for value in members(object.get_mut("data")) {
            if let Some(text) = value.as_str() {
                self.remember_data(text)?;
            }
            *value = HIDDEN_BASE64.into();
        }
        for value in members(object.get_mut("stringData")) {
            if let Some(text) = value.as_str() {
                self.remember(text, HIDDEN)?;
            }
            *value = HIDDEN.into();
        }
        let annotations = object.get_mut("metadata").and_then(|it| it.get_mut("annotations"));
        if let Some(value) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
            *value = HIDDEN.into();
        }
        Ok(())
    }

    /// One value of a Secret's data, in base64, and what that stands for.
    fn remember_data(&mut self, text: &str) -> Result<(), TooMany> {
        self.remember(text, HIDDEN_BASE64)?;
        let decoded = STANDARD.decode(text).ok().and_then(|it| String::from_utf8(it).ok());
        decoded.map_or(Ok(()), |decoded| self.remember(&decoded, HIDDEN))
    }

    fn remember(&mut self, text: &str, hidden: &'static str) -> Result<(), TooMany> {
        for text in forms(text.trim()) {
            let text = text.as_str();
            let is_known = text.len() < NEEDLE_BYTES_MIN || self.needles.contains_key(text);
            if is_known || text == HIDDEN || text == HIDDEN_BASE64 {
                continue;
            }
            if self.needles.len() >= NEEDLES_MAX || self.bytes + text.len() > NEEDLE_BYTES_MAX {
                return Err(TooMany);
            }
            self.bytes += text.len();
            self.needles.insert(text.to_owned(), hidden);
            self.search = None;
        }
        Ok(())
    }

    /// Hides what is in the answer of a host function about Secrets, and remembers it; and in whatever else is said of it.
    pub(crate) fn call(
        &mut self,
        function: &str,
        with: &mut Value,
        answer: &mut Value,
    ) -> Result<(), TooMany> {
        self.remember_call(function, with, answer)?;
        hide_in_call(function, with, answer);
        self.everywhere(with)?;
        self.everywhere(answer)
    }

    /// What an answer, or a write, shows of Secrets.
    fn remember_call(
        &mut self,
        function: &str,
        with: &Value,
        answer: &Value,
    ) -> Result<(), TooMany> {
        if of_tokens(with) {
            let texts = [&with["object"], &with["patch"], &answer["ok"]];
            let texts = texts.into_iter().filter_map(Value::as_str);
            let bodies = texts.filter_map(|it| serde_json::from_str::<Value>(it).ok());
            let mut found = Vec::new();
            bodies.for_each(|body| {
                found.extend(["spec", "status"].map(|it| body[it]["token"].clone()));
            });
            return found
                .iter()
                .filter_map(Value::as_str)
                .try_for_each(|it| self.remember(it, HIDDEN));
        }
        if !of_secrets(with) {
            return Ok(());
        }
        // Of an index nobody knows here what it is of.
        for text in answer["ok"]["values"].as_array().into_iter().flatten() {
            text.as_str().map_or(Ok(()), |it| self.remember_data(it))?;
        }
        let bodies = [&with["object"], &with["patch"], &answer["ok"]];
        let items = answer["ok"]["items"].as_array().into_iter().flatten();
        for text in bodies.into_iter().chain(items).filter_map(Value::as_str) {
            if let Ok(mut object) = serde_json::from_str::<Value>(text) {
                self.remember_leaves(&object)?;
                self.hide_object(&mut object)?;
            }
        }
        if function == "indexer.fields" {
            let values = answer["ok"].as_array().into_iter().flatten();
            for (pointer, value) in pointers(with).zip(values) {
                let value = value.as_str().and_then(|it| serde_json::from_str(it).ok());
                if let (false, Some(value)) = (is_open(pointer), value) {
                    self.remember_leaves(&value)?;
                }
            }
        }
        Ok(())
    }

    /// The texts of a part of a Secret of which nobody knows which part it is; names of members and objects are no secret.
    fn remember_leaves(&mut self, value: &Value) -> Result<(), TooMany> {
        match value {
            // A patch, or the value of a field.
            Value::String(text) => self.remember_data(text),
            Value::Array(items) => {
                items.iter().try_for_each(|it| self.remember_leaves(&it["value"]))
            }
            Value::Object(members) => {
                let of_secret = ["data", "stringData"].iter().filter_map(|it| members.get(*it));
                let of_secret = of_secret.flat_map(|it| it.as_object().into_iter().flatten());
                let all = members.values().filter(|it| it.is_string());
                // A Secret's data may have members of any name, but all of them are texts.
                let is_object = members.get("metadata").is_some_and(Value::is_object)
                    || members.get("kind").is_some_and(|it| it == "Secret");
                let mut texts: Vec<&Value> = of_secret.map(|(_, value)| value).collect();
                if !is_object {
                    texts.extend(all);
                }
                texts
                    .into_iter()
                    .filter_map(Value::as_str)
                    .try_for_each(|it| self.remember_data(it))
            }
            _ => Ok(()),
        }
    }

    /// Hides the known values in all texts of a value.
    pub(crate) fn everywhere(&mut self, value: &mut Value) -> Result<(), TooMany> {
        if self.needles.is_empty() {
            return Ok(());
        }
        let (search, hidden) = self.search()?;
        hide_texts(value, search, hidden);
        Ok(())
    }

    fn search(&mut self) -> Result<(&AhoCorasick, &[&'static str]), TooMany> {
        if self.search.is_none() {
            let hidden = self.needles.values().copied().collect();
            let mut search = AhoCorasick::builder();
            let search = search.match_kind(MatchKind::LeftmostLongest);
            // It can be too large for what numbers its states, and for nothing else.
            let search = search.build(self.needles.keys()).map_err(|_| TooMany)?;
            self.search = Some((search, hidden));
        }
        self.search.as_ref().map(|(search, hidden)| (search, hidden.as_slice())).ok_or(TooMany)
    }
}

fn hide_texts(value: &mut Value, search: &AhoCorasick, hidden: &[&'static str]) {
    match value {
        Value::String(text) if search.is_match(text.as_str()) => {
            *text = search.replace_all(text, hidden);
        }
        Value::Array(items) => items.iter_mut().for_each(|it| hide_texts(it, search, hidden)),
        // Bytes that are no text: a value may be anywhere among them.
        Value::Object(found) if found.len() == 1 && found.contains_key("base64") => {
            found.insert("base64".to_owned(), HIDDEN_BASE64.into());
        }
        Value::Object(found) => {
            // Names of members, too.
            *found = std::mem::take(found)
                .into_iter()
                .map(|(mut key, mut value)| {
                    if search.is_match(key.as_str()) {
                        key = search.replace_all(&key, hidden);
                    }
                    hide_texts(&mut value, search, hidden);
                    (key, value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Hides in a call of a host function what can be hidden without knowing any Secret: the same is hidden of a call that is looked for in a recording.
pub(crate) fn hide_in_call(function: &str, with: &mut Value, answer: &mut Value) {
    if function == "http.send" {
        hide_headers(with.get_mut("headers"));
        return hide_headers(answer.get_mut("ok").and_then(|it| it.get_mut("headers")));
    }
    if !of_secrets(with) && !of_tokens(with) {
        return;
    }
    for part in ["object", "patch"] {
        if let Some(text) = with.get_mut(part).filter(|it| it.is_string()) {
            *text = HIDDEN.into();
        }
    }
    let of_index = ["indexer.by-index", "indexer.index-keys", "indexer.index-values"];
    if of_index.contains(&function) {
        // A cursor is made of the last value.
        for part in ["value", "cursor"] {
            if let Some(text) = with.get_mut(part).filter(|it| it.is_string()) {
                *text = HIDDEN.into();
            }
        }
    }
    match of_tokens(with) {
        true => hide_text(answer.get_mut("ok")),
        false => hide_answer(function, with, answer),
    }
}

/// Hides all of an answer that has a token.
fn hide_text(answer: Option<&mut Value>) {
    if let Some(text) = answer.filter(|it| it.is_string()) {
        *text = HIDDEN.into();
    }
}

fn hide_answer(function: &str, with: &Value, answer: &mut Value) {
    let Some(found) = answer.get_mut("ok") else { return };
    if function == "indexer.get" {
        return hide_text_of_object(found);
    }
    if function == "indexer.fields" {
        for (pointer, value) in pointers(with).zip(items(Some(found))) {
            if value.is_string() && !is_open(pointer) {
                *value = format!("\"{HIDDEN_BASE64}\"").into();
            }
        }
        return;
    }
    items(found.get_mut("items")).for_each(hide_text_of_object);
    items(found.get_mut("values")).for_each(|it| *it = HIDDEN.into());
    let next = found.get_mut("next").filter(|it| it.is_string());
    if let (true, Some(next)) = (function != "indexer.list", next) {
        *next = HIDDEN.into();
    }
}

/// What is asked for of an object.
fn pointers(with: &Value) -> impl Iterator<Item = &str> {
    with["pointers"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default())
}

/// Whether nothing of a Secret's content is there.
fn is_open(pointer: &str) -> bool {
    let open = [
        "/metadata/name",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/kind",
        "/apiVersion",
        "/type",
    ];
    open.contains(&pointer)
        || pointer == "/metadata/namespace"
        || pointer.starts_with("/metadata/labels/")
}

fn hide_text_of_object(value: &mut Value) {
    let Some(text) = value.as_str() else { return };
    let hidden = Secrets::default().object("v1/secrets", text);
    *value = hidden.unwrap_or_else(|_| HIDDEN.to_owned()).into();
}

fn hide_headers(headers: Option<&mut Value>) {
    for header in items(headers) {
        let Some([name, value]) =
            header.as_array_mut().and_then(|it| it.get_disjoint_mut([0, 1]).ok())
        else {
            continue;
        };
        let name = name.as_str().unwrap_or_default().to_lowercase();
        if HEADERS.contains(&name.as_str()) {
            *value = HIDDEN.into();
        }
    }
}

fn items(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_array_mut).into_iter().flatten()
}

fn of_secrets(with: &Value) -> bool {
    with["resource"].as_str().is_some_and(is_secrets)
}

/// Whether a write is a request for a token, or asks whose one is.
fn of_tokens(with: &Value) -> bool {
    let resource = with["resource"].as_str().unwrap_or_default();
    with["subresource"] == "token" || resource.starts_with("authentication.k8s.io/")
}

/// A value as it stands, within JSON as Rust, Go, JavaScript and Python write it, and within JSON in JSON.
fn forms(text: &str) -> Vec<String> {
    let plain = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let escaped = |text: &str, is_escaped: fn(char) -> bool| {
        plain(text).chars().fold(String::new(), |mut all, character| {
            match is_escaped(character) {
                true => character
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| all.push_str(&format!("\\u{unit:04x}"))),
                false => all.push(character),
            }
            all
        })
    };
    // encoding/json escapes what HTML would take for its own; json.dumps what is not ASCII.
    let of_go = |character| matches!(character, '&' | '<' | '>' | '\u{2028}' | '\u{2029}');
    let of_python = |character: char| !character.is_ascii();
    let once = [text.to_owned(), plain(text), escaped(text, of_go), escaped(text, of_python)];
    let twice = once.iter().map(|it| plain(it)).collect::<Vec<_>>();
    let mut all: Vec<String> = once.into_iter().chain(twice).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn is_secrets(resource: &str) -> bool {
    resource.contains("/secrets")
        && resource.parse::<GroupVersionResource>().is_ok_and(|it| it.is_secrets())
}

fn members(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_object_mut).into_iter().flat_map(|it| it.values_mut())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// base64 of it: aHVudGVyLTQy
    const PASSWORD: &str = "hunter-42";

    fn secret() -> String {
        let last = format!(r#"{{"data":{{"password":"{PASSWORD}"}}}}"#);
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": "login", "annotations": { LAST_APPLIED: last, "a": "b" } },
            "data": { "password": "aHVudGVyLTQy", "short": "YWI=" },
            "stringData": { "token": "two\nlines" },
        })
        .to_string()
    }

    /// What is written of a call of a host function, after a Secret was shown.
    #[track_caller]
    fn check(function: &str, mut with: Value, mut answer: Value, expect: [Value; 2]) {
        let mut secrets = Secrets::default();
        secrets.object("v1/secrets", &secret()).expect("there is room");
        secrets.call(function, &mut with, &mut answer).expect("there is room");
        assert_eq!([with, answer], expect);
    }

    #[test]
    fn an_event_of_a_secret_has_nothing_of_it() {
        let mut secrets = Secrets::default();
        let hidden = secrets.object("v1/secrets", &secret()).expect("there is room");
        let expect = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": "login", "annotations": { LAST_APPLIED: HIDDEN, "a": "b" } },
            "data": { "password": HIDDEN_BASE64, "short": HIDDEN_BASE64 },
            "stringData": { "token": HIDDEN },
        });
        assert_eq!(serde_json::from_str::<Value>(&hidden).expect("it is JSON"), expect);
        let pod = r#"{"kind": "Pod", "data": {"a": "b"}}"#;
        assert_eq!(secrets.object("v1/pods", pod), Ok(pod.to_owned()), "others stay byte for byte");
        assert_eq!(secrets.object("v1/secrets", "[1]"), Ok("[1]".to_owned()));
        assert_eq!(secrets.object("v1/secrets", "{"), Ok(HIDDEN.to_owned()));
    }

    #[test]
    fn what_a_plugin_carries_elsewhere_is_hidden_there() {
        let body = format!("user=a&password={PASSWORD}");
        let with = json!({ "url": "https://a.org", "headers": [["Authorization", "Bearer x"], ["a", "b"]], "body": body });
        let hidden = json!({ "url": "https://a.org", "headers": [["Authorization", HIDDEN], ["a", "b"]], "body": "user=a&password=REDACTED" });
        let answer = json!({ "ok": { "status": 200, "headers": [["set-cookie", "s"]], "body": "aHVudGVyLTQy" } });
        let shown = json!({ "ok": { "status": 200, "headers": [["set-cookie", HIDDEN]], "body": HIDDEN_BASE64 } });
        check("http.send", with, answer, [hidden, shown]);
        let with = json!({ "key": "k", "value": format!(r#"{{"text":"two\nlines"}}"#) });
        let hidden = json!({ "key": "k", "value": r#"{"text":"REDACTED"}"# });
        check("state.set", with, json!({ "ok": null }), [hidden, json!({ "ok": null })]);
        let error = json!({ "error": { "transport": format!("{PASSWORD}?") } });
        let shown = json!({ "error": { "transport": "REDACTED?" } });
        check("http.send", json!({}), error, [json!({}), shown]);
    }

    #[test]
    fn reads_and_writes_of_secrets_show_nothing_of_them() {
        let with = json!({ "resource": "v1/secrets", "key": "a/login" });
        let mut secrets = Secrets::default();
        let (mut asked, mut answer) = (with.clone(), json!({ "ok": secret() }));
        secrets.call("indexer.get", &mut asked, &mut answer).expect("there is room");
        assert!(!answer.to_string().contains("aHVudGVy"), "{answer}");
        let mut later = json!(format!("again: {PASSWORD}"));
        secrets.everywhere(&mut later).expect("there is room");
        assert_eq!(later, "again: REDACTED");
        let with =
            json!({ "resource": "v1/secrets", "pointers": ["/data/x", "/metadata/name", ""] });
        let answer = json!({ "ok": ["\"c2VjcmV0LXg=\"", "\"login\"", null] });
        let shown = json!({ "ok": [format!("\"{HIDDEN_BASE64}\""), "\"login\"", null] });
        check("indexer.fields", with.clone(), answer, [with, shown]);
        let with = json!({ "resource": "v1/secrets", "object": secret(), "key": "a/b" });
        let hidden = json!({ "resource": "v1/secrets", "object": HIDDEN, "key": "a/b" });
        check("kube.create", with, json!({ "ok": "{}" }), [hidden, json!({ "ok": "{}" })]);
        let with = json!({ "resource": "v1/secrets", "index": "i", "value": "v", "cursor": "v" });
        let hidden =
            json!({ "resource": "v1/secrets", "index": "i", "value": HIDDEN, "cursor": HIDDEN });
        let answer = json!({ "ok": { "keys": ["a/b"], "next": "v" } });
        let shown = json!({ "ok": { "keys": ["a/b"], "next": HIDDEN } });
        check("indexer.index-keys", with, answer, [hidden, shown]);
    }

    #[test]
    fn a_patch_of_a_secret_is_remembered() {
        let mut secrets = Secrets::default();
        let patch =
            json!([{ "op": "add", "path": "/data/x", "value": "aHVudGVyLTQy" }]).to_string();
        let mut with = json!({ "resource": "v1/secrets", "patch": patch });
        secrets.call("kube.patch", &mut with, &mut json!({ "ok": "{}" })).expect("there is room");
        let mut later = json!([PASSWORD, { "hunter-42": 1 }]);
        secrets.everywhere(&mut later).expect("there is room");
        assert_eq!(later, json!([HIDDEN, { "REDACTED": 1 }]));
    }

    /// Whether a Secret's value is found in what was made of it.
    #[track_caller]
    fn check_carried(value: &str, carried: Value) {
        let mut secrets = Secrets::default();
        let secret = json!({ "kind": "Secret", "metadata": {}, "stringData": { "a": value } });
        secrets.object("v1/secrets", &secret.to_string()).expect("there is room");
        let mut line = json!({ "body": carried });
        secrets.everywhere(&mut line).expect("there is room");
        let hidden = [
            json!({ "body": "{\"a\":\"REDACTED\"}" }),
            json!({ "body": { "base64": HIDDEN_BASE64 } }),
        ];
        assert!(hidden.contains(&line), "{line}");
    }

    #[test]
    fn what_languages_make_of_a_value_is_found() {
        let value = "p&ss<wörd\"1😀";
        check_carried(value, json!(json!({ "a": value }).to_string()));
        let go = r#"{"a":"p\u0026ss\u003cwörd\"1😀"}"#;
        check_carried(value, json!(go));
        let python = r#"{"a":"p&ss<w\u00f6rd\"1\ud83d\ude00"}"#;
        check_carried(value, json!(python));
        let bytes = [b"\xff\xfe", value.as_bytes()].concat();
        check_carried(value, json!({ "base64": STANDARD.encode(bytes) }));
        let twice = Value::from(json!({ "a": value }).to_string()).to_string();
        let mut secrets = Secrets::default();
        secrets.remember(value, HIDDEN).expect("there is room");
        let mut line = json!(twice);
        secrets.everywhere(&mut line).expect("there is room");
        assert!(!line.to_string().contains("rd"), "{line}");
    }

    #[test]
    fn tokens_are_hidden_and_remembered() {
        let mut secrets = Secrets::default();
        let mut with = json!({ "resource": "v1/serviceaccounts", "key": "a/b", "subresource": "token", "object": "{}" });
        let mut answer = json!({ "ok": json!({ "status": { "token": PASSWORD } }).to_string() });
        secrets.call("kube.create", &mut with, &mut answer).expect("there is room");
        assert_eq!((&with["object"], &answer), (&json!(HIDDEN), &json!({ "ok": HIDDEN })));
        let mut later = json!(PASSWORD);
        secrets.everywhere(&mut later).expect("there is room");
        assert_eq!(later, json!(HIDDEN));
    }

    #[test]
    fn values_of_indexes_and_data_of_any_name_are_remembered() {
        let mut secrets = Secrets::default();
        let mut with = json!({ "resource": "v1/secrets", "index": "i" });
        let mut answer = json!({ "ok": { "values": ["aHVudGVyLTQy"], "next": null } });
        secrets.call("indexer.index-values", &mut with, &mut answer).expect("there is room");
        let mut with = json!({ "resource": "v1/secrets", "pointers": ["/data"] });
        let data = json!({ "metadata": "b3RoZXItb25l", "kind": "dGhpcmQtb25l" }).to_string();
        secrets.call("indexer.fields", &mut with, &mut json!({ "ok": [data] })).expect("room");
        let mut later = json!([PASSWORD, "other-one", "third-one"]);
        secrets.everywhere(&mut later).expect("there is room");
        assert_eq!(later, json!([HIDDEN, HIDDEN, HIDDEN]));
    }

    #[test]
    fn what_is_looked_for_is_bounded() {
        let mut secrets = Secrets::default();
        for number in 0..NEEDLES_MAX {
            secrets.remember(&format!("secret-{number}"), HIDDEN).expect("there is room");
        }
        assert_eq!(secrets.remember("secret-0", HIDDEN), Ok(()), "it is known");
        assert_eq!(secrets.remember("one more", HIDDEN), Err(TooMany));
        let mut secrets = Secrets::default();
        assert_eq!(secrets.remember(&"x".repeat(NEEDLE_BYTES_MAX), HIDDEN), Ok(()));
        assert_eq!(secrets.remember("one more", HIDDEN), Err(TooMany));
        let mut secrets = Secrets::default();
        let (short, longer) = ("x".repeat(NEEDLE_BYTES_MIN - 1), "x".repeat(NEEDLE_BYTES_MIN));
        secrets.remember(&short, HIDDEN).expect("it is not looked for");
        assert!(secrets.needles.is_empty());
        secrets.remember(&longer, HIDDEN).expect("there is room");
        assert_eq!(secrets.needles.len(), 1);
    }
}
