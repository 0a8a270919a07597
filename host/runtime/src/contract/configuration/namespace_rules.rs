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

/// Whether one selector has all requirements of the other. Without a selector there are none.
pub(super) fn has_requirements_of(
    selector: Option<&LabelSelector>,
    other: Option<&LabelSelector>,
) -> bool {
    let of = selector.map_or(&[][..], LabelSelector::requirements);
    other.map_or(&[][..], LabelSelector::requirements).iter().all(|one| of.contains(one))
}

/// The name of a namespace as a text in YAML, in which `on`, `1e3` and similar words are other values.
pub(super) fn quoted(name: &str) -> String {
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name);
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.contains([':', '@'])
        && !is_word;
    if is_plain { name.to_owned() } else { format!("{name:?}") }
}
