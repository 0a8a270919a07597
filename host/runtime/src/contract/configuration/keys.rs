//! Reads a configuration file and declares its keys with one function. A function that takes [`Keys`] asks for each
//! key it knows, with its type, bounds, default and meaning. With a file, it reads the file. Without one, it only
//! declares its keys, for the reference page and the JSON schema.

use super::ConfigurationError;
use super::declared::{Declared, ValueKind};
use super::document::{Document, DocumentEntry, Node, Tree};
use crate::contract::limits::Unit;
use crate::contract::unknown_key::unknown_key;
use crate::enumerated::first_texts;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

mod nested;

/// The most entries of a list or of a map of named objects.
const ENTRIES_MAX: usize = 256;

/// The keys of a value of any kind that are shown, and the bytes of each.
const KEYS_SHOWN_MAX: usize = 64;
const KEY_BYTES_MAX: usize = 128;

/// The keys of one object.
pub struct Keys<'a> {
    /// `None` if no file is read.
    entries: Option<&'a [DocumentEntry]>,
    /// The object's line; 0 for a whole file.
    line: u64,
    /// The object's path, as errors name it: `limits`, `plugins.hello.reads[0]`.
    path: String,
    known: Vec<&'static str>,
    declared: Vec<Declared>,
    /// The line, the path and the problem of a key that the object needs. An unknown key may be the misspelt one, so that
    /// it is reported first.
    missing: Option<(u64, String, String)>,
    findings: &'a mut Findings,
}

/// The line of an object and its entries.
type Object<'a> = (u64, &'a [DocumentEntry]);

/// The results of reading.
#[derive(Default)]
struct Findings {
    file: String,
    error: Option<ConfigurationError>,
    said: Said,
}

/// The settings of a file, by their paths.
pub(crate) type Said = BTreeMap<String, Setting>;

/// One setting of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// As written in the file; for values that may hold a secret only the keys.
    pub(crate) shown: Value,
    /// The file.
    pub(crate) file: String,
    /// From 1; 0 if it is not known.
    pub(crate) line: u64,
    /// Whether the value equals the default.
    pub(crate) is_default: bool,
}

