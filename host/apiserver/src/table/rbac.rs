//! Who may do what: bindings and certificate requests. Roles have no columns of their own upstream either.

use jiff::SignedDuration;
use serde_json::Value;

use super::column::{AGE, NAME, Printer, column};
use super::format::{NONE, entries, text, text_or};
use super::human_duration::human_duration;

const GROUP: &str = "rbac.authorization.k8s.io";

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[(GROUP, "rolebindings"), (GROUP, "clusterrolebindings")], &[
        NAME,
        column("Role", "the role that is granted", |it| role(&it["roleRef"]).into()),
        AGE,
        column("Users", "the users that it is granted to", |it| subjects(it, "User").into()).wide(),
        column("Groups", "the groups that it is granted to", |it| subjects(it, "Group").into()).wide(),
        column("ServiceAccounts", "the service accounts that it is granted to",
            |it| subjects(it, "ServiceAccount").into()).wide(),
    ]),
    Printer::new(&[("certificates.k8s.io", "certificatesigningrequests")], &[
        NAME,
        AGE,
        column("SignerName", "who is to sign", |it| text_or(&it["spec"]["signerName"], NONE).into()),
        column("Requestor", "who asks for it", |it| text(&it["spec"]["username"]).into()),
        column("RequestedDuration", "how long the certificate is to be valid",
            |it| requested(&it["spec"]["expirationSeconds"]).into()),
        column("Condition", "how far the request is", |it| request_status(&it["status"]).into()),
    ]),
];

fn role(role: &Value) -> String {
    format!("{}/{}", text(&role["kind"]), text(&role["name"]))
}

fn subjects(binding: &Value, kind: &str) -> String {
    let some = entries(&binding["subjects"]).iter().filter(|subject| subject["kind"] == kind);
    let names = some.map(|subject| match text(&subject["namespace"]) {
        "" => text(&subject["name"]).to_owned(),
        namespace => format!("{namespace}/{}", text(&subject["name"])),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn requested(seconds: &Value) -> String {
    let duration = seconds.as_i64().map(SignedDuration::from_secs);
    duration.map_or(NONE.to_owned(), human_duration)
}

fn request_status(status: &Value) -> String {
    let has = |kind: &str| entries(&status["conditions"]).iter().any(|c| c["type"] == kind);
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if text(&status["certificate"]).is_empty() { "" } else { ",Issued" };
    format!("{decision}{failed}{issued}")
}
