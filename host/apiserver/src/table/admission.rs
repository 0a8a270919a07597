//! Admission: webhooks, policies and their bindings; API services.

use super::column::{AGE, NAME, Printer, column, integer};
use super::format::{UNSET, condition, entries, selector, text};
use serde_json::Value;

const GROUP: &str = "admissionregistration.k8s.io";

#[rustfmt::skip]
pub(super) static PRINTERS: &[Printer] = &[
    Printer::new(&[(GROUP, "validatingwebhookconfigurations"), (GROUP, "mutatingwebhookconfigurations")], &[
        NAME,
        integer("Webhooks", "how many webhooks there are", |it| entries(&it["webhooks"]).len().into()),
        AGE,
    ]),
    Printer::new(&[(GROUP, "validatingadmissionpolicies")], &[
        NAME,
        integer("Validations", "how many rules there are", |it| entries(&it["spec"]["validations"]).len().into()),
        column("ParamKind", "the kind of the policy's parameters", param_kind),
        AGE,
    ]),
    Printer::new(&[(GROUP, "mutatingadmissionpolicies")], &[
        NAME,
        integer("Mutations", "how many changes are made", |it| entries(&it["spec"]["mutations"]).len().into()),
        column("ParamKind", "the kind of the policy's parameters", param_kind),
        AGE,
    ]),
    Printer::new(&[(GROUP, "validatingadmissionpolicybindings"), (GROUP, "mutatingadmissionpolicybindings")], &[
        NAME,
        column("PolicyName", "the policy that is bound", |it| text(&it["spec"]["policyName"]).into()),
        column("ParamRef", "the parameters that it gets", |it| parameters(&it["spec"]["paramRef"]).into()),
        AGE,
    ]),
    Printer::new(&[("apiregistration.k8s.io", "apiservices")], &[
        NAME,
        column("Service", "who serves this version", |it| service(&it["spec"]["service"]).into()),
        column("Available", "whether it is served", |it| available(it).into()),
        AGE,
    ]),
];

fn param_kind(policy: &Value) -> Value {
    let kind = &policy["spec"]["paramKind"];
    match kind.is_object() {
        true => format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])).into(),
        false => UNSET.into(),
    }
}

fn parameters(reference: &Value) -> String {
    match (text(&reference["namespace"]), text(&reference["name"])) {
        (_, "") if reference["selector"].is_object() => selector(&reference["selector"]),
        (_, "") => UNSET.to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn service(service: &Value) -> String {
    match service.is_object() {
        true => format!("{}/{}", text(&service["namespace"]), text(&service["name"])),
        false => "Local".to_owned(),
    }
}

fn available(service: &Value) -> String {
    condition(service, "Available").map_or("Unknown".to_owned(), |condition| {
        match (text(&condition["status"]), text(&condition["reason"])) {
            ("True", _) => "True".to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        }
    })
}
