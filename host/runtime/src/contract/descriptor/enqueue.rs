//! A subscription's `enqueue` rules.

use super::{
    BoundedList, DescriptorError, POINTER_BYTES_MAX, check_bytes, check_pointer, check_text, each,
    error, json,
};
use crate::event::enqueue::{EnqueueRule, EnqueueRules, KeyNamespace, KeySource};
use informant_apimachinery::GroupVersionResource;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The most rules of one subscription; one pass over every event's bytes reads all of their pointers.
pub(crate) const ENQUEUE_RULES_MAX: usize = 16;
/// Bytes of a prefix or of a kind.
pub(crate) const TEXT_BYTES_MAX: usize = 128;

/// The keys of a rule.
const KEYS: [&str; 5] = ["self", "owner", "pointer", "namespace", "prefix"];
/// The annotation in which `kubectl apply` keeps the whole object.
const LAST_APPLIED: &str =
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
/// The rules of a subscription, not yet read.
pub(super) type RawRules<'a> = BoundedList<&'a RawValue, ENQUEUE_RULES_MAX>;

#[derive(Deserialize, Default)]
struct RawRule {
    #[serde(rename = "self")]
    itself: Option<bool>,
    owner: Option<String>,
    pointer: Option<String>,
    namespace: Option<String>,
    #[serde(default)]
    prefix: String,
}

pub(super) fn rules(
    rules: RawRules<'_>,
    resource: &GroupVersionResource,
    at: &str,
) -> Result<EnqueueRules, DescriptorError> {
    let at = format!("{at}.enqueue");
    let rules = EnqueueRules::new(each(rules, &at, rule)?);
    if resource.is_secrets() {
        for pointer in rules.pointers() {
            check_shown(pointer, &at)?;
        }
    }
    Ok(rules)
}

/// Keys are shown in pages, logs and recordings, so no key holds a value of a Secret.
fn check_shown(pointer: &str, at: &str) -> Result<(), DescriptorError> {
    if pointer.starts_with("/metadata/") && pointer != LAST_APPLIED {
        return Ok(());
    }
    let problem = format!(
        "{pointer} may have a value of a Secret, which a key would show; point below /metadata"
    );
    Err(error(at, problem))
}

fn rule(json: &RawValue, at: &str) -> Result<EnqueueRule, DescriptorError> {
    let raw: RawRule = match serde_json::from_str::<String>(json.get()).as_deref() {
        Ok("self") => RawRule { itself: Some(true), ..RawRule::default() },
        Ok(other) => {
            check_bytes(at, other, TEXT_BYTES_MAX)?;
            return Err(error(at, format!("{other:?} is no rule; write \"self\"")));
        }
        Err(_) => json::object(json, at, &KEYS)?,
    };
    check_text(&format!("{at}.prefix"), &raw.prefix, TEXT_BYTES_MAX)?;
    let namespace = match raw.namespace.as_deref() {
        None | Some("object") => KeyNamespace::Object,
        Some("none") => KeyNamespace::None,
        Some(pointer) if pointer.starts_with('/') => {
            check_pointer(&format!("{at}.namespace"), pointer)?;
            KeyNamespace::Pointer(pointer.to_owned())
        }
        Some(other) => {
            check_text(&format!("{at}.namespace"), other, POINTER_BYTES_MAX)?;
            let problem = format!("namespace {other:?} is neither object, none nor a JSON pointer");
            return Err(error(at, problem));
        }
    };
    let source = match (raw.itself, raw.owner, raw.pointer) {
        (Some(true), None, None) => KeySource::Itself,
        (None, Some(owner), None) => owner_source(&owner, at)?,
        (None, None, Some(pointer)) if pointer.is_empty() => {
            let problem =
                "its pointer is the whole object, and no name: write it as /spec/nodeName";
            return Err(error(at, problem));
        }
        (None, None, Some(pointer)) => {
            check_pointer(&format!("{at}.pointer"), &pointer)?;
            KeySource::Pointer(pointer)
        }
        _ => return Err(error(at, "needs one of self (true), owner and pointer")),
    };
    Ok(EnqueueRule { source, namespace, prefix: raw.prefix })
}

