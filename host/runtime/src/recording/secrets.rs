//! The hidden parts of recordings: all values of Secrets, wherever a plugin copies them, and the credentials of HTTP
//! requests. Synchronous.
//!
//! A hidden value has the same substitute everywhere. So in a playback the plugin derives the recorded results from
//! it.

mod search;
mod tree;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informant_apimachinery::GroupVersionResource;
use search::Search;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use tree::tree;

/// The substitute of a hidden value, and its base64 form in a Secret's data.
pub(crate) const HIDDEN: &str = "REDACTED";
pub(crate) const HIDDEN_BASE64: &str = "UkVEQUNURUQ=";
/// Shorter values are not searched for elsewhere: they would match everywhere.
const NEEDLE_BYTES_MIN: usize = 6;
/// The most values that are searched for, and their bytes.
const NEEDLES_MAX: usize = 10_000;
const NEEDLE_BYTES_MAX: usize = 8 << 20;
/// The annotation in which kubectl keeps a whole Secret.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Headers with credentials.
const HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];

/// The plugin has seen more Secrets than a recording can hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the plugin was shown more Secrets than a recording keeps out")]
pub(crate) struct TooMany;

/// The values of all Secrets that one plugin has seen since its recording began.
#[derive(Default)]
pub(crate) struct Secrets {
    needles: HashSet<Arc<str>>,
    bytes: usize,
    /// The search, with the substitute of each value.
    search: Search,
    /// Some values are not searched for: no later line may be written.
    is_full: bool,
}

impl Secrets {
    /// Hides the content of an object, if its resource is Secrets, and remembers the values.
    pub(crate) fn object(&mut self, resource: &str, json: &str) -> Result<String, TooMany> {
        if !is_secrets(resource) {
            return Ok(json.to_owned());
        }
        let Some(mut object) = tree(json)? else { return Ok(HIDDEN.into()) };
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

    /// Remembers one value of a Secret's data, in base64 and decoded.
    fn remember_data(&mut self, text: &str) -> Result<(), TooMany> {
        self.remember(text, HIDDEN_BASE64)?;
        let decoded = STANDARD.decode(text).ok().and_then(|it| String::from_utf8(it).ok());
        decoded.map_or(Ok(()), |decoded| self.remember(&decoded, HIDDEN))
    }

    fn remember(&mut self, text: &str, hidden: &'static str) -> Result<(), TooMany> {
        for text in forms(text.trim()) {
            let text = text.as_str();
            let is_known = text.len() < NEEDLE_BYTES_MIN || self.needles.contains(text);
            if is_known || text == HIDDEN || text == HIDDEN_BASE64 {
                continue;
            }
            if self.needles.len() >= NEEDLES_MAX || self.bytes + text.len() > NEEDLE_BYTES_MAX {
                self.is_full = true;
                return Err(TooMany);
            }
            self.bytes += text.len();
            let text: Arc<str> = text.into();
            self.needles.insert(text.clone());
            self.search.add(text, hidden);
        }
        Ok(())
    }

    /// Hides the values of Secrets in a host call and its answer, and remembers them. Hides all known values in the
    /// other parts.
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

    /// Remembers the values that an answer, or a write, shows of Secrets.
    fn remember_call(
        &mut self,
        function: &str,
        with: &Value,
        answer: &Value,
    ) -> Result<(), TooMany> {
        if of_tokens(with) {
            return self.remember_tokens(with, answer);
        }
        if !of_secrets(with) {
            return Ok(());
        }
        // The kind of values in an index is not known here.
        for text in answer["ok"]["values"].as_array().into_iter().flatten() {
            text.as_str().map_or(Ok(()), |it| self.remember_data(it))?;
        }
        let bodies = [&with["object"], &with["patch"], &answer["ok"]];
        let items = answer["ok"]["items"].as_array().into_iter().flatten();
        for text in bodies.into_iter().chain(items).filter_map(Value::as_str) {
            if let Some(mut object) = tree(text)? {
                self.remember_leaves(&object)?;
                self.hide_object(&mut object)?;
            }
        }
        if function == "indexer.fields" {
            let values = answer["ok"].as_array().into_iter().flatten();
            for (pointer, value) in pointers(with).zip(values) {
                let value = value.as_str().filter(|_| !is_open(pointer));
                if let Some(value) = value.map_or(Ok(None), tree)? {
                    self.remember_leaves(&value)?;
                }
            }
        }
        Ok(())
    }

    /// Remembers the tokens in requests for tokens and in reviews of them.
    fn remember_tokens(&mut self, with: &Value, answer: &Value) -> Result<(), TooMany> {
        let texts = [&with["object"], &with["patch"], &answer["ok"]];
        for text in texts.into_iter().filter_map(Value::as_str) {
            let Some(body) = tree(text)? else { continue };
            for part in ["spec", "status"] {
                body[part]["token"].as_str().map_or(Ok(()), |it| self.remember(it, HIDDEN))?;
            }
        }
        Ok(())
    }

    /// Remembers the texts of an unknown part of a Secret; names of members and objects are no secret.
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
        // The only error: the search has too many states.
        self.is_full |= self.search.prepare().is_err();
        if self.is_full {
            return Err(TooMany);
        }
        if !self.needles.is_empty() {
            hide_texts(value, &self.search);
        }
        Ok(())
    }
}

