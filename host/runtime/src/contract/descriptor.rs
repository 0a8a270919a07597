//! A plugin's descriptor: the JSON that its `describe` returns, checked key by key.

mod bounded_list;
mod durations;
mod enqueue;
mod exports;
mod http;
mod json;
mod metadata;
mod passes;
mod reads;
mod schedules;
mod shards;
mod subscriptions;
mod watches;
mod writes;

use crate::contract::schedule::ScheduleSpec;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use bounded_list::BoundedList;
pub(crate) use durations::DURATION_BYTES_MAX;
pub(crate) use enqueue::{ENQUEUE_RULES_MAX, TEXT_BYTES_MAX as ENQUEUE_TEXT_BYTES_MAX};
pub use http::HttpSpec;
pub(crate) use http::{HTTP_MAX, ORIGIN_BYTES_MAX as HTTP_ORIGIN_BYTES_MAX};
use informant_apimachinery::GroupVersionResource;
use informant_cache::Projection;
pub(crate) use json::DESCRIPTOR_BYTES_MAX;
pub(crate) use passes::{
    FILTERS_BYTES_MAX, NAMESPACE_SELECTORS_MAX, REQUIREMENTS_OF_RESOURCE_MAX,
    SUBSCRIPTIONS_OF_RESOURCE_MAX,
};
pub use reads::{IndexSpec, NamespaceSet, ReadSpec};
pub(crate) use reads::{NAMESPACE_BYTES_MAX, NAMESPACES_MAX};
use reads::{index, read};
use schedules::schedule;
pub(crate) use schedules::{CRON_BYTES_MAX, SCHEDULES_MAX};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;
pub(crate) use subscriptions::POINTERS_MAX;
use subscriptions::subscription;
pub use subscriptions::{ChangeTypes, Delivery, ReplayOption, SubscriptionSpec};
pub(crate) use watches::WATCHES_MAX;
pub(crate) use writes::WRITES_MAX;
pub use writes::WriteSpec;
use writes::write;

/// The most subscriptions of one plugin.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 64;
/// The most indexes of one plugin; each costs memory for every cached object.
pub(crate) const INDEXES_MAX: usize = 16;
/// The most resources read beside the subscriptions; each keeps an informer running.
pub(crate) const READS_MAX: usize = 64;
/// Bytes of `version`, which appears in logs and in `/plugins`.
pub(crate) const VERSION_BYTES_MAX: usize = 128;
/// Bytes of a name or a resource. The longest custom resource has 317: the name of its definition (plural.group) has
/// at most 253 bytes, its version at most 63.
pub(crate) const NAME_BYTES_MAX: usize = 320;
/// Bytes of a JSON pointer. The longest pointer to a Kubernetes key, that of an annotation, has 340.
pub(crate) const POINTER_BYTES_MAX: usize = 1024;
/// Entries of a list within an entry, most of which choose from a few words: verbs, methods, types.
pub(crate) const LIST_MAX: usize = 32;

/// The keys of a descriptor.
const KEYS: [&str; 8] =
    ["version", "subscriptions", "indexes", "reads", "writes", "http", "schedules", "shards"];

/// A checked descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The plugin's own version.
    pub version: String,
    /// In the plugin's order: an event names its subscription by position.
    /// Clones share them: a version, its handlers, actors and pages have each.
    pub subscriptions: Vec<Arc<SubscriptionSpec>>,
    /// Indexes on resources that the plugin reads.
    pub indexes: Vec<IndexSpec>,
    /// Resources read through `indexer` without a subscription.
    pub reads: Vec<ReadSpec>,
    /// The plugin's intended writes to the cluster.
    pub writes: Vec<WriteSpec>,
    /// The plugin's intended HTTP requests.
    pub http: Vec<HttpSpec>,
    /// The plugin's schedules.
    pub schedules: Vec<ScheduleSpec>,
    /// The number of shards that the plugin asks for.
    pub shards: usize,
}

/// An unusable descriptor, with the place and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("descriptor {at}: {problem}")]
pub struct DescriptorError {
    at: String,
    problem: String,
}

fn error(at: &str, problem: impl Into<String>) -> DescriptorError {
    let problem = one_line(&problem.into(), ERROR_BYTES_MAX).into_owned();
    DescriptorError { at: at.to_owned(), problem }
}

