//! What a plugin asks for: the JSON that its `describe` answers with, checked key by key.

use informant_apimachinery::{FieldSelector, GroupVersionResource, LabelSelector};
use informant_cache::JsonPointer;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// More subscriptions than a plugin can sensibly tell apart.
const SUBSCRIPTIONS_MAX: usize = 64;
/// Pointers of one subscription, each of which is looked up in every update's bytes.
const POINTERS_MAX: usize = 32;
/// Indexes of one plugin; each costs memory for every cached object.
const INDEXES_MAX: usize = 16;

/// A checked descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The plugin's own version.
    pub version: String,
    /// In the plugin's order: an event names its subscription by position.
    pub subscriptions: Vec<SubscriptionSpec>,
    /// Indexes that the plugin wants on resources it reads.
    pub indexes: Vec<IndexSpec>,
    /// Resources read through `indexer` without a subscription.
    pub reads: Vec<ReadSpec>,
}

/// One view of one resource, whose changes the plugin wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSpec {
    /// Unique within the plugin.
    pub name: String,
    /// What is watched.
    pub resource: GroupVersionResource,
    /// Empty: all.
    pub namespaces: BTreeSet<String>,
    /// Which objects belong to the view.
    pub label_selector: LabelSelector,
    /// Which objects belong to the view.
    pub field_selector: FieldSelector,
    /// Which changes are told.
    pub types: ChangeTypes,
    /// Which objects are told again and when.
    pub replay: Replay,
    /// How much of an object comes with an event.
    pub delivery: Delivery,
    /// Whether an update carries the state before.
    pub with_old: bool,
    /// JSON pointers; an update is told only if one of their values changed.
    pub only_if_changed: Vec<String>,
}

/// Which of the three changes a subscription wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeTypes {
    /// Objects that appear.
    pub added: bool,
    /// Objects that change.
    pub updated: bool,
    /// Objects that go.
    pub deleted: bool,
}

/// What a subscription wants to hear again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// What is there when the plugin is first loaded.
    Initial,
    /// The same, and everything again after each reload.
    InitialAndReload,
    /// Only changes from now on.
    Never,
}

/// How much of an object comes with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// The whole object.
    Full,
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Nothing; the plugin asks through `event-data`.
    Lazy,
}

/// A secondary index: objects by the values found at a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// What is indexed.
    pub resource: GroupVersionResource,
    /// The index's name, unique within plugin and resource.
    pub name: String,
    /// A JSON pointer in which `*` steps into every member.
    pub pointer: JsonPointer,
    /// The pointer as the plugin wrote it.
    pub pointer_text: String,
}

/// A resource that is read without being subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSpec {
    /// What is read.
    pub resource: GroupVersionResource,
    /// Empty: all.
    pub namespaces: BTreeSet<String>,
}

/// The descriptor cannot be used; the text says where and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("descriptor {at}: {problem}")]
pub struct DescriptorError {
    at: String,
    problem: String,
}

fn error(at: &str, problem: impl Into<String>) -> DescriptorError {
    DescriptorError { at: at.to_owned(), problem: problem.into() }
}

/// Keys that the contract names and that this host does not carry out yet.
const NOT_OFFERED: [&str; 5] = ["filter", "enqueue", "schedules", "resyncPeriod", "reconciler"];

impl Descriptor {
    /// Reads and checks a descriptor.
    pub fn parse(json: &[u8]) -> Result<Self, DescriptorError> {
        let value: Value = serde_json::from_slice(json)
            .map_err(|e| error("as a whole", format!("is not JSON: {e}")))?;
        let known = ["version", "subscriptions", "indexes", "reads"];
        let raw: RawDescriptor = checked(value, "as a whole", &known)?;
        let descriptor = Self {
            version: raw.version,
            subscriptions: each(raw.subscriptions, "subscriptions", subscription)?,
            indexes: each(raw.indexes, "indexes", index)?,
            reads: each(raw.reads, "reads", read)?,
        };
        descriptor.check()?;
        Ok(descriptor)
    }

