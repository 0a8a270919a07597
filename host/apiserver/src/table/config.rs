//! Configuration: ConfigMaps, Secrets, service accounts, quotas, leases.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, text as column};
use super::format::{members, name, plain, text, text_or};
use super::human_duration::age;

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("", "configmaps") => Some(&CONFIG_MAPS),
        ("", "secrets") => Some(&SECRETS),
        ("", "serviceaccounts") => Some(&SERVICE_ACCOUNTS),
        ("", "resourcequotas") => Some(&RESOURCE_QUOTAS),
        ("coordination.k8s.io", "leases") => Some(&LEASES),
        ("coordination.k8s.io", "leasecandidates") => Some(&LEASE_CANDIDATES),
        _ => None,
    }
}

static CONFIG_MAPS: Printer =
    Printer::new(&[NAME, column("Data", "how many entries it has"), AGE], |object, now| {
        let entries = members(&object["data"]) + members(&object["binaryData"]);
        vec![name(object), entries.into(), age(object, now)]
    });

static SECRETS: Printer = Printer::new(
    &[
        NAME,
        column("Type", "what the secret is for"),
        column("Data", "how many entries it has"),
        AGE,
    ],
    |object, now| {
        vec![
            name(object),
            text_or(&object["type"], "Opaque").into(),
            members(&object["data"]).into(),
            age(object, now),
        ]
    },
);

static SERVICE_ACCOUNTS: Printer =
    Printer::new(&[NAME, AGE], |object, now| vec![name(object), age(object, now)]);

static RESOURCE_QUOTAS: Printer = Printer::new(
    &[
        NAME,
        column("Request", "how much of what may be requested is used"),
        column("Limit", "how much of what may be a limit is used"),
        AGE,
    ],
    |object, now| {
        let [requests, limits] = quota_usage(&object["status"]);
        vec![name(object), requests.into(), limits.into(), age(object, now)]
    },
);

/// `name: used/hard` of each resource, sorted: requests, then limits.
fn quota_usage(status: &Value) -> [String; 2] {
    let hard = status["hard"].as_object().into_iter().flatten();
    let mut all: Vec<(&String, &Value)> = hard.collect();
    all.sort_by_key(|(name, _)| *name);
    [false, true].map(|limits| {
        let some = all.iter().filter(|(name, _)| name.starts_with("limits.") == limits);
        let texts = some.map(|(name, hard)| {
            let used = &status["used"][name.as_str()];
            format!("{name}: {}/{}", text_or(used, "0"), plain(hard))
        });
        texts.collect::<Vec<_>>().join(", ")
    })
}

static LEASES: Printer =
    Printer::new(&[NAME, column("Holder", "who holds the lease"), AGE], |object, now| {
        vec![name(object), text(&object["spec"]["holderIdentity"]).into(), age(object, now)]
    });

static LEASE_CANDIDATES: Printer = Printer::new(
    &[
        NAME,
        column("LeaseName", "the lease that it stands for"),
        column("BinaryVersion", "the candidate's version"),
        column("EmulationVersion", "the version that it behaves as"),
        AGE,
    ],
    |object, now| {
        let spec = &object["spec"];
        vec![
            name(object),
            text(&spec["leaseName"]).into(),
            text(&spec["binaryVersion"]).into(),
            text(&spec["emulationVersion"]).into(),
            age(object, now),
        ]
    },
);