impl Descriptor {
    /// Reads and checks a descriptor.
    pub fn parse(json: &[u8]) -> Result<Self, DescriptorError> {
        let raw: RawDescriptor<'_> = json::object(json::document(json)?, json::WHOLE, &KEYS)?;
        let mut filters_bytes = 0;
        let subscription =
            |json: &RawValue, at: &str| subscription(json, at, &mut filters_bytes).map(Arc::new);
        let mut descriptor = Self {
            version: raw.version,
            subscriptions: each(raw.subscriptions, "subscriptions", subscription)?,
            indexes: each(raw.indexes, "indexes", index)?,
            reads: each(raw.reads, "reads", read)?,
            writes: each(raw.writes, "writes", write)?,
            http: each(raw.http, "http", http::http)?,
            schedules: each(raw.schedules, "schedules", schedule)?,
            shards: shards::shards(raw.shards)?,
        };
        descriptor.check()?;
        descriptor.note_metadata_only();
        Ok(descriptor)
    }

    fn check(&self) -> Result<(), DescriptorError> {
        check_text("version", &self.version, VERSION_BYTES_MAX)?;
        let mut names = BTreeSet::new();
        for subscription in &self.subscriptions {
            if !names.insert(&subscription.name) {
                let problem = format!("the name {:?} is used twice", subscription.name);
                return Err(error("subscriptions", problem));
            }
        }
        self.check_subscriptions()?;
        self.check_requirements()?;
        self.check_namespace_selectors()?;
        self.check_watches()?;
        self.check_schedules()?;
        self.check_indexes()
    }

    /// Every resource that the plugin reads, each once.
    pub fn resources(&self) -> BTreeSet<&GroupVersionResource> {
        let subscribed = self.subscriptions.iter().map(|subscription| &subscription.resource);
        subscribed.chain(self.reads.iter().map(|read| &read.resource)).collect()
    }
}

#[derive(Deserialize)]
struct RawDescriptor<'a> {
    version: String,
    #[serde(borrow, default)]
    subscriptions: BoundedList<&'a RawValue, SUBSCRIPTIONS_MAX>,
    #[serde(borrow, default)]
    indexes: BoundedList<&'a RawValue, INDEXES_MAX>,
    #[serde(borrow, default)]
    reads: BoundedList<&'a RawValue, READS_MAX>,
    #[serde(borrow, default)]
    writes: BoundedList<&'a RawValue, WRITES_MAX>,
    #[serde(borrow, default)]
    http: BoundedList<&'a RawValue, HTTP_MAX>,
    #[serde(borrow, default)]
    schedules: BoundedList<&'a RawValue, SCHEDULES_MAX>,
    shards: Option<u64>,
}

fn resource(text: &str, at: &str) -> Result<GroupVersionResource, DescriptorError> {
    check_text(&format!("{at}.resource"), text, NAME_BYTES_MAX)?;
    text.parse().map_err(|e| error(at, format!("{e}")))
}

fn check_pointer(at: &str, pointer: &str) -> Result<(), DescriptorError> {
    check_pointer_bounds(at, pointer)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let problem = format!("{pointer:?} is not a JSON pointer: write it as /spec/nodeName");
        return Err(error(at, problem));
    }
    // Here it would be a key that no object has.
    if pointer.split('/').any(|step| step == "*") {
        let problem = format!(
            "{pointer:?} has the step *, which only pointers of indexes know; point to the whole \
             value, or to one element by its number"
        );
        return Err(error(at, problem));
    }
    Ok(())
}

fn check_pointer_bounds(at: &str, pointer: &str) -> Result<(), DescriptorError> {
    check_bytes(at, pointer, POINTER_BYTES_MAX)?;
    let (steps, max) = (pointer.matches('/').count(), Projection::STEPS_MAX);
    if steps > max {
        let problem = format!("has a JSON pointer of {steps} steps, at most {max} are followed");
        return Err(error(at, problem));
    }
    Ok(())
}

/// Checks a name, which is shown and is a key of events and indexes.
fn check_name(at: &str, name: &str) -> Result<(), DescriptorError> {
    match name.is_empty() {
        true => Err(error(at, "is empty")),
        false => check_text(at, name, NAME_BYTES_MAX),
    }
}

fn check_bytes(at: &str, text: &str, max: usize) -> Result<(), DescriptorError> {
    let bytes = text.len();
    match bytes <= max {
        true => Ok(()),
        false => Err(error(at, format!("has a text of {bytes} bytes, at most {max} are allowed"))),
    }
}

/// Checks a text that is shown: it must be short and stay on one line.
fn check_text(at: &str, text: &str, bytes_max: usize) -> Result<(), DescriptorError> {
    check_bytes(at, text, bytes_max)?;
    match one_line(text, bytes_max) == text {
        true => Ok(()),
        false => Err(error(at, format!("{text:?} has characters that cannot be shown"))),
    }
}

fn bound(at: &str, found: usize, max: usize) -> Result<(), DescriptorError> {
    if found <= max {
        return Ok(());
    }
    Err(error(at, format!("has {found} entries, at most {max} are allowed")))
}

