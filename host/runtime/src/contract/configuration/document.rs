//! A configuration file as a tree with line numbers. A library reads the YAML; this module bounds its size.

use super::ConfigurationError;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Options, Spanned, UserMessageFormatter};
use std::collections::HashSet;
use std::fmt;

/// The largest content of a ConfigMap.
pub(crate) const CONFIGURATION_BYTES_MAX: usize = 1 << 20;
/// Values in one file, those that aliases repeat included.
const NODES_MAX: usize = 50_000;
/// Levels of nested lists and objects: the library recurses, on a thread's stack of 2 MiB.
const DEPTH_MAX: usize = 32;
/// Bytes of text after anchors and aliases are expanded.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file's name in errors and in `/plugins`.
    pub(crate) file: String,
    pub(crate) root: Node,
}

/// A value and its line.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// From 1; 0 if the library does not know it.
    pub(crate) line: u64,
    pub(crate) tree: Tree,
}

#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    List(Vec<Node>),
    Object(Vec<DocumentEntry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct DocumentEntry {
    pub(crate) key: String,
    /// The line of the key.
    pub(crate) line: u64,
    pub(crate) node: Node,
}

impl Document {
    /// Reads one YAML or JSON document. Booleans are only `true` and `false`. Refuses a duplicate key, a number that
    /// JSON lacks, and a document that expands too much.
    pub fn read(file: &str, text: &[u8]) -> Result<Self, ConfigurationError> {
        let fail = |line, problem: String| ConfigurationError::new(file, line, "", problem);
        if text.len() > CONFIGURATION_BYTES_MAX {
            let problem = format!(
                "it has {} bytes, and a configuration has at most {CONFIGURATION_BYTES_MAX}",
                text.len()
            );
            return Err(fail(0, problem));
        }
        let text = std::str::from_utf8(text).map_err(|error| fail(0, error.to_string()))?;
        let read: Result<Option<Node>, _> = serde_saphyr::from_str_with_options(text, options());
        match read {
            Ok(Some(root)) => Ok(Self { file: file.to_owned(), root }),
            Ok(None) => Err(fail(0, "it is empty".to_owned())),
            Err(error) => {
                let line = error.location().map_or(0, |location| location.line());
                Err(fail(line, format!("is not YAML that can be read: {}", plain(&error))))
            }
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: NODES_MAX,
            max_depth: DEPTH_MAX,
            max_total_scalar_bytes: TEXT_BYTES_MAX,
            max_recorded_anchor_bytes: TEXT_BYTES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: NODES_MAX },
    }
}

/// The library's message on one line, without the place, which our error has in front.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.render_with_formatter(&UserMessageFormatter);
    let text = text.lines().next().unwrap_or_default();
    let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
    // Text between backquotes is a value of the file, which may be a secret.
    text.split('`').step_by(2).collect::<Vec<_>>().join("…")
}

impl Node {
    /// The value as JSON.
    pub(crate) fn json(&self) -> Value {
        match &self.tree {
            Tree::Scalar(value) => value.clone(),
            Tree::List(nodes) => nodes.iter().map(Self::json).collect(),
            Tree::Object(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.node.json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The kind of value, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.tree {
            Tree::Scalar(Value::Null) => "nothing",
            Tree::Scalar(Value::Bool(_)) => "a boolean",
            Tree::Scalar(Value::Number(_)) => "a number",
            Tree::Scalar(_) => "a text",
            Tree::List(_) => "a list",
            Tree::Object(_) => "an object",
        }
    }
}

/// As JSON, without a second tree.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.tree {
            Tree::Scalar(value) => value.serialize(serializer),
            Tree::List(nodes) => serializer.collect_seq(nodes),
            Tree::Object(entries) => {
                serializer.collect_map(entries.iter().map(|entry| (&entry.key, &entry.node)))
            }
        }
    }
}

