//! The differences between two states of a pod, in a few words.

use crate::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// The new values, the most important first.
pub(crate) fn between(old: Option<&Pod>, new: &Pod) -> String {
    let differences = old.map(|old| differences(old, new)).unwrap_or_default();
    if differences.is_empty() { "other fields changed".to_owned() } else { differences.join(", ") }
}

fn differences(old: &Pod, new: &Pod) -> Vec<String> {
    let mut differences = Vec::new();
    if old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some() {
        differences.push("being deleted".to_owned());
    }
    let mut compare = |field: &str, old: &str, new: &str| match (old, new) {
        (old, new) if old == new => {}
        (old, "") => differences.push(format!("no longer {field}{old}")),
        (_, new) => differences.push(format!("{field}{new}")),
    };
    compare("", &old.status.phase, &new.status.phase);
    if !new.reason().is_empty() {
        compare("", old.reason(), new.reason());
    }
    compare("ready ", &old.ready(), &new.ready());
    compare("restarts ", &old.restarts().to_string(), &new.restarts().to_string());
    compare("on ", &old.spec.node_name, &new.spec.node_name);
    for container in &new.spec.containers {
        if let Some(before) = old.spec.containers.iter().find(|c| c.name == container.name) {
            compare("image ", &before.image, &container.image);
        }
    }
    differences.extend(of_map("labels", &old.metadata.labels, &new.metadata.labels));
    differences.extend(of_map("annotations", &old.metadata.annotations, &new.metadata.annotations));
    // Other differences say more than the end of a reason or a new address.
    if differences.is_empty() && old.reason() != new.reason() {
        differences.push(format!("no longer {}", old.reason()));
    }
    if differences.is_empty() && old.status.pod_ip != new.status.pod_ip {
        differences.push(format!("address {}", new.status.pod_ip));
    }
    differences
}

/// `labels +new=1 -gone changed=2`; none where the maps are equal.
fn of_map(
    field: &str,
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
    (!changes.is_empty()).then(|| format!("{field}{changes}"))
}
