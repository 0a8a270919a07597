//! The attributes of an object. Names of Secrets are left out: a trace leaves the host, and nothing else of the host
//! shows them to its reader.

use super::span::SpanAttribute;
use crate::names::is_of_secrets;

/// Resources with attributes of their own in OpenTelemetry's semantic conventions.
const KINDS: [(&str, &str, &str); 12] = [
    ("v1/pods", "k8s.pod.name", "k8s.pod.uid"),
    ("v1/nodes", "k8s.node.name", "k8s.node.uid"),
    ("v1/namespaces", "k8s.namespace.name", "k8s.namespace.uid"),
    (
        "v1/replicationcontrollers",
        "k8s.replicationcontroller.name",
        "k8s.replicationcontroller.uid",
    ),
    ("v1/resourcequotas", "k8s.resourcequota.name", "k8s.resourcequota.uid"),
    ("apps/v1/deployments", "k8s.deployment.name", "k8s.deployment.uid"),
    ("apps/v1/replicasets", "k8s.replicaset.name", "k8s.replicaset.uid"),
    ("apps/v1/statefulsets", "k8s.statefulset.name", "k8s.statefulset.uid"),
    ("apps/v1/daemonsets", "k8s.daemonset.name", "k8s.daemonset.uid"),
    ("batch/v1/jobs", "k8s.job.name", "k8s.job.uid"),
    ("batch/v1/cronjobs", "k8s.cronjob.name", "k8s.cronjob.uid"),
    ("autoscaling/v2/horizontalpodautoscalers", "k8s.hpa.name", "k8s.hpa.uid"),
];

/// The attributes of an object of this resource: its namespace, name and UID. Empty texts are left out.
pub(crate) fn object_attributes<'a>(
    resource: &'a str,
    [namespace, name, uid]: [&'a str; 3],
) -> impl Iterator<Item = SpanAttribute<'a>> {
    let known = KINDS.iter().find(|(known, ..)| *known == resource);
    let (name_key, uid_key) =
        known.map_or(("k8s.object.name", "k8s.object.uid"), |(_, name, uid)| (*name, *uid));
    let is_shown = known.is_some() || !is_of_secrets(resource);
    let named = [("k8s.namespace.name", namespace), (name_key, name), (uid_key, uid)];
    let named = named.into_iter().filter(move |(_, text)| is_shown && !text.is_empty());
    let all = std::iter::once(("informant.resource", resource)).chain(named);
    all.map(|(key, text)| (key, text.into()))
}

#[cfg(test)]
mod tests {
    use super::super::span::SpanValue;
    use super::*;

    #[track_caller]
    fn check(object: [&str; 4], expect: &str) {
        let [resource, namespace, name, uid] = object;
        let found = object_attributes(resource, [namespace, name, uid]);
        let shown = found.map(|(key, value)| match value {
            SpanValue::Text(text) => format!("{key}={text}"),
            SpanValue::Number(number) => format!("{key}={number}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn objects_have_the_names_of_the_conventions_and_secrets_have_none() {
        check(
            ["v1/pods", "shop", "web", "1"],
            "informant.resource=v1/pods k8s.namespace.name=shop k8s.pod.name=web k8s.pod.uid=1",
        );
        check(
            ["v1/configmaps", "shop", "web", ""],
            "informant.resource=v1/configmaps k8s.namespace.name=shop k8s.object.name=web",
        );
        check(
            ["v1/namespaces", "", "shop", "1"],
            "informant.resource=v1/namespaces k8s.namespace.name=shop k8s.namespace.uid=1",
        );
        check(["v1/secrets", "shop", "password", "1"], "informant.resource=v1/secrets");
    }
}
