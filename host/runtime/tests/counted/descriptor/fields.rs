//! The table: fields of a descriptor, their bounds, and values that are as large as is wanted.

use serde_json::{Value, json};

/// A kind of object in a descriptor.
pub struct Kind {
    /// Where it is in the schema.
    pub schema: &'static str,
    /// Where its first one is in a descriptor, as errors say it.
    pub place: &'static str,
    /// One that has no more than is needed beside this key.
    pub least: fn(key: &str) -> Value,
    /// The descriptor of one.
    pub whole: fn(object: Value) -> Value,
}

pub enum Bound {
    /// The fixed limit of this name, and a value that has so much of what it counts.
    Limit(&'static str, fn(usize) -> Value),
    /// A bound that is no limit of its own, the words for what is above it, and a value.
    Own(usize, &'static str, fn(usize) -> Value),
    /// One of these values.
    OneOf(fn() -> Vec<Value>),
}
use Bound::{Limit, OneOf, Own};

const DESCRIPTOR: Kind = Kind {
    schema: "",
    place: "",
    least: |_| json!({"version": "1", "reads": [{"resource": "v1/pods"}]}),
    whole: |object| object,
};
const SUBSCRIPTION: Kind = Kind {
    schema: "/$defs/subscription",
    place: "subscriptions[0]",
    least: |_| json!({"resource": "example.com/v1/pods"}),
    whole: |object| json!({"version": "1", "subscriptions": [object]}),
};
const RULE: Kind = Kind {
    schema: "/$defs/enqueueRule/oneOf/1",
    place: "subscriptions[0].enqueue[0]",
    least: |key| match key {
        "self" | "owner" | "pointer" => json!({}),
        _ => json!({"self": true}),
    },
    whole: |object| {
        let subscription = json!({"resource": "v1/pods", "enqueue": [object]});
        json!({"version": "1", "subscriptions": [subscription]})
    },
};
const INDEX: Kind = Kind {
    schema: "/$defs/index",
    place: "indexes[0]",
    least: |_| json!({"resource": "v1/pods", "name": "a", "pointer": "/a"}),
    whole: |object| {
        let read = json!({"resource": object["resource"]});
        json!({"version": "1", "indexes": [object], "reads": [read]})
    },
};
const READ: Kind = Kind {
    schema: "/$defs/read",
    place: "reads[0]",
    least: |_| json!({"resource": "v1/pods"}),
    whole: |object| json!({"version": "1", "reads": [object]}),
};
const WRITE: Kind = Kind {
    schema: "/$defs/write",
    place: "writes[0]",
    least: |_| json!({"resource": "v1/pods", "verbs": ["patch"]}),
    whole: |object| json!({"version": "1", "writes": [object]}),
};
const HTTP: Kind = Kind {
    schema: "/$defs/http",
    place: "http[0]",
    least: |_| json!({"origins": ["https://a.org"], "methods": ["GET"]}),
    whole: |object| json!({"version": "1", "http": [object]}),
};
const SCHEDULE: Kind = Kind {
    schema: "/$defs/schedule",
    place: "schedules[0]",
    least: |key| match key {
        "cron" => json!({"name": "a"}),
        _ => json!({"name": "a", "every": "1s"}),
    },
    whole: |object| json!({"version": "1", "schedules": [object]}),
};

pub const KINDS: [&Kind; 8] =
    [&DESCRIPTOR, &SUBSCRIPTION, &RULE, &INDEX, &READ, &WRITE, &HTTP, &SCHEDULE];

/// Every bound of every field.
pub const FIELDS: &[(&Kind, &str, Bound)] = &[
    (&DESCRIPTOR, "version", Limit("versionBytes", text)),
    (&DESCRIPTOR, "subscriptions", Limit("subscriptions", resources)),
    (&DESCRIPTOR, "indexes", Limit("indexes", indexes)),
    (&DESCRIPTOR, "reads", Limit("reads", resources)),
    (&DESCRIPTOR, "writes", Limit("writes", |count| list(count, |_| (WRITE.least)("")))),
    (&DESCRIPTOR, "http", Limit("http", |count| list(count, |_| (HTTP.least)("")))),
    (&DESCRIPTOR, "schedules", Limit("schedules", schedules)),
    (&DESCRIPTOR, "shards", Own(64, "may be 1 to 64", |count| count.into())),
    (&SUBSCRIPTION, "name", Limit("nameBytes", text)),
    (&SUBSCRIPTION, "resource", Limit("nameBytes", resource)),
    (&SUBSCRIPTION, "namespaces", Limit("namespacesPerView", namespaces)),
    (&SUBSCRIPTION, "namespaces", Own(63, "at most 63 are", namespace)),
    (&SUBSCRIPTION, "namespaceSelector", Limit("selectorBytes", |bytes| filled("a=b", " ", bytes))),
    (&SUBSCRIPTION, "namespaceSelector", Limit("labelRequirements", |count| joined(count, "!k"))),
    (&SUBSCRIPTION, "namespaceSelector", Limit("labelValues", label_values)),
    (&SUBSCRIPTION, "labelSelector", Limit("selectorBytes", |bytes| filled("a=b", " ", bytes))),
    (&SUBSCRIPTION, "labelSelector", Limit("labelRequirements", |count| joined(count, "!k"))),
    (&SUBSCRIPTION, "labelSelector", Limit("labelValues", label_values)),
    (&SUBSCRIPTION, "fieldSelector", Limit("selectorBytes", |bytes| filled("a.b=", "c", bytes))),
    (&SUBSCRIPTION, "fieldSelector", Limit("fieldRequirements", |count| joined(count, "a=b"))),
    (&SUBSCRIPTION, "fieldSelector", Limit("fieldRequirements", names)),
    (&SUBSCRIPTION, "fieldSelector", Limit("fieldSteps", field_steps)),
    (&SUBSCRIPTION, "types", Limit("listEntries", |count| list(count, |_| "added".into()))),
    (&SUBSCRIPTION, "types", OneOf(|| vec![json!(["added", "updated", "deleted"]), json!([])])),
    (
        &SUBSCRIPTION,
        "replay",
        OneOf(|| vec!["initial".into(), "initial-and-reload".into(), "never".into()]),
    ),
    (&SUBSCRIPTION, "delivery", OneOf(|| vec!["full".into(), "metadata".into(), "lazy".into()])),
    (&SUBSCRIPTION, "withOld", OneOf(|| vec![true.into(), false.into()])),
    (&SUBSCRIPTION, "onlyIfChanged", Limit("pointersPerSubscription", pointers)),
    (&SUBSCRIPTION, "onlyIfChanged", Limit("pointerBytes", |bytes| json!([pointer(bytes)]))),
    (&SUBSCRIPTION, "onlyIfChanged", Limit("pointerSteps", |count| json!([steps(count)]))),
    (&SUBSCRIPTION, "filter", Limit("filterBytes", |bytes| filled("true", " ", bytes))),
    (&SUBSCRIPTION, "resyncPeriod", Limit("durationBytes", duration)),
    (&SUBSCRIPTION, "enqueue", Limit("enqueueRules", |count| list(count, |_| "self".into()))),
    (&RULE, "self", OneOf(|| vec![true.into()])),
    (&RULE, "owner", Limit("enqueueTextBytes", |bytes| filled("v1/", "K", bytes))),
    (&RULE, "pointer", Limit("pointerBytes", pointer)),
    (&RULE, "pointer", Limit("pointerSteps", steps)),
    (&RULE, "namespace", Limit("pointerBytes", pointer)),
    (&RULE, "namespace", Limit("pointerSteps", steps)),
    (&RULE, "namespace", OneOf(|| vec!["object".into(), "none".into()])),
    (&RULE, "prefix", Limit("enqueueTextBytes", text)),
    (&INDEX, "resource", Limit("nameBytes", resource)),
    (&INDEX, "name", Limit("nameBytes", text)),
    (&INDEX, "pointer", Limit("pointerBytes", pointer)),
    (&INDEX, "pointer", Limit("pointerSteps", steps)),
    (&READ, "resource", Limit("nameBytes", resource)),
    (&READ, "namespaces", Limit("namespacesPerView", namespaces)),
    (&READ, "namespaces", Own(63, "at most 63 are", namespace)),
    (&READ, "namespaceSelector", Limit("selectorBytes", |bytes| filled("a=b", " ", bytes))),
    (&READ, "namespaceSelector", Limit("labelRequirements", |count| joined(count, "!k"))),
    (&READ, "namespaceSelector", Limit("labelValues", label_values)),
    (&WRITE, "resource", Limit("nameBytes", resource)),
    (&WRITE, "verbs", Limit("listEntries", |count| list(count, |_| "patch".into()))),
    (&WRITE, "verbs", OneOf(|| vec![json!(["create", "update", "patch", "delete"])])),
    (&WRITE, "namespaces", Limit("namespacesPerView", namespaces)),
    (&WRITE, "namespaces", Own(63, "at most 63 are", namespace)),
    (&HTTP, "origins", Limit("listEntries", origins)),
    (&HTTP, "origins", Limit("httpOriginBytes", origin)),
    (&HTTP, "methods", Limit("listEntries", |count| list(count, |_| "GET".into()))),
    (&HTTP, "methods", OneOf(|| vec![json!(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])])),
    (
        &HTTP,
        "paths",
        Limit("listEntries", |count| list(count, |number| format!("/{number}").into())),
    ),
    (&HTTP, "paths", Limit("httpPathBytes", |bytes| json!([pointer(bytes)]))),
    (&HTTP, "addresses", Limit("listEntries", |count| list(count, |_| "public".into()))),
    (&HTTP, "addresses", OneOf(|| vec![json!(["public", "private", "loopback"])])),
    (&SCHEDULE, "name", Limit("nameBytes", text)),
    (&SCHEDULE, "cron", Limit("cronBytes", |bytes| filled("0 0 * * *", " ", bytes))),
    (&SCHEDULE, "every", Limit("durationBytes", duration)),
];

fn text(bytes: usize) -> Value {
    "x".repeat(bytes).into()
}

/// A text that begins so and goes on with a character, to so many bytes.
fn filled(begin: &str, with: &str, bytes: usize) -> Value {
    [begin, &with.repeat(bytes.saturating_sub(begin.len()))].concat().into()
}

fn list(count: usize, entry: impl Fn(usize) -> Value) -> Value {
    (0..count).map(entry).collect()
}

/// `k0,k1,k2`, or the same with something else for the `k`.
fn joined(count: usize, begin: &str) -> Value {
    let parts: Vec<String> = (0..count).map(|number| format!("{begin}{number}")).collect();
    parts.join(",").into()
}

fn resources(count: usize) -> Value {
    list(count, |number| json!({"resource": format!("v1/r{number}")}))
}

fn indexes(count: usize) -> Value {
    list(
        count,
        |number| json!({"resource": "v1/pods", "name": number.to_string(), "pointer": "/a"}),
    )
}

fn schedules(count: usize) -> Value {
    list(count, |number| json!({"name": number.to_string(), "every": "1s"}))
}

fn resource(bytes: usize) -> Value {
    filled("v1/", "p", bytes)
}

fn namespaces(count: usize) -> Value {
    list(count, |number| format!("n{number}").into())
}

fn namespace(bytes: usize) -> Value {
    json!([text(bytes)])
}

fn label_values(count: usize) -> Value {
    let values = joined(count, "v");
    format!("k in ({})", values.as_str().unwrap_or_default()).into()
}

fn names(count: usize) -> Value {
    joined(count, "metadata.name!=n")
}

fn field_steps(count: usize) -> Value {
    format!("{}=x", vec!["a"; count].join(".")).into()
}

fn pointers(count: usize) -> Value {
    list(count, |number| format!("/a{number}").into())
}

fn pointer(bytes: usize) -> Value {
    filled("/", "x", bytes)
}

fn steps(count: usize) -> Value {
    "/a".repeat(count).into()
}

/// An hour.
fn duration(bytes: usize) -> Value {
    let zeros = |count: usize| "0".repeat(count);
    let half = bytes / 2;
    format!("{}1h{}m", zeros(half.saturating_sub(2)), zeros((bytes - half).saturating_sub(1)))
        .into()
}

fn origins(count: usize) -> Value {
    list(count, |number| format!("https://a{number}.org").into())
}

/// With labels of 63 bytes.
fn origin(bytes: usize) -> Value {
    let (begin, end) = ("https://*.", ":65535");
    let host = (1..=bytes.saturating_sub(begin.len() + end.len()))
        .map(|at| if at % 64 == 0 { '.' } else { 'a' });
    json!([format!("{begin}{}{end}", host.collect::<String>())])
}
