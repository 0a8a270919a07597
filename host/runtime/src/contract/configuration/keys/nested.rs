//! Objects, lists of objects and objects by name below a key.

use super::{DocumentEntry, ENTRIES_MAX, Keys, Tree, ValueKind, too_many};

impl Keys<'_> {
    /// Settings below one key.
    pub fn object<T>(
        &mut self,
        key: &'static str,
        doc: &'static str,
        declare: impl FnOnce(&mut Keys<'_>) -> T,
    ) -> Option<T> {
        let path = self.path_of(key);
        let found = self.find(key).map(|node| (node.line, &node.tree));
        let entries = match found {
            Some((line, Tree::Object(entries))) => Some((line, entries.as_slice())),
            Some((line, _)) => {
                let problem = "is no object with keys".to_owned();
                self.findings.fail(line, &path, problem);
                None
            }
            None => None,
        };
        // Without entries `declare` runs for its declarations.
        let (value, declared) = self.below(entries, path, declare);
        self.declare(key, ValueKind::Object(declared), "", doc);
        entries.map(|_| value)
    }

    /// A list of objects.
    pub fn object_list<T>(
        &mut self,
        key: &'static str,
        default: &'static str,
        doc: &'static str,
        declare: impl Fn(&mut Keys<'_>) -> T,
    ) -> Option<Vec<T>> {
        let path = self.path_of(key);
        let node = self.find(key).cloned();
        let (_, declared) = self.below(None, String::new(), &declare);
        self.declare(key, ValueKind::List(Box::new(ValueKind::Object(declared)), 0), default, doc);
        let node = node?;
        let nodes = match &node.tree {
            Tree::List(nodes) if nodes.len() <= ENTRIES_MAX => nodes,
            Tree::List(nodes) => {
                self.findings.fail(node.line, &path, too_many(nodes.len()));
                return None;
            }
            _ => {
                let problem = format!("is {} and no list of objects", node.kind());
                self.findings.fail(node.line, &path, problem);
                return None;
            }
        };
        let mut values = Vec::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            let path = format!("{path}[{number}]");
            match &node.tree {
                Tree::Object(entries) => {
                    values.push(self.below(Some((node.line, entries)), path, &declare).0);
                }
                _ => {
                    let problem = format!("is {} and no object with keys", node.kind());
                    self.findings.fail(node.line, &path, problem);
                }
            }
        }
        // The settings of each entry are part of the whole value.
        self.findings.said.retain(|said, _| !said.starts_with(&format!("{path}[")));
        self.say(key, node.line, node.json(), false);
        Some(values)
    }

    /// Objects by names that the file chooses.
    pub fn named<T>(
        &mut self,
        key: &'static str,
        doc: &'static str,
        declare: impl Fn(&mut Keys<'_>) -> T,
    ) -> Vec<(String, u64, T)> {
        let path = self.path_of(key);
        let node = self.find(key).cloned();
        let (_, declared) = self.below(None, String::new(), &declare);
        self.declare(key, ValueKind::Named(declared), "", doc);
        let Some(node) = node else { return Vec::new() };
        let Tree::Object(entries) = &node.tree else {
            let problem = format!("is {} and no object with names", node.kind());
            self.findings.fail(node.line, &path, problem);
            return Vec::new();
        };
        if entries.len() > ENTRIES_MAX {
            self.findings.fail(node.line, &path, too_many(entries.len()));
        }
        let mut named = Vec::with_capacity(entries.len());
        for DocumentEntry { key, line, node } in entries.iter().take(ENTRIES_MAX) {
            // A key below `a.b` is not below `a`.
            let path = match key.contains('.') {
                true => format!("{path}[{key:?}]"),
                false => format!("{path}.{key}"),
            };
            match &node.tree {
                Tree::Object(entries) => {
                    let (value, _) = self.below(Some((*line, entries)), path, &declare);
                    named.push((key.clone(), *line, value));
                }
                _ => {
                    let problem = format!("is {} and no object with keys", node.kind());
                    self.findings.fail(*line, &path, problem);
                }
            }
        }
        named
    }
}