fn each<'a, T, const MAX: usize>(
    list: BoundedList<&'a RawValue, MAX>,
    at: &str,
    mut parse: impl FnMut(&'a RawValue, &str) -> Result<T, DescriptorError>,
) -> Result<Vec<T>, DescriptorError> {
    let numbered = list.entries(at)?.into_iter().enumerate();
    let parsed = numbered.map(|(index, json)| parse(json, &format!("{at}[{index}]")));
    let mut parsed = parsed.collect::<Result<Vec<T>, _>>()?;
    // The list is kept for as long as the plugin.
    parsed.shrink_to_fit();
    Ok(parsed)
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
        assert_eq!(subscription.replay, ReplayOption::Initial);
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
        let resync = |period: &str, types: &str| {
            let (begin, end) = (r#"{"version":"1","subscriptions":[{"resource":"v1/pods""#, "}]}");
            format!(r#"{begin},"types":[{types}],"resyncPeriod":"{period}"{end}"#)
        };
        check(
            &resync("1s", r#""updated""#),
            expect![[r#"
                Descriptor {
                    version: "1",
                    subscriptions: [
                        SubscriptionSpec {
                            name: "v1/pods",
                            resource: GroupVersionResource {
                                group: "",
                                version: "v1",
                                resource: "pods",
                            },
                            namespaces: {},
                            namespace_selector: None,
                            label_selector: LabelSelector {
                                requirements: [],
                            },
                            field_selector: FieldSelector {
                                requirements: [],
                            },
                            types: ChangeTypes {
                                added: false,
                                updated: true,
                                deleted: false,
                            },
                            replay: Initial,
                            delivery: Full,
                            with_old: false,
                            only_if_changed: [],
                            filter: None,
                            resync_period: Some(
                                1s,
                            ),
                            enqueue: EnqueueRules {
                                rules: [],
                                projection: Projection {
                                    nodes: [
                                        PointerNode {
                                            name: [
                                                0,
                                                0,
                                            ],
                                            within: [
                                                0,
                                                0,
                                            ],
                                            here_end: 0,
                                            steps: [
                                                1,
                                                1,
                                            ],
                                        },
                                    ],
                                    names: [],
                                    numbers: [],
                                    len: 0,
                                },
                            },
                            metadata_only: false,
                        },
                    ],
                    indexes: [],
                    reads: [],
                    writes: [],
                    http: [],
                    schedules: [],
                    shards: 1,
                }"#]],
        );
        check(
            &resync("999ms", r#""updated""#),
            expect!["descriptor subscriptions[0]: resyncPeriod 999ms is not between 1s and 8784h"],
        );
        check(
            &resync("soon", r#""updated""#),
            expect![[
                r#"descriptor subscriptions[0]: resyncPeriod "soon" is no duration; write it as 30s or 1h30m"#
            ]],
        );
        check(
            &resync("1h", r#""added""#),
            expect![
                "descriptor subscriptions[0]: resyncPeriod tells of updates, which types leaves out: add updated to it"
            ],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","fieldSelector":"spec.nodename=a"}]}"#,
            expect![[
                r#"descriptor subscriptions[0]: fieldSelector: v1/pods cannot be selected by the field "spec.nodename"; did you mean spec.nodeName? Supported are metadata.name, metadata.namespace, spec.nodeName, spec.restartPolicy, spec.schedulerName, spec.serviceAccountName, spec.hostNetwork, status.phase, status.podIP, status.nominatedNodeName"#
            ]],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","filter":"object.spec.x == pod"}]}"#,
            expect![[
                r#"descriptor subscriptions[0]: filter: line 1, column 18: "pod" is not known; there are object, old and change"#
            ]],
        );
        check(
            &format!(
                r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","onlyIfChanged":["{}"]}}]}}"#,
                "/a".repeat(128)
            ),
            expect![
                "descriptor subscriptions[0].onlyIfChanged[0]: has a JSON pointer of 128 steps, at most 127 are followed"
            ],
        );
        check(
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","onlyIfChanged":["/spec/containers/*/image"]}]}"#,
            expect![[
                r#"descriptor subscriptions[0].onlyIfChanged[0]: "/spec/containers/*/image" has the step *, which only pointers of indexes know; point to the whole value, or to one element by its number"#
            ]],
        );
        check(
            r#"{"version":"1","indexes":[{"resource":"v1/pods","name":"n","pointer":"spec.nodeName"}]}"#,
            expect![[
                r#"descriptor indexes[0]: JSON pointer "spec.nodeName" cannot be read: it does not begin with a slash"#
            ]],
        );
    }

    #[track_caller]
    fn check_problem(json: &str, expect: &str) {
        let error = Descriptor::parse(json.as_bytes()).err().map(|error| error.to_string());
        assert_eq!(error.unwrap_or_default(), expect);
    }

    /// A descriptor with `count` entries under `key`.
    fn many(key: &str, count: usize, entry: impl Fn(usize) -> String) -> String {
        let entries: Vec<String> = (0..count).map(entry).collect();
        let reads = r#""reads":[{"resource":"v1/pods"}]"#;
        let reads = if key == "reads" { String::new() } else { format!(",{reads}") };
        format!(r#"{{"version":"1","{key}":[{}]{reads}}}"#, entries.join(","))
    }

    #[test]
    fn lists_are_bounded() {
        let read = |n| format!(r#"{{"resource":"v1/r{n}"}}"#);
        check_problem(&many("reads", READS_MAX, read), "");
        let text = "descriptor reads: has 65 entries, at most 64 are allowed";
        check_problem(&many("reads", READS_MAX + 1, read), text);
        check_problem(&many("subscriptions", SUBSCRIPTIONS_MAX, read), "");
        let text = "descriptor subscriptions: has 65 entries, at most 64 are allowed";
        check_problem(&many("subscriptions", SUBSCRIPTIONS_MAX + 1, read), text);
        let pointers = |count: usize| {
            let one = format!(
                r#"{{"resource":"v1/pods","onlyIfChanged":[{}]}}"#,
                vec![r#""/a""#; count].join(",")
            );
            many("subscriptions", 1, |_| one.clone())
        };
        check_problem(&pointers(POINTERS_MAX), "");
        let text =
            "descriptor subscriptions[0].onlyIfChanged: has 33 entries, at most 32 are allowed";
        check_problem(&pointers(POINTERS_MAX + 1), text);
        let index =
            |n| format!(r#"{{"resource":"v1/pods","name":"i{n}","pointer":"/spec/nodeName"}}"#);
        check_problem(&many("indexes", INDEXES_MAX, index), "");
        let text = "descriptor indexes: has 17 entries, at most 16 are allowed";
        check_problem(&many("indexes", INDEXES_MAX + 1, index), text);
    }

    #[test]
    fn texts_that_are_shown_are_short_and_on_one_line() {
        let version = |text: &str| format!(r#"{{"version":"{text}"}}"#);
        check_problem(&version(""), "");
        check_problem(&version(&"x".repeat(VERSION_BYTES_MAX)), "");
        check_problem(
            &version(&"x".repeat(VERSION_BYTES_MAX + 1)),
            "descriptor version: has a text of 129 bytes, at most 128 are allowed",
        );
        check_problem(
            &version("1\\u001b[2J"),
            r#"descriptor version: "1\u{1b}[2J" has characters that cannot be shown"#,
        );
        let named = |text: &str| {
            many("subscriptions", 1, |_| format!(r#"{{"name":"{text}","resource":"v1/pods"}}"#))
        };
        check_problem(&named(&"x".repeat(NAME_BYTES_MAX)), "");
        check_problem(
            &named(&"x".repeat(NAME_BYTES_MAX + 1)),
            "descriptor subscriptions[0].name: has a text of 321 bytes, at most 320 are allowed",
        );
        check_problem(&named(""), "descriptor subscriptions[0].name: is empty");
    }

    #[test]
    fn a_problem_is_told_in_few_words() {
        let key = "x".repeat(1 << 20);
        let error = Descriptor::parse(format!(r#"{{"version":"1","{key}":1}}"#).as_bytes());
        let text = error.expect_err("the key is not known").to_string();
        assert!(text.len() < ERROR_BYTES_MAX + 64, "{} bytes", text.len());
    }

    #[test]
    fn indexes_have_names_of_their_own_on_what_is_read() {
        let index = |resource: &str, name: &str| {
            format!(r#"{{"resource":"{resource}","name":"{name}","pointer":"/spec/nodeName"}}"#)
        };
        let two = |one: String, other: String| {
            let reads = r#""reads":[{"resource":"v1/pods"},{"resource":"v1/nodes"}]"#;
            format!(r#"{{"version":"1","indexes":[{one},{other}],{reads}}}"#)
        };
        check_problem(&two(index("v1/pods", "a"), index("v1/nodes", "a")), "");
        check_problem(
            &two(index("v1/pods", "a"), index("v1/pods", "a")),
            r#"descriptor indexes: the name "a" is used twice for v1/pods"#,
        );
        check_problem(
            &two(index("v1/pods", "a"), index("v1/services", "b")),
            r#"descriptor indexes: "b" is on v1/services, which is neither subscribed to nor among the reads"#,
        );
    }
}
