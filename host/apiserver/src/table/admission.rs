//! Admission: webhooks, policies and their bindings; API services.

use serde_json::Value;

use super::column::{AGE, NAME, Printer, integer, text as column};
use super::format::{UNSET, condition, entries, name, selector, text};
use super::human_duration::age;

pub(super) fn printer(group: &str, resource: &str) -> Option<&'static Printer> {
    match (group, resource) {
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => Some(&WEBHOOKS),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => Some(&VALIDATING),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => Some(&MUTATING),
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings",
        ) => Some(&BINDINGS),
        ("apiregistration.k8s.io", "apiservices") => Some(&API_SERVICES),
        _ => None,
    }
}

static WEBHOOKS: Printer = Printer::new(
    &[NAME, integer("Webhooks", "how many webhooks there are"), AGE],
    |object, now| vec![name(object), entries(&object["webhooks"]).len().into(), age(object, now)],
);

static VALIDATING: Printer = Printer::new(
    &[
        NAME,
        integer("Validations", "how many rules there are"),
        column("ParamKind", "the kind of the policy's parameters"),
        AGE,
    ],
    |object, now| {
        let rules = entries(&object["spec"]["validations"]).len();
        vec![name(object), rules.into(), param_kind(object), age(object, now)]
    },
);

static MUTATING: Printer = Printer::new(
    &[
        NAME,
        integer("Mutations", "how many changes are made"),
        column("ParamKind", "the kind of the policy's parameters"),
        AGE,
    ],
    |object, now| {
        let changes = entries(&object["spec"]["mutations"]).len();
        vec![name(object), changes.into(), param_kind(object), age(object, now)]
    },
);

fn param_kind(policy: &Value) -> Value {
    let kind = &policy["spec"]["paramKind"];
    match kind.is_object() {
        true => format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])).into(),
        false => UNSET.into(),
    }
}

static BINDINGS: Printer = Printer::new(
    &[
        NAME,
        column("PolicyName", "the policy that is bound"),
        column("ParamRef", "the parameters that it gets"),
        AGE,
    ],
    |object, now| {
        let reference = &object["spec"]["paramRef"];
        let parameters = match (text(&reference["namespace"]), text(&reference["name"])) {
            (_, "") if reference["selector"].is_object() => selector(&reference["selector"]),
            (_, "") => UNSET.to_owned(),
            ("", name) => format!("*/{name}"),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        vec![
            name(object),
            text(&object["spec"]["policyName"]).into(),
            parameters.into(),
            age(object, now),
        ]
    },
);

static API_SERVICES: Printer = Printer::new(
    &[
        NAME,
        column("Service", "who serves this version"),
        column("Available", "whether it is served"),
        AGE,
    ],
    |object, now| {
        let service = &object["spec"]["service"];
        let service = match service.is_object() {
            true => format!("{}/{}", text(&service["namespace"]), text(&service["name"])),
            false => "Local".to_owned(),
        };
        let available = condition(object, "Available").map_or("Unknown".to_owned(), |condition| {
            match (text(&condition["status"]), text(&condition["reason"])) {
                ("True", _) => "True".to_owned(),
                (status, reason) => format!("{status} ({reason})"),
            }
        });
        vec![name(object), service.into(), available.into(), age(object, now)]
    },
);
