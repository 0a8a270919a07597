//! The lines that the plugin event-printer writes: `added pod default/web-1: Pending`.

use crate::host::Line;
use std::collections::BTreeMap;

/// What event-printer said of each pod, in order: `added`, `updated`, `deleted`.
pub fn told(lines: &[Line], namespace: &str) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines {
        if let Some((change, name)) = told_line(line.message(), namespace) {
            told.entry(name.to_owned()).or_default().push(change.to_owned());
        }
    }
    told
}

/// `added pod default/web-1 ...` is `("added", "web-1")`, for pods of this namespace.
pub fn told_line<'a>(message: &'a str, namespace: &str) -> Option<(&'a str, &'a str)> {
    let (change, rest) = message.split_once(" pod ")?;
    let rest = rest.strip_prefix(namespace)?.strip_prefix('/')?;
    let name = rest.split([' ', ':', ',']).next()?;
    ["added", "updated", "deleted"].contains(&change).then_some((change, name))
}
