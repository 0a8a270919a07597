//! The namespaces of a rule, by name and by label. Synchronous.

use crate::contract::selectors::label_selector;
use crate::names::is_namespace;
use informant_apimachinery::LabelSelector;

pub(super) fn namespace(text: &str) -> Result<String, String> {
    match is_namespace(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("has {text:?}, which cannot be the name of a namespace")),
    }
}

/// An empty selector would grant all namespaces, as a rule without this key does.
pub(super) fn namespace_selector(text: &str) -> Result<LabelSelector, String> {
    let selector = label_selector(text)?;
    match selector.is_everything() {
        true => Err("is empty: leave it out for all namespaces".to_owned()),
        false => Ok(selector),
    }
}

/// Whether the requirements of the other selector follow from those of the first. Without a selector there are none.
pub(super) fn is_within(selector: Option<&LabelSelector>, other: Option<&LabelSelector>) -> bool {
    other.is_none_or(|other| selector.is_some_and(|selector| selector.is_within(other)))
}

/// The name of a namespace as a text in YAML, in which `on`, `1e3` and similar words are other values.
pub(super) fn quoted(name: &str) -> String {
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name);
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.contains([':', '@'])
        && !is_word;
    if is_plain { name.to_owned() } else { format!("{name:?}") }
}
