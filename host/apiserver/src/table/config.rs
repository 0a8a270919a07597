//! Configuration: ConfigMaps, Secrets, service accounts, quotas, leases.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, column};
use super::format::{members, plain, text, text_or};

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[("", "configmaps")], &[
        NAME,
        column("Data", "how many entries it has", |it| (members(&it["data"]) + members(&it["binaryData"])).into()),
        AGE,
    ]),
    Printer::new(&[("", "secrets")], &[
        NAME,
        column("Type", "what the secret is for", |it| text_or(&it["type"], "Opaque").into()),
        column("Data", "how many entries it has", |it| members(&it["data"]).into()),
        AGE,
    ]),
    Printer::new(&[("", "serviceaccounts")], &[NAME, AGE]),
    Printer::new(&[("", "resourcequotas")], &[
        NAME,
        column("Request", "how much of what may be requested is used", |it| quota_usage(&it["status"], false).into()),
        column("Limit", "how much of what may be a limit is used", |it| quota_usage(&it["status"], true).into()),
        AGE,
    ]),
    Printer::new(&[("coordination.k8s.io", "leases")], &[
        NAME,
        column("Holder", "who holds the lease", |it| text(&it["spec"]["holderIdentity"]).into()),
        AGE,
    ]),
    Printer::new(&[("coordination.k8s.io", "leasecandidates")], &[
        NAME,
        column("LeaseName", "the lease that it stands for", |it| text(&it["spec"]["leaseName"]).into()),
        column("BinaryVersion", "the candidate's version", |it| text(&it["spec"]["binaryVersion"]).into()),
        column("EmulationVersion", "the version that it behaves as", |it| text(&it["spec"]["emulationVersion"]).into()),
        AGE,
    ]),
];

/// `name: used/hard` of each resource, sorted: of requests, or of limits.
fn quota_usage(status: &Value, limits: bool) -> String {
    let hard = status["hard"].as_object().into_iter().flatten();
    let mut all: Vec<(&String, &Value)> = hard.collect();
    all.sort_by_key(|(name, _)| *name);
    let some = all.iter().filter(|(name, _)| name.starts_with("limits.") == limits);
    let texts = some.map(|(name, hard)| {
        let used = &status["used"][name.as_str()];
        format!("{name}: {}/{}", text_or(used, "0"), plain(hard))
    });
    texts.collect::<Vec<_>>().join(", ")
}
