//! What a server serves: the resources with their names, verbs and subresources. Discovery is written from
//! it and requests are looked up in it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use informant_apimachinery::GroupVersionResource;
use serde_json::Value;

/// One served resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Group, version and plural.
    pub gvr: GroupVersionResource,
    /// For example `Pod`.
    pub kind: String,
    /// For example `pod`.
    pub singular: String,
    /// For example `PodList`.
    pub list_kind: String,
    /// For example `po`.
    pub short_names: Vec<String>,
    /// For example `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether a CustomResourceDefinition defines it.
    pub custom: bool,
    /// The verbs that discovery shows.
    pub verbs: Vec<String>,
    /// `status`, `scale` and the like.
    pub subresources: Vec<SubresourceInfo>,
    /// The fields, besides `metadata.name` and `metadata.namespace`, that selectors may use.
    pub selectable_fields: Vec<String>,
    /// `additionalPrinterColumns` of a CustomResourceDefinition, `null` for the others.
    pub printer_columns: Value,
}

/// A subresource of a [`ResourceInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubresourceInfo {
    /// For example `scale`.
    pub name: String,
    /// The group of what it answers with; usually the resource's own.
    pub group: String,
    /// The version of what it answers with.
    pub version: String,
    /// The kind that it answers with.
    pub kind: String,
    /// The verbs that discovery shows.
    pub verbs: Vec<String>,
}

impl ResourceInfo {
    /// A resource of namespaces with the usual names for its kind, and with nothing else.
    pub fn of_kind(gvr: GroupVersionResource, kind: &str) -> Self {
        Self {
            gvr,
            kind: kind.to_owned(),
            singular: kind.to_lowercase(),
            list_kind: format!("{kind}List"),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            custom: false,
            verbs: Vec::new(),
            subresources: Vec::new(),
            selectable_fields: Vec::new(),
            printer_columns: Value::Null,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_test(gvr: &str) -> Self {
        Self::of_kind(gvr.parse().expect("a resource"), "Thing")
    }

    /// What follows the beginning of an object's JSON, if that is the type, in either order: a server writes
    /// `kind` first for built-in types, as in Go's encoder, and `apiVersion` for custom resources, whose keys
    /// are sorted.
    pub fn strip_type_meta<'j>(&self, json: &'j [u8]) -> Option<&'j [u8]> {
        let strip_kind = |json: &'j [u8]| {
            json.strip_prefix(br#""kind":""#)?
                .strip_prefix(self.kind.as_bytes())?
                .strip_prefix(b"\",")
        };
        let strip_version = |json: &'j [u8]| {
            let json = json.strip_prefix(br#""apiVersion":""#)?;
            let json = match self.gvr.group.as_str() {
                "" => json,
                group => json.strip_prefix(group.as_bytes())?.strip_prefix(b"/")?,
            };
            json.strip_prefix(self.gvr.version.as_bytes())?.strip_prefix(b"\",")
        };
        let json = json.strip_prefix(b"{")?;
        match strip_kind(json) {
            Some(rest) => strip_version(rest),
            None => strip_kind(strip_version(json)?),
        }
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&SubresourceInfo> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Whether discovery shows the verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// Everything a server serves at one moment.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    resources: Vec<Arc<ResourceInfo>>,
    by_name: HashMap<GroupVersionResource, Arc<ResourceInfo>>,
}

impl Catalogue {
    /// A catalogue of these resources; discovery shows groups in the order of their first resource.
    pub fn new(resources: impl IntoIterator<Item = Arc<ResourceInfo>>) -> Self {
        let resources: Vec<_> = resources.into_iter().collect();
        let by_name = resources.iter().map(|r| (r.gvr.clone(), Arc::clone(r))).collect();
        Self { resources, by_name }
    }

    /// The resource of this name.
    pub fn find(&self, gvr: &GroupVersionResource) -> Option<&Arc<ResourceInfo>> {
        self.by_name.get(gvr)
    }

    /// All resources.
    pub fn resources(&self) -> &[Arc<ResourceInfo>] {
        &self.resources
    }

    /// The groups; the core group is the empty one.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups = Vec::new();
        for resource in &self.resources {
            let group = resource.gvr.group.as_str();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// The versions of a group, the preferred one first: stable before beta before alpha, then the higher
    /// number (apimachinery's `version.CompareKubeAwareVersionStrings`).
    pub fn versions(&self, group: &str) -> Vec<&str> {
        let mut versions = Vec::new();
        for resource in self.resources.iter().filter(|r| r.gvr.group == group) {
            let version = resource.gvr.version.as_str();
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        versions.sort_by_key(|version| Reverse(version_rank(version)));
        versions
    }

    /// The resources of one group and version.
    pub fn in_version<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
    ) -> impl Iterator<Item = &'a Arc<ResourceInfo>> {
        self.resources.iter().filter(move |r| r.gvr.group == group && r.gvr.version == version)
    }
}

/// Orders versions: stability, major number, minor number (of `beta2`). What does not look like a version
/// comes last.
fn version_rank(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse() else { return (0, 0, 0) };
    let minor = |text: &str| text.parse().unwrap_or(1);
    if rest.is_empty() {
        (3, major, 0)
    } else if let Some(beta) = rest.strip_prefix("beta") {
        (2, major, minor(beta))
    } else if let Some(alpha) = rest.strip_prefix("alpha") {
        (1, major, minor(alpha))
    } else {
        (0, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &[&str], preferred_first: &[&str]) {
        let mut versions = written.to_vec();
        versions.sort_by_key(|version| Reverse(version_rank(version)));
        assert_eq!(versions, preferred_first);
    }

    #[test]
    fn stable_versions_come_first_then_higher_numbers() {
        check(&["v1beta1", "v1", "v2"], &["v2", "v1", "v1beta1"]);
        check(&["v1alpha1", "v1beta2", "v1beta1"], &["v1beta2", "v1beta1", "v1alpha1"]);
        check(&["foo", "v1alpha1", "v10"], &["v10", "v1alpha1", "foo"]);
    }
}