/// Reads a document. The first mistake counts, in the order in which `declare` asks for keys.
pub fn read<T>(
    document: &Document,
    declare: impl FnOnce(&mut Keys<'_>) -> T,
) -> Result<T, ConfigurationError> {
    let Tree::Object(entries) = &document.root.tree else {
        let problem = format!("it is {} and no object with keys", document.root.kind());
        return Err(ConfigurationError::new(&document.file, document.root.line, "", problem));
    };
    let mut findings = Findings { file: document.file.clone(), ..Findings::default() };
    let mut keys = Keys::new(Some((0, entries)), String::new(), &mut findings);
    let value = declare(&mut keys);
    keys.end();
    match findings.error {
        Some(error) => Err(error),
        None => Ok(value),
    }
}

/// The keys that `declare` asks for.
pub fn declared<T>(declare: impl FnOnce(&mut Keys<'_>) -> T) -> Vec<Declared> {
    let mut findings = Findings::default();
    let mut keys = Keys::new(None, String::new(), &mut findings);
    let _ = declare(&mut keys);
    keys.end()
}

impl<'a> Keys<'a> {
    /// `object`: its line and its entries.
    fn new(object: Option<Object<'a>>, path: String, findings: &'a mut Findings) -> Self {
        let (line, entries) = object.unzip();
        let (known, declared) = (Vec::new(), Vec::new());
        Self { entries, line: line.unwrap_or(0), path, known, declared, missing: None, findings }
    }

    /// Refuses keys that were not asked for, then the lack of a needed one. Returns the declared keys.
    fn end(self) -> Vec<Declared> {
        for entry in self.entries.unwrap_or_default() {
            if !self.known.contains(&entry.key.as_str()) {
                let problem = unknown_key(&entry.key, &self.known);
                self.findings.fail(entry.line, &self.path, problem);
            }
        }
        if let Some((line, path, problem)) = self.missing {
            self.findings.fail(line, &path, problem);
        }
        self.declared
    }

    /// A key with exactly one valid text: the kind of the file.
    pub fn constant(&mut self, key: &'static str, expect: &'static str, doc: &'static str) {
        let node = self.take(key, ValueKind::Constant(expect), "", doc);
        match node.map(|node| (node.line, node.json())) {
            Some((_, Value::String(text))) if text == expect => {}
            Some((line, other)) => {
                let path = self.path_of(key);
                self.findings.fail(line, &path, format!("is {other}, and is to be {expect}"));
            }
            None if self.entries.is_some() => {
                let problem = format!("is missing: write {key}: {expect}");
                self.missing(key, problem);
            }
            None => {}
        }
    }

    /// A key with any value, as JSON; only the value's first keys are shown.
    pub fn any(
        &mut self,
        key: &'static str,
        default: &'static str,
        doc: &'static str,
    ) -> Option<Arc<[u8]>> {
        let node = self.take(key, ValueKind::Any, default, doc)?;
        let (line, json) = (node.line, serde_json::to_vec(node));
        let json = self.sound(key, line, json.map_err(|error| format!("is no JSON: {error}")))?;
        self.say(key, line, keys_of(node), false);
        Some(json.into())
    }

    /// A number with a unit and bounds; `default` holds without the key.
    pub fn number(
        &mut self,
        key: &'static str,
        (unit, bounds): (Unit, RangeInclusive<u64>),
        default: Option<u64>,
        doc: &'static str,
    ) -> Option<u64> {
        let kind = ValueKind::Number { unit, bounds: bounds.clone() };
        let shown = default.map_or(String::new(), |number| unit.show(number));
        let node = self.take(key, kind, &shown, doc)?;
        let line = node.line;
        let found = match &node.tree {
            Tree::Scalar(Value::Number(number)) => unit.parse(&number.to_string()),
            Tree::Scalar(Value::String(text)) => unit.parse(text),
            _ => Err(format!("is {}: write it as {}", node.kind(), unit.show(*bounds.end()))),
        };
        let found = found.and_then(|number| match bounds.contains(&number) {
            true => Ok(number),
            false => {
                let [found, low, high] =
                    [number, *bounds.start(), *bounds.end()].map(|number| unit.show(number));
                Err(format!("is {found}, and may be {low} to {high}"))
            }
        });
        let number = self.sound(key, line, found)?;
        self.say(key, line, Value::from(unit.show(number)), Some(number) == default);
        Some(number)
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, key: &'static str, default: bool, doc: &'static str) -> Option<bool> {
        let node = self.take(key, ValueKind::Boolean, &default.to_string(), doc)?;
        let line = node.line;
        let found = match &node.tree {
            Tree::Scalar(Value::Bool(found)) => Ok(*found),
            _ => Err(format!("is {}: write it as true or false", node.kind())),
        };
        let found = self.sound(key, line, found)?;
        self.say(key, line, Value::from(found), found == default);
        Some(found)
    }

    /// A text; `parse` returns the problem of an invalid one, and how to write it.
    pub fn text<T>(
        &mut self,
        key: &'static str,
        like: &'static str,
        doc: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let node = self.take(key, ValueKind::Text(like), "", doc)?;
        let line = node.line;
        let text = texts(node);
        let parsed = text.and_then(|text| parse(text).map(|parsed| (parsed, text.to_owned())));
        let (parsed, text) = self.sound(key, line, parsed)?;
        self.say(key, line, Value::from(text), false);
        Some(parsed)
    }

    /// One of these words, each with its meaning; the first is the default.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &'static [(&'static str, &'static str, T)],
        doc: &'static str,
    ) -> Option<T> {
        let words: Vec<_> = choices.iter().map(|(word, doc, _)| (*word, *doc)).collect();
        let node = self.take(key, ValueKind::Choice(words), choices[0].0, doc)?;
        let line = node.line;
        let found = texts(node).and_then(|text| {
            let found = choices.iter().find(|(word, _, _)| *word == text);
            let words: Vec<&str> = choices.iter().map(|(word, _, _)| *word).collect();
            found.ok_or_else(|| format!("is {text:?}, and may be {}", words.join(" or ")))
        });
        let (word, _, choice) = self.sound(key, line, found)?;
        self.say(key, line, Value::from(*word), *word == choices[0].0);
        Some(*choice)
    }

    /// A list of at least so many texts.
    pub fn text_list<T>(
        &mut self,
        key: &'static str,
        (like, default, least): (&'static str, &'static str, usize),
        doc: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let kind = ValueKind::List(Box::new(ValueKind::Text(like)), least);
        let node = self.take(key, kind, default, doc)?;
        let parsed = match &node.tree {
            Tree::List(nodes) if nodes.len() < least => {
                let problem = format!(
                    "has {} entries: name {least}, or leave it out for {default}",
                    nodes.len()
                );
                Err((node.line, problem))
            }
            Tree::List(nodes) if nodes.len() <= ENTRIES_MAX => nodes
                .iter()
                .map(|node| texts(node).and_then(&parse).map_err(|problem| (node.line, problem)))
                .collect::<Result<Vec<T>, _>>(),
            Tree::List(nodes) => Err((node.line, too_many(nodes.len()))),
            _ => Err((node.line, format!("is {}: write it as [{like}]", node.kind()))),
        };
        let line = parsed.as_ref().err().map_or(node.line, |(line, _)| *line);
        let (said_at, shown) = (node.line, node.json());
        let parsed = self.sound(key, line, parsed.map_err(|(_, problem)| problem))?;
        self.say(key, said_at, shown, false);
        Some(parsed)
    }

    /// The settings below this object that were read so far, by paths relative to it.
    pub(crate) fn said(&self) -> Said {
        let prefix = self.path_of("");
        let said = self.findings.said.iter();
        said.filter_map(|(path, setting)| {
            Some((path.strip_prefix(&prefix)?.to_owned(), setting.clone()))
        })
        .collect()
    }

    /// Whether a file is read, and not only the declaration.
    pub(crate) fn is_read(&self) -> bool {
        self.entries.is_some()
    }

    /// Reports a mistake that only the caller can find.
    pub fn fail(&mut self, line: u64, key: &str, problem: String) {
        let path = self.path_of(key);
        self.findings.fail(line, &path, problem);
    }

    /// Reports a key that the object needs and does not have, or has without a value that counts.
    pub fn missing(&mut self, key: &str, problem: String) {
        if self.missing.is_none() {
            self.missing = Some((self.line_of(key), self.path_of(key), problem));
        }
    }

    /// The line of a key, or of the object without it.
    pub(crate) fn line_of(&self, key: &str) -> u64 {
        let mut entries = self.entries.unwrap_or_default().iter();
        entries.find(|entry| entry.key == key).map_or(self.line, |entry| entry.line)
    }

    fn below<T>(
        &mut self,
        object: Option<Object<'_>>,
        path: String,
        declare: impl FnOnce(&mut Keys<'_>) -> T,
    ) -> (T, Vec<Declared>) {
        let mut keys = Keys::new(object, path, self.findings);
        let value = declare(&mut keys);
        (value, keys.end())
    }

    /// The value of a key. A key without a value is a mistake: the value may have been a bound.
    fn find(&mut self, key: &str) -> Option<&'a Node> {
        let entry = self.entries?.iter().find(|entry| entry.key == key)?;
        if matches!(entry.node.tree, Tree::Scalar(Value::Null)) {
            let problem = "has no value: write one, or leave the key out".to_owned();
            let path = self.path_of(key);
            self.findings.fail(entry.line, &path, problem);
            return None;
        }
        Some(&entry.node)
    }

    fn take(
        &mut self,
        key: &'static str,
        kind: ValueKind,
        default: &str,
        doc: &str,
    ) -> Option<&'a Node> {
        self.declare(key, kind, default, doc);
        self.find(key)
    }

    fn declare(&mut self, key: &'static str, kind: ValueKind, default: &str, doc: &str) {
        self.known.push(key);
        let (default, doc) = (default.to_owned(), doc.trim().to_owned());
        self.declared.push(Declared { key, kind, default, doc });
    }

    fn sound<T>(&mut self, key: &str, line: u64, found: Result<T, String>) -> Option<T> {
        let path = self.path_of(key);
        found.map_err(|problem| self.findings.fail(line, &path, problem)).ok()
    }

    fn say(&mut self, key: &str, line: u64, shown: Value, is_default: bool) {
        let (path, file) = (self.path_of(key), self.findings.file.clone());
        self.findings.said.insert(path, Setting { shown, file, line, is_default });
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl Findings {
    fn fail(&mut self, line: u64, path: &str, problem: String) {
        if self.error.is_none() {
            self.error = Some(ConfigurationError::new(&self.file, line, path, problem));
        }
    }
}

/// The first keys of a value, or its kind: its texts may be secrets.
fn keys_of(node: &Node) -> Value {
    let Tree::Object(entries) = &node.tree else {
        return Value::from(format!("({})", node.kind()));
    };
    let keys = entries.iter().map(|entry| &entry.key);
    first_texts(keys, KEYS_SHOWN_MAX, KEY_BYTES_MAX).into()
}

fn texts(node: &Node) -> Result<&str, String> {
    match &node.tree {
        Tree::Scalar(Value::String(text)) => Ok(text),
        Tree::Scalar(value) => {
            Err(format!("is {value}: put it in quotes if it is meant as a text"))
        }
        _ => Err(format!("is {} and no text", node.kind())),
    }
}

fn too_many(count: usize) -> String {
    format!("has {count} entries, at most {ENTRIES_MAX} are allowed")
}
