//! The query of the resource endpoints: `labels[KEY]=VALUE`, any number of them, all of which must hold.

use informant_apimachinery::LabelSelector;
use std::fmt::Write as _;

/// More than anybody writes by hand.
const LABELS_MAX: usize = 32;

/// The equality selector that a query stands for; no query selects everything.
pub(crate) fn selector(query: Option<&str>) -> Result<LabelSelector, String> {
    let mut text = String::new();
    for (count, (key, value)) in form_pairs(query.unwrap_or_default()).enumerate() {
        if count == LABELS_MAX {
            return Err(format!("more than {LABELS_MAX} parameters"));
        }
        let label = key.strip_prefix("labels[").and_then(|rest| rest.strip_suffix(']'));
        let Some(label) = label else {
            return Err(format!("unknown parameter {key:?}; write labels[k8s-app]=kube-dns"));
        };
        // The selector's own characters would make something else of it than an equality.
        let plain =
            |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b));
        if !plain(label) || !plain(&value) {
            return Err(format!("labels[{label}]={value} is not one label and one value"));
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{label}={value}");
    }
    text.parse().map_err(|error| format!("{error}"))
}

fn form_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key), decode(value))
    })
}

fn decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expect: Result<&str, &str>) {
        let found = selector(Some(query)).map(|selector| selector.to_string());
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{query}: {found}"),
            (found, expect) => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn labels_become_an_equality_selector() {
        check("", Ok(""));
        check("labels[k8s-app]=kube-dns", Ok("k8s-app=kube-dns"));
        check("labels%5Bapp.kubernetes.io%2Fname%5D=web", Ok("app.kubernetes.io/name=web"));
        check("labels[a]=b&labels[c]=d", Ok("a=b,c=d"));
        check("labels[a]=", Ok("a="));
    }

    #[test]
    fn nothing_else_is_understood() {
        check("label[a]=b", Err("unknown parameter"));
        check("labels[a=b", Err("unknown parameter"));
        check("labels[a]=b,c", Err("one value"));
        check("labels[a]=b,!c", Err("one value"));
        check("labels[a,b]=c", Err("one label"));
        check("labels[!a]=", Err("one label"));
        check("labels[]=b", Err(""));
    }
}
