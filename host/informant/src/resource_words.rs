//! Whether a word means a resource, as for kubectl: `pods`, `po`, `deployments.apps`, `deployments.v1.apps`. Synchronous.

use informant_apimachinery::GroupVersionResource;

/// Whether a word in small letters means the resource. A group, or a version and a group, may follow a dot.
pub(crate) fn means(
    word: &str,
    resource: &GroupVersionResource,
    is_its_word: impl Fn(&str) -> bool,
) -> bool {
    let GroupVersionResource { group, version, .. } = resource;
    let (name, rest) = split(word);
    let is_here = rest.is_none_or(|rest| rest == group || rest == format!("{version}.{group}"));
    is_here && is_its_word(name)
}

/// The name, and the group or the version and the group.
pub(crate) fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expect: bool) {
        let resource = GroupVersionResource::new("apps", "v1", "deployments");
        assert_eq!(means(word, &resource, |name| name == "deploy"), expect, "{word}");
    }

    #[test]
    fn a_group_or_a_version_and_a_group_may_follow() {
        check("deploy", true);
        check("deploy.apps", true);
        check("deploy.v1.apps", true);
        check("deploy.v2.apps", false);
        check("deploy.batch", false);
        check("deploy.", false);
        check("pods", false);
    }
}