    fn check(&self) -> Result<(), DescriptorError> {
        bound("subscriptions", self.subscriptions.len(), SUBSCRIPTIONS_MAX)?;
        bound("indexes", self.indexes.len(), INDEXES_MAX)?;
        let mut names = BTreeSet::new();
        for subscription in &self.subscriptions {
            if !names.insert(&subscription.name) {
                let problem = format!("the name {:?} is used twice", subscription.name);
                return Err(error("subscriptions", problem));
            }
        }
        Ok(())
    }

    /// Every resource the plugin wants to see, each once.
    pub fn resources(&self) -> BTreeSet<&GroupVersionResource> {
        let subscribed = self.subscriptions.iter().map(|subscription| &subscription.resource);
        subscribed.chain(self.reads.iter().map(|read| &read.resource)).collect()
    }
}

#[derive(Deserialize)]
struct RawDescriptor {
    version: String,
    #[serde(default)]
    subscriptions: Vec<Value>,
    #[serde(default)]
    indexes: Vec<Value>,
    #[serde(default)]
    reads: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSubscription {
    name: Option<String>,
    resource: String,
    #[serde(default)]
    namespaces: BTreeSet<String>,
    #[serde(default)]
    label_selector: String,
    #[serde(default)]
    field_selector: String,
    types: Option<Vec<RawType>>,
    #[serde(default = "replay_default")]
    replay: Replay,
    #[serde(default = "delivery_default")]
    delivery: Delivery,
    #[serde(default)]
    with_old: bool,
    #[serde(default)]
    only_if_changed: Vec<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum RawType {
    Added,
    Updated,
    Deleted,
}

fn replay_default() -> Replay {
    Replay::Initial
}

fn delivery_default() -> Delivery {
    Delivery::Full
}

fn subscription(value: Value, at: &str) -> Result<SubscriptionSpec, DescriptorError> {
    let known = [
        "name",
        "resource",
        "namespaces",
        "labelSelector",
        "fieldSelector",
        "types",
        "replay",
        "delivery",
        "withOld",
        "onlyIfChanged",
    ];
    let raw: RawSubscription = checked(value, at, &known)?;
    bound(at, raw.only_if_changed.len(), POINTERS_MAX)?;
    for pointer in &raw.only_if_changed {
        check_pointer(at, pointer)?;
    }
    let wants = |wanted| raw.types.as_ref().is_none_or(|types| types.contains(&wanted));
    Ok(SubscriptionSpec {
        name: raw.name.unwrap_or_else(|| raw.resource.clone()),
        resource: resource(&raw.resource, at)?,
        namespaces: raw.namespaces,
        label_selector: raw
            .label_selector
            .parse()
            .map_err(|e| error(at, format!("labelSelector: {e}")))?,
        field_selector: raw
            .field_selector
            .parse()
            .map_err(|e| error(at, format!("fieldSelector: {e}")))?,
        types: ChangeTypes {
            added: wants(RawType::Added),
            updated: wants(RawType::Updated),
            deleted: wants(RawType::Deleted),
        },
        replay: raw.replay,
        delivery: raw.delivery,
        with_old: raw.with_old,
        only_if_changed: raw.only_if_changed,
    })
}

#[derive(Deserialize)]
struct RawIndex {
    resource: String,
    name: String,
    pointer: String,
}

fn index(value: Value, at: &str) -> Result<IndexSpec, DescriptorError> {
    let raw: RawIndex = checked(value, at, &["resource", "name", "pointer"])?;
    let pointer = raw.pointer.parse().map_err(|e| error(at, format!("{e}")))?;
    let resource = resource(&raw.resource, at)?;
    Ok(IndexSpec { resource, name: raw.name, pointer, pointer_text: raw.pointer })
}

#[derive(Deserialize)]
struct RawRead {
    resource: String,
    #[serde(default)]
    namespaces: BTreeSet<String>,
}

fn read(value: Value, at: &str) -> Result<ReadSpec, DescriptorError> {
    let raw: RawRead = checked(value, at, &["resource", "namespaces"])?;
    Ok(ReadSpec { resource: resource(&raw.resource, at)?, namespaces: raw.namespaces })
}

fn resource(text: &str, at: &str) -> Result<GroupVersionResource, DescriptorError> {
    text.parse().map_err(|e| error(at, format!("{e}")))
}

fn check_pointer(at: &str, pointer: &str) -> Result<(), DescriptorError> {
    if pointer.is_empty() || pointer.starts_with('/') {
        return Ok(());
    }
    let problem = format!("{pointer:?} is not a JSON pointer: write it as /spec/nodeName");
    Err(error(at, problem))
}

fn bound(at: &str, found: usize, max: usize) -> Result<(), DescriptorError> {
    if found <= max {
        return Ok(());
    }
    Err(error(at, format!("has {found} entries, at most {max} are allowed")))
}

fn each<T>(
    values: Vec<Value>,
    at: &str,
    parse: fn(Value, &str) -> Result<T, DescriptorError>,
) -> Result<Vec<T>, DescriptorError> {
    let numbered = values.into_iter().enumerate();
    numbered.map(|(index, value)| parse(value, &format!("{at}[{index}]"))).collect()
}

/// Refuses unknown keys, naming the nearest known one, before serde looks at the values.
fn checked<T: serde::de::DeserializeOwned>(
    value: Value,
    at: &str,
    known: &[&str],
) -> Result<T, DescriptorError> {
    if let Some(object) = value.as_object() {
        for key in object.keys() {
            if known.contains(&key.as_str()) {
                continue;
            }
            if NOT_OFFERED.contains(&key.as_str()) {
                return Err(error(at, format!("the key {key:?} is not offered by this host yet")));
            }
            return Err(error(at, unknown_key(key, known)));
        }
    }
    serde_json::from_value(value).map_err(|e| error(at, e.to_string()))
}

fn unknown_key(key: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
    match nearest {
        Some(nearest) if strsim::jaro_winkler(key, nearest) > 0.7 => {
            format!("unknown key {key:?}; did you mean {nearest:?}?")
        }
        _ => format!("unknown key {key:?}; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(json: &str, expect: Expect) {
        let text = match Descriptor::parse(json.as_bytes()) {
            Ok(descriptor) => format!("{descriptor:#?}"),
            Err(error) => error.to_string(),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn defaults_are_filled_in() {
        let descriptor =
            Descriptor::parse(br#"{"version":"1","subscriptions":[{"resource":"v1/pods"}]}"#);
        let subscription = descriptor.expect("a plain descriptor is fine").subscriptions.remove(0);
        assert_eq!(subscription.name, "v1/pods");
        assert_eq!(subscription.replay, Replay::Initial);
        assert_eq!(subscription.delivery, Delivery::Full);
        let all = ChangeTypes { added: true, updated: true, deleted: true };
        assert_eq!(subscription.types, all);
        assert!(!subscription.with_old);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        check(
            "hello",
            expect!["descriptor as a whole: is not JSON: expected value at line 1 column 1"],
        );
        check("{}", expect!["descriptor as a whole: missing field `version`"]);
        check(
            r#"{"version":"1","subscription":[]}"#,
            expect![[
                r#"descriptor as a whole: unknown key "subscription"; did you mean "subscriptions"?"#
            ]],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","labelselector":"a=b"}]}"#,
            expect![[
                r#"descriptor subscriptions[0]: unknown key "labelselector"; did you mean "labelSelector"?"#
            ]],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods"},{"resource":"pods"}]}"#,
            expect![[
                r#"descriptor subscriptions[1]: resource "pods" is not written as version/resource (v1/pods) or group/version/resource (apps/v1/deployments): it has not two or three parts"#
            ]],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods"},{"resource":"v1/pods"}]}"#,
            expect![[r#"descriptor subscriptions: the name "v1/pods" is used twice"#]],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","filter":"true"}]}"#,
            expect![[
                r#"descriptor subscriptions[0]: the key "filter" is not offered by this host yet"#
            ]],
        );
        check(
            r#"{"version":"1","indexes":[{"resource":"v1/pods","name":"n","pointer":"spec.nodeName"}]}"#,
            expect![[
                r#"descriptor indexes[0]: JSON pointer "spec.nodeName" cannot be read: it does not begin with a slash"#
            ]],
        );
    }
}