fn hide_texts(value: &mut Value, search: &Search) {
    match value {
        Value::String(text) => {
            if let Some(hidden) = search.replaced(text) {
                *text = hidden;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| hide_texts(it, search)),
        // Bytes that are not text: a value may be anywhere among them.
        Value::Object(found) if found.len() == 1 && found.contains_key("base64") => {
            found.insert("base64".to_owned(), HIDDEN_BASE64.into());
        }
        Value::Object(found) => {
            // Names of members, too.
            *found = std::mem::take(found)
                .into_iter()
                .map(|(key, mut value)| {
                    hide_texts(&mut value, search);
                    (search.replaced(&key).unwrap_or(key), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Hides the parts of a host call that are always hidden, without known Secrets. The same parts are hidden when a
/// playback looks for the call.
pub(crate) fn hide_in_call(function: &str, with: &mut Value, answer: &mut Value) {
    if function == "http.send" {
        hide_headers(with.get_mut("headers"));
        return hide_headers(answer.get_mut("ok").and_then(|it| it.get_mut("headers")));
    }
    if !of_secrets(with) && !of_tokens(with) {
        return;
    }
    ["object", "patch"].into_iter().for_each(|part| hide_whole(with.get_mut(part)));
    let of_index = ["indexer.by-index", "indexer.index-keys", "indexer.index-values"];
    if of_index.contains(&function) {
        // A cursor contains the last value.
        ["value", "cursor"].into_iter().for_each(|part| hide_whole(with.get_mut(part)));
    }
    match of_tokens(with) {
        true => hide_whole(answer.get_mut("ok")),
        false => hide_answer(function, with, answer),
    }
}

/// Replaces a text.
fn hide_whole(value: Option<&mut Value>) {
    if let Some(text) = value.filter(|it| it.is_string()) {
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
    if function != "indexer.list" {
        hide_whole(found.get_mut("next"));
    }
}

/// The pointers of a call.
fn pointers(with: &Value) -> impl Iterator<Item = &str> {
    with["pointers"].as_array().into_iter().flatten().map(|it| it.as_str().unwrap_or_default())
}

/// Whether the pointer leads to no content of a Secret.
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

/// Whether a write requests a token, or a review of one.
fn of_tokens(with: &Value) -> bool {
    let resource = with["resource"].as_str().unwrap_or_default();
    with["subresource"] == "token" || resource.starts_with("authentication.k8s.io/")
}

/// The forms of a value: unchanged, within JSON by Rust, Go, JavaScript and Python, and within JSON in JSON.
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
    // encoding/json escapes HTML's characters; json.dumps escapes non-ASCII ones.
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
mod tests;
