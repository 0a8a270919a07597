//! A resource's name: group, version and plural, and the one text form that is used everywhere.

use std::fmt;
use std::str::FromStr;

/// Names a resource as the API server's paths do: `v1/pods`, `apps/v1/deployments`.
///
/// The text form is group, version and resource joined by `/`, the group and its slash left out for the
/// core group. It is what people write in YAML and on the command line and what logs and metrics show.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    /// For example `v1` or `v1beta1`.
    pub version: String,
    /// The lower-case plural, for example `pods`.
    pub resource: String,
}

/// The text is not `version/resource` or `group/version/resource`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "resource {text:?} is not written as version/resource (v1/pods) or group/version/resource (apps/v1/deployments): {problem}"
)]
pub struct ParseGroupVersionResourceError {
    text: String,
    problem: &'static str,
}

impl GroupVersionResource {
    /// Takes the parts as they are; [`FromStr`] checks them.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// `v1` for the core group, else `group/version`: the `apiVersion` of this resource's objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `pods` or `deployments.apps`, as apimachinery's `GroupResource.String` writes it.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// Whether these are the cluster's Secrets, in whatever version: nobody may cause them to be cached.
    pub fn is_secrets(&self) -> bool {
        self.group.is_empty() && self.resource == "secrets"
    }

    /// The path of the whole collection, or of one namespace's: `/api/v1/pods`,
    /// `/apis/apps/v1/namespaces/default/deployments`.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.resource),
            None => format!("{root}/{}", self.resource),
        }
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{}/{}", self.version, self.resource)
    }
}

impl FromStr for GroupVersionResource {
    type Err = ParseGroupVersionResourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseGroupVersionResourceError { text: text.to_owned(), problem };
        let parts: Vec<&str> = text.split('/').collect();
        let (group, version, resource) = match parts[..] {
            [version, resource] => ("", version, resource),
            ["", _, _] => return Err(error("the group is empty")),
            [group, version, resource] => (group, version, resource),
            _ => return Err(error("it has not two or three parts")),
        };
        if !is_version(version) {
            return Err(error("the version does not look like v1 or v1beta1"));
        }
        if !is_dns_label(resource) {
            return Err(error("the resource is not a lower-case plural"));
        }
        if !group.is_empty() && !group.split('.').all(is_dns_label) {
            return Err(error("the group is not a lower-case DNS name"));
        }
        Ok(Self::new(group, version, resource))
    }
}

fn is_version(version: &str) -> bool {
    let mut bytes = version.bytes();
    bytes.next() == Some(b'v')
        && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
        && is_dns_label(version)
}

/// Lower-case letters and digits, with hyphens between them: such a name leads nowhere else in a path.
fn is_dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<(&str, &str, &str), &str>) {
        let parsed = text.parse::<GroupVersionResource>();
        match (parsed, expect) {
            (Ok(gvr), Ok((group, version, resource))) => {
                assert_eq!(gvr, GroupVersionResource::new(group, version, resource));
                assert_eq!(gvr.to_string(), text, "the text form comes back unchanged");
            }
            (Err(error), Err(expect)) => assert_eq!(error.problem, expect),
            (parsed, expect) => panic!("{text:?} gave {parsed:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn text_form_is_read_and_written() {
        check("v1/pods", Ok(("", "v1", "pods")));
        check("apps/v1/deployments", Ok(("apps", "v1", "deployments")));
        check(
            "stable.example.com/v1beta1/cron-tabs",
            Ok(("stable.example.com", "v1beta1", "cron-tabs")),
        );
    }

    #[test]
    fn secrets_are_the_core_groups_in_any_version() {
        let check = |text: &str, expect: bool| {
            let gvr: GroupVersionResource = text.parse().expect("a resource");
            assert_eq!(gvr.is_secrets(), expect, "{text}");
        };
        check("v1/secrets", true);
        check("v2alpha1/secrets", true);
        check("v1/secretstores", false);
        check("external-secrets.io/v1/secrets", false);
        check("v1/configmaps", false);
    }

    #[test]
    fn bad_text_says_what_is_wrong() {
        check("pods", Err("it has not two or three parts"));
        check("/v1/pods", Err("the group is empty"));
        check("apps/deployments/v1", Err("the version does not look like v1 or v1beta1"));
        check("v1/Pods", Err("the resource is not a lower-case plural"));
        check("v1/", Err("the resource is not a lower-case plural"));
        check("Apps/v1/pods", Err("the group is not a lower-case DNS name"));
    }

    #[test]
    fn no_part_leads_elsewhere_in_a_path() {
        check("v1/..", Err("the resource is not a lower-case plural"));
        check("v1/pods.", Err("the resource is not a lower-case plural"));
        check("../v1/pods", Err("the group is not a lower-case DNS name"));
        check("a..b/v1/pods", Err("the group is not a lower-case DNS name"));
        check("v1./pods", Err("the version does not look like v1 or v1beta1"));
    }
}