/// Each value becomes a node at once: the library's places take several times the memory of a line.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { referenced, value: tree, .. } = Spanned::<Tree>::deserialize(deserializer)?;
        Ok(Self { line: referenced.line(), tree })
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Tree, E> {
        let number = Number::from_f64(value);
        let number = number.ok_or_else(|| E::custom("JSON has no such number"))?;
        Ok(Tree::Scalar(number.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Tree::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Tree, A::Error> {
        let (mut entries, mut keys) = (Vec::new(), HashSet::new());
        while let Some((key, node)) = object.next_entry::<Spanned<String>, Node>()? {
            let (line, key) = (key.referenced.line(), key.value);
            // `1` and `"1"` are two keys in YAML, and one in JSON.
            if !keys.insert(key.clone()) {
                let text = "a key is there twice, as a text and as something else";
                return Err(A::Error::custom(text));
            }
            entries.push(DocumentEntry { key, line, node });
        }
        Ok(Tree::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let read = Document::read("a.yaml", text.as_bytes());
        let read = read.map(|document| document.root.json().to_string());
        expect.assert_eq(&read.unwrap_or_else(|error| error.to_string()));
    }

    #[test]
    fn yaml_is_read_as_json() {
        let lists = "a: 1\nb: [on, true, ~, 1.5, '2']";
        check(lists, expect![[r#"{"a":1,"b":["on",true,null,1.5,"2"]}"#]]);
        check(r#"{"a": {"b": -1}}"#, expect![[r#"{"a":{"b":-1}}"#]]);
        check("1: a\ntrue: b", expect![[r#"{"1":"a","true":"b"}"#]]);
        check("x: &x {a: 1}\ny: *x", expect![[r#"{"x":{"a":1},"y":{"a":1}}"#]]);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        check("", expect!["a.yaml: it is empty"]);
        check(
            "a: 1\nb: 2\na: 3",
            expect![
                "a.yaml line 3: is not YAML that can be read: duplicate mapping key: a not allowed here"
            ],
        );
        check(
            "a: 1\n  b: 2",
            expect![
                "a.yaml line 2: is not YAML that can be read: mapping values are not allowed in this context"
            ],
        );
        check(
            "a: .inf",
            expect!["a.yaml line 1: is not YAML that can be read: value … is not a finite number"],
        );
        let two = Document::read("a.yaml", b"a: 1\n---\nb: 1").expect_err("they are two");
        let two = two.to_string();
        assert!(two.contains("only single YAML document expected"), "{two}");
        check(
            "a: [1",
            expect!["a.yaml line 1: is not YAML that can be read: unclosed bracket '['"],
        );
    }

    #[test]
    fn two_keys_that_are_one_in_json_are_refused() {
        let error = Document::read("a.yaml", b"{1: a, \"1\": b}").expect_err("they are one");
        assert!(error.to_string().contains("a key is there twice"), "{error}");
    }

    #[test]
    fn what_unfolds_into_too_much_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let before = vec![format!("*a{}", n - 1); 10].join(", ");
            bomb += &format!("a{n}: &a{n} [{before}]\n");
        }
        assert!(Document::read("a.yaml", bomb.as_bytes()).is_err());
        let is_read = |text: &str| Document::read("a.yaml", text.as_bytes()).is_ok();
        let nested = |deep: usize| "[".repeat(deep) + &"]".repeat(deep);
        assert!(is_read(&nested(DEPTH_MAX - 2)) && !is_read(&nested(DEPTH_MAX + 2)));
        let list = |items: usize| format!("[{}]", vec!["x"; items].join(","));
        assert!(is_read(&list(NODES_MAX - 100)) && !is_read(&list(NODES_MAX + 1)));
        let repeated = |times: usize| {
            let (text, aliases) = ("x".repeat(900 << 10), vec!["*a"; times].join(", "));
            format!("a: &a {text}\nb: [{aliases}]")
        };
        assert!(is_read(&repeated(2)) && !is_read(&repeated(6)));
        let long = vec![b' '; CONFIGURATION_BYTES_MAX + 1];
        let error = Document::read("a.yaml", &long).expect_err("one byte more");
        let expect = "a.yaml: it has 1048577 bytes, and a configuration has at most 1048576";
        assert_eq!(error.to_string(), expect);
    }

    #[test]
    fn values_know_their_lines() {
        let document = Document::read("a.yaml", b"# why\na:\n  b: 1\n  c:\n  - 2\n");
        let root = document.expect("it is well formed").root;
        let Tree::Object(entries) = &root.tree else { panic!("{root:?}") };
        let Tree::Object(inner) = &entries[0].node.tree else { panic!("{root:?}") };
        let lines = [entries[0].line, inner[0].node.line, inner[1].line];
        assert_eq!(lines, [2, 3, 4]);
    }
}
