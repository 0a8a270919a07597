//! Conditions of a status: reads them, and sets them so that their times change only with their content.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{edit, time};

/// The condition of this type.
pub(crate) fn find<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of this type is `True`.
pub(crate) fn holds(object: &Value, kind: &str) -> bool {
    find(object, kind).is_some_and(|condition| condition["status"] == "True")
}

/// The content of a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: &'a str,
    /// Omitted if empty.
    pub(crate) reason: &'a str,
    /// Omitted if empty.
    pub(crate) message: &'a str,
    /// The member with the time of the last probe.
    pub(crate) probed: Probed,
}

/// The member in which a kind's conditions keep the time of the last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probed {
    /// `lastProbeTime: null`, as in pods.
    Null,
    /// `lastUpdateTime`, as in deployments.
    Update,
    /// `lastHeartbeatTime`, as in nodes.
    Heartbeat,
}

/// Sets a condition. `lastTransitionTime` changes only with the status. Returns whether anything but a heartbeat
/// changed.
pub(crate) fn set(object: &mut Value, condition: Condition<'_>, now: Timestamp) -> bool {
    let now = Value::from(time::seconds(now));
    let all = edit::at(object, &["status", "conditions"]);
    if !all.is_array() {
        *all = json!([]);
    }
    let Some(all) = all.as_array_mut() else { return false };
    let index = all.iter().position(|known| known["type"] == condition.kind);
    let before = index.map(|index| all[index].clone()).unwrap_or_default();
    let same_status = before["status"] == condition.status;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let changed = !same_status
        || text(&before["reason"]) != condition.reason
        || text(&before["message"]) != condition.message;
    if !changed && condition.probed != Probed::Heartbeat {
        return false;
    }
    let mut new = json!({"type": condition.kind, "status": condition.status});
    match condition.probed {
        Probed::Null => new["lastProbeTime"] = Value::Null,
        Probed::Update => new["lastUpdateTime"] = now.clone(),
        Probed::Heartbeat => new["lastHeartbeatTime"] = now.clone(),
    }
    let since = if same_status { before["lastTransitionTime"].clone() } else { now };
    new["lastTransitionTime"] = since;
    if !condition.reason.is_empty() {
        new["reason"] = condition.reason.into();
    }
    if !condition.message.is_empty() {
        new["message"] = condition.message.into();
    }
    match index {
        Some(index) => all[index] = new,
        None => all.push(new),
    }
    changed
}