/// `apps/v1/ReplicaSet` or `v1/Node`.
fn owner_source(text: &str, at: &str) -> Result<KeySource, DescriptorError> {
    check_text(&format!("{at}.owner"), text, TEXT_BYTES_MAX)?;
    let parts: Vec<&str> = text.split('/').collect();
    let (group, kind) = match parts[..] {
        [version, kind] if !version.is_empty() => ("", kind),
        [group, version, kind] if !group.is_empty() && !version.is_empty() => (group, kind),
        _ => ("", ""),
    };
    if kind.is_empty() {
        let problem = format!(
            "owner {text:?} is not written as version/Kind (v1/Node) or group/version/Kind (apps/v1/ReplicaSet)"
        );
        return Err(error(at, problem));
    }
    Ok(KeySource::Owner { group: group.to_owned(), kind: kind.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::{Descriptor, ReplayOption};

    #[track_caller]
    fn check(rule: &str, expect: &str) {
        check_of("v1/pods", rule, expect);
    }

    #[track_caller]
    fn check_of(resource: &str, rule: &str, expect: &str) {
        let json = format!(
            r#"{{"version":"1","subscriptions":[{{"resource":"{resource}","enqueue":[{rule}]}}]}}"#
        );
        let error = Descriptor::parse(json.as_bytes()).err().map(|error| error.to_string());
        let at = "descriptor subscriptions[0].enqueue";
        let shown = error.map(|error| error.replace(at, "")).unwrap_or_default();
        assert_eq!(shown, expect, "{rule}");
    }

    #[test]
    fn rules_that_mean_nothing_are_refused_with_their_place() {
        check(r#""self",{"self":true},{"owner":"v1/Node"},{"pointer":"/a"}"#, "");
        check(r#""slef""#, r#"[0]: "slef" is no rule; write "self""#);
        check(r#"{"onwer":"v1/Node"}"#, r#"[0]: unknown key "onwer"; did you mean "owner"?"#);
        let one = "[0]: needs one of self (true), owner and pointer";
        for rule in ["{}", r#"{"self":false}"#, r#"{"self":true,"pointer":"/a"}"#] {
            check(rule, one);
        }
        let kinds =
            "is not written as version/Kind (v1/Node) or group/version/Kind (apps/v1/ReplicaSet)";
        for kind in ["ReplicaSet", "a/b/c/D", "/v1/Node", "v1/"] {
            let rule = format!(r#"{{"owner":"{kind}"}}"#);
            check(&rule, &format!("[0]: owner {kind:?} {kinds}"));
        }
        let text = r#"[0]: namespace "spec" is neither object, none nor a JSON pointer"#;
        check(r#"{"self":true,"namespace":"spec"}"#, text);
        let text = "[0]: its pointer is the whole object, and no name: write it as /spec/nodeName";
        check(r#"{"pointer":""}"#, text);
        let text = r#"[0].pointer: "spec" is not a JSON pointer: write it as /spec/nodeName"#;
        check(r#"{"pointer":"spec"}"#, text);
        let long = format!(r#"{{"self":true,"prefix":"{}"}}"#, "x".repeat(TEXT_BYTES_MAX + 1));
        check(&long, "[0].prefix: has a text of 129 bytes, at most 128 are allowed");
    }

    #[test]
    fn no_key_holds_a_value_of_a_secret() {
        let check = |rule: &str, expect: &str| check_of("v1/secrets", rule, expect);
        check(r#""self",{"owner":"v1/Node"},{"pointer":"/metadata/labels/app"}"#, "");
        let refused = |pointer: &str| {
            format!(
                ": {pointer} may have a value of a Secret, which a key would show; point below /metadata"
            )
        };
        check(r#"{"pointer":"/metadata/labels/app","namespace":"/data/a"}"#, &refused("/data/a"));
        check(r#""self",{"pointer":"/stringData/a"}"#, &refused("/stringData/a"));
        check(&format!(r#"{{"pointer":"{LAST_APPLIED}"}}"#), &refused(LAST_APPLIED));
        check_of("v1/configmaps", r#"{"pointer":"/data/a"}"#, "");
    }

    #[test]
    fn rules_are_bounded() {
        check(&vec![r#""self""#; ENQUEUE_RULES_MAX].join(","), "");
        let many = vec![r#""self""#; ENQUEUE_RULES_MAX + 1].join(",");
        check(&many, ": has 17 entries, at most 16 are allowed");
    }

    #[test]
    fn objects_that_become_keys_come_again_after_a_reload_unless_it_says_otherwise() {
        let replay = |keys: &str| {
            let json =
                format!(r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods"{keys}}}]}}"#);
            let descriptor = Descriptor::parse(json.as_bytes()).expect("it is valid");
            descriptor.subscriptions[0].replay
        };
        assert_eq!(replay(r#","enqueue":["self"]"#), ReplayOption::InitialAndReload);
        assert_eq!(replay(r#","enqueue":["self"],"replay":"never""#), ReplayOption::Never);
        assert_eq!(replay(r#","enqueue":[]"#), ReplayOption::Initial);
    }
}
