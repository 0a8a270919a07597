//! What is different between two states of a pod, in a few words each.

use crate::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// The differences, the most telling first; empty where only something else changed.
pub(crate) fn between(old: &Pod, new: &Pod) -> Vec<String> {
    let mut differences = Vec::new();
    if old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some() {
        differences.push("being deleted".to_owned());
    }
    let mut compare = |what: &str, old: &str, new: &str| match (old, new) {
        (old, new) if old == new => {}
        ("", new) => differences.push(format!("{what} {new}")),
        (old, "") => differences.push(format!("{what} no longer {old}")),
        (old, new) => differences.push(format!("{what} {old} -> {new}")),
    };
    compare("phase", &old.status.phase, &new.status.phase);
    compare("reason", old.reason(), new.reason());
    compare("ready", &old.ready(), &new.ready());
    compare("restarts", &old.restarts().to_string(), &new.restarts().to_string());
    compare("node", &old.spec.node_name, &new.spec.node_name);
    compare("ip", &old.status.pod_ip, &new.status.pod_ip);
    for container in &new.spec.containers {
        if let Some(before) = old.spec.containers.iter().find(|c| c.name == container.name) {
            compare(&format!("image of {}", container.name), &before.image, &container.image);
        }
    }
    differences.extend(of_map("labels", &old.metadata.labels, &new.metadata.labels));
    differences.extend(of_map("annotations", &old.metadata.annotations, &new.metadata.annotations));
    differences
}

/// `labels +new=1 -gone changed=2`; nothing where they are equal.
fn of_map(
    what: &str,
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
) -> Option<String> {
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let changes = keys.into_iter().filter_map(|key| match (old.get(key), new.get(key)) {
        (None, Some(value)) => Some(format!(" +{key}={value}")),
        (Some(_), None) => Some(format!(" -{key}")),
        (Some(before), Some(value)) if before != value => Some(format!(" {key}={value}")),
        _ => None,
    });
    let changes: String = changes.collect();
    (!changes.is_empty()).then(|| format!("{what}{changes}"))
}
