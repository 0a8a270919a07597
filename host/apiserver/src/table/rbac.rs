//! Who may do what: bindings and certificate requests. Roles have no columns of their own upstream either.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::column::{AGE, NAME, Printer, text as column};
use super::format::{NONE, entries, name, text, text_or};
use super::human_duration::{age, human_duration};

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => Some(&BINDINGS),
        ("certificates.k8s.io", "certificatesigningrequests") => Some(&SIGNING_REQUESTS),
        _ => None,
    }
}

static BINDINGS: Printer = Printer::new(
    &[
        NAME,
        column("Role", "the role that is granted"),
        AGE,
        column("Users", "the users that it is granted to").wide(),
        column("Groups", "the groups that it is granted to").wide(),
        column("ServiceAccounts", "the service accounts that it is granted to").wide(),
    ],
    binding_cells,
);

fn binding_cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| -> Value {
        let some = entries(&object["subjects"]).iter().filter(|subject| subject["kind"] == kind);
        let names = some.map(|subject| match text(&subject["namespace"]) {
            "" => text(&subject["name"]).to_owned(),
            namespace => format!("{namespace}/{}", text(&subject["name"])),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    vec![
        name(object),
        format!("{}/{}", text(&role["kind"]), text(&role["name"])).into(),
        age(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

static SIGNING_REQUESTS: Printer = Printer::new(
    &[
        NAME,
        AGE,
        column("SignerName", "who is to sign"),
        column("Requestor", "who asks for it"),
        column("RequestedDuration", "how long the certificate is to be valid"),
        column("Condition", "how far the request is"),
    ],
    |object, now| {
        let spec = &object["spec"];
        let duration = spec["expirationSeconds"].as_i64().map(SignedDuration::from_secs);
        vec![
            name(object),
            age(object, now),
            text_or(&spec["signerName"], NONE).into(),
            text(&spec["username"]).into(),
            duration.map_or(NONE.to_owned(), human_duration).into(),
            request_status(&object["status"]).into(),
        ]
    },
);

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
