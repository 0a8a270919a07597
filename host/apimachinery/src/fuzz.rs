//! Fuzz targets: what users and servers write, read by everything here that reads.

use crate::{ContinueToken, FieldSelector, GroupVersionResource, LabelSelector, LabelTest, Status};
use informant_fuzz::Target;

fn target(name: &'static str) -> Target {
    Target::new(env!("CARGO_MANIFEST_DIR"), name)
}

/// A text that is read is written as a text that means the same, and no third one comes of that.
fn comes_back<T>(text: &str) -> Option<T>
where
    T: std::str::FromStr<Err: std::fmt::Display> + std::fmt::Display + PartialEq + std::fmt::Debug,
{
    match text.parse::<T>() {
        Ok(read) => {
            let shown = read.to_string();
            let again = shown.parse::<T>().unwrap_or_else(|error| panic!("{shown:?}: {error}"));
            assert_eq!(again, read, "{shown:?}");
            assert_eq!(again.to_string(), shown);
            Some(read)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

#[test]
fn label_selector() {
    let words = &["app", "in", "notin", "k8s-app", "app.kubernetes.io/name", "kube-dns", ",", "=="];
    target("label_selector").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Some(selector) = comes_back::<LabelSelector>(text) else { return };
        let labels = [("app", "web"), ("k8s-app", "kube-dns"), ("a", "7"), ("b", "")];
        let label = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, value)| *value);
        let mut all = true;
        for requirement in selector.requirements() {
            let holds = LabelSelector::new([requirement.clone()]).matches(label);
            all &= holds;
            let opposite = match requirement.test.clone() {
                LabelTest::Equals(value) => LabelTest::NotEquals(value),
                LabelTest::NotEquals(value) => LabelTest::Equals(value),
                LabelTest::In(values) => LabelTest::NotIn(values),
                LabelTest::NotIn(values) => LabelTest::In(values),
                LabelTest::Exists => LabelTest::DoesNotExist,
                LabelTest::DoesNotExist => LabelTest::Exists,
                LabelTest::GreaterThan(_) | LabelTest::LessThan(_) => continue,
            };
            let mut opposite_requirement = requirement.clone();
            opposite_requirement.test = opposite;
            let opposite = LabelSelector::new([opposite_requirement]);
            assert_ne!(opposite.matches(label), holds, "{requirement} and its opposite");
        }
        assert_eq!(selector.matches(label), all, "all requirements hold, or the selector does not");
        assert_eq!(selector.is_everything(), selector.requirements().is_empty());
    });
}

#[test]
fn field_selector() {
    let words = &["metadata.name", "spec.nodeName", "==", "!=", "\\,", "\\=", "\\\\", ","];
    target("field_selector").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Some(selector) = comes_back::<FieldSelector>(text) else { return };
        // An object that is made to fit is selected, unless the selector contradicts itself.
        let required = |field: &str| selector.required_value(field).map(str::to_owned);
        let contradicts = selector.requirements().iter().any(|requirement| {
            let value = required(&requirement.field).unwrap_or_default();
            (value == requirement.value) != requirement.equal
        });
        assert_eq!(selector.matches(required), !contradicts);
    });
}

#[test]
fn group_version_resource() {
    let words = &["v1", "apps", "pods", "stable.example.com", "v1beta1", "..", "."];
    target("group_version_resource").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Some(gvr) = comes_back::<GroupVersionResource>(text) else { return };
        assert_eq!(gvr.to_string(), text, "there is one text for a resource");
        // Nothing in it leads elsewhere in the server's paths, or needs escapes there.
        for path in [gvr.path(None), gvr.path(Some("default"))] {
            let plain = |part: &str| {
                let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
                edge(part.bytes().next()) && edge(part.bytes().last())
            };
            assert!(path.split('/').skip(1).all(plain), "{path}");
            let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-./".contains(&byte);
            assert!(path.bytes().all(safe), "{path}");
        }
    });
}

#[test]
fn continue_token() {
    let words = &["eyJ2IjoiaW5mb3JtYW50LmRldi92MSIs", "InN0YXJ0IjoiIn0", "="];
    target("continue_token").words(words).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        if let Ok(token) = ContinueToken::decode(text) {
            assert_eq!(ContinueToken::decode(&token.encode()), Ok(token), "a token comes back");
        }
        let ours = ContinueToken::new(input.len() as u64, text);
        if ours.encode().len() <= 2048 {
            assert_eq!(ContinueToken::decode(&ours.encode()), Ok(ours), "our own comes back");
        }
    });
}

#[test]
fn status() {
    let words = &[
        "\"status\":\"Failure\"",
        "\"reason\":\"Expired\"",
        "\"code\":410",
        "\"details\":{\"causes\":[{}]}",
        "\"retryAfterSeconds\":1",
        "\"metadata\":{\"continue\":\"x\"}",
        "\"message\":\"\"",
    ];
    target("status").words(words).run(|input| {
        let Ok(status) = serde_json::from_slice::<Status>(input) else { return };
        let json = serde_json::to_vec(&status).expect("a Status is always JSON");
        let again: Status = serde_json::from_slice(&json).expect("what was written is read");
        assert_eq!(again, status);
        let value: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert_eq!((&value["kind"], &value["apiVersion"]), (&"Status".into(), &"v1".into()));
    });
}
