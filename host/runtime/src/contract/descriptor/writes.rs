//! The intended writes of a plugin.

use super::{
    BoundedList, DescriptorError, LIST_MAX, NAME_BYTES_MAX, check_text, error, json, reads,
};
use crate::enumerated::enumerated;
use crate::outside::write::{Writable, WriteVerb};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// The most resources that a plugin writes.
pub(crate) const WRITES_MAX: usize = 64;

/// The keys of an entry.
const KEYS: [&str; 3] = ["resource", "verbs", "namespaces"];

/// Verbs on one resource or subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteSpec {
    pub(crate) what: Writable,
    /// Each once, at least one.
    pub(crate) verbs: Vec<WriteVerb>,
    /// Empty: all namespaces, and objects without one.
    pub(crate) namespaces: reads::NamespaceSet,
}

#[derive(Deserialize)]
struct RawWrite {
    resource: String,
    verbs: BoundedList<String, LIST_MAX>,
    #[serde(default)]
    namespaces: reads::RawNamespaces,
}

pub(super) fn write(json: &RawValue, at: &str) -> Result<WriteSpec, DescriptorError> {
    let raw: RawWrite = json::object(json, at, &KEYS)?;
    check_text(&format!("{at}.resource"), &raw.resource, NAME_BYTES_MAX)?;
    let what = raw.resource.parse().map_err(|problem: String| error(at, problem))?;
    let verbs = raw.verbs.entries(&format!("{at}.verbs"))?;
    let verbs = verbs.iter().map(|verb| verb.parse::<WriteVerb>());
    let verbs = verbs.collect::<Result<BTreeSet<_>, _>>();
    let verbs = verbs.map_err(|problem| error(at, format!("verbs {problem}")))?;
    if verbs.is_empty() {
        return Err(error(at, "verbs is empty: name create, update, patch or delete"));
    }
    let namespaces = reads::namespaces(raw.namespaces, at)?;
    Ok(WriteSpec { what, verbs: verbs.into_iter().collect(), namespaces })
}

impl WriteSpec {
    /// The API group; empty for the core one.
    pub fn group(&self) -> &str {
        self.what.group()
    }

    /// The resource as RBAC names it: `pods`, `pods/status`.
    pub fn resource(&self) -> String {
        self.what.rbac_name()
    }

    /// Empty: everywhere.
    pub fn namespaces(&self) -> &BTreeSet<String> {
        &self.namespaces
    }

    /// The verbs as RBAC names them.
    pub fn verbs(&self) -> impl Iterator<Item = &'static str> {
        self.verbs.iter().map(|verb| verb.name())
    }

    /// As text for people: `create and patch v1/pods in shop`.
    pub fn shown(&self) -> String {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.name()).collect();
        let text = format!("{} {}", enumerated(&verbs), self.what);
        let namespaces: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
        match namespaces.is_empty() {
            true => text,
            false => format!("{text} in {}", enumerated(&namespaces)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::Descriptor;

    /// The meaning of these `writes`, or their problem.
    #[track_caller]
    fn check(writes: &str, expect: &str) {
        let json = format!(r#"{{"version":"1","writes":[{writes}]}}"#);
        let shown = match Descriptor::parse(json.as_bytes()) {
            Ok(descriptor) => {
                let shown: Vec<String> = descriptor.writes.iter().map(WriteSpec::shown).collect();
                shown.join(", ")
            }
            Err(error) => error.to_string().replace("descriptor writes", ""),
        };
        assert_eq!(shown, expect, "{writes}");
    }

    fn one(resource: &str, verbs: &str) -> String {
        format!(r#"{{"resource":"{resource}","verbs":[{verbs}]}}"#)
    }

    #[test]
    fn what_is_meant_to_be_written_is_read() {
        check(
            &one("v1/pods/status", r#""patch","create","patch""#),
            "create and patch v1/pods/status",
        );
        let shop = r#"{"resource":"v1/pods","verbs":["delete"],"namespaces":["shop","b"]}"#;
        check(shop, "delete v1/pods in b and shop");
    }

    #[test]
    fn what_cannot_be_written_is_refused_with_its_place() {
        let verbs = "[0]: verbs has \"get\", and may have create, update, patch, delete";
        check(&one("v1/pods", r#""get""#), verbs);
        check(&one("v1/pods", ""), "[0]: verbs is empty: name create, update, patch or delete");
        check(
            &one("v1/namespaces/pods", r#""patch""#),
            r#"[0]: namespaces have no subresource "pods""#,
        );
        let many = |count: usize| vec![one("v1/pods", r#""patch""#); count].join(",");
        let all = vec!["patch v1/pods"; WRITES_MAX].join(", ");
        check(&many(WRITES_MAX), &all);
        check(&many(WRITES_MAX + 1), ": has 65 entries, at most 64 are allowed");
    }
}
