//! Reviews: this cluster has one user with all rights. Tests can forbid other users something.

use crate::faults::Faults;
use serde_json::{Value, json};

/// The name of the cluster's only user.
const USER: &str = "devcluster-admin";
/// A token is this and the name of its user. Every other token is of no user.
const TOKEN: &str = "token-of-";

/// The answer to a created review. `None` if the kind is not a review.
pub fn answer(kind: &str, mut review: Value, faults: &Faults) -> Option<Value> {
    let user = json!({"username": USER, "groups": ["system:masters", "system:authenticated"]});
    review["status"] = match kind {
        "SelfSubjectAccessReview" => everything(),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access(&review["spec"], faults),
        "SelfSubjectReview" => json!({"userInfo": user}),
        "TokenReview" => token(&review["spec"], faults),
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        _ => return None,
    };
    Some(review)
}

/// The user of a token, until a test has forbidden it `tokenreviews`.
fn token(spec: &Value, faults: &Faults) -> Value {
    let name = spec["token"].as_str().and_then(|token| token.strip_prefix(TOKEN));
    match name.filter(|name| !faults.forbids(name, "tokenreviews", None)) {
        Some(name) => json!({
            "authenticated": true,
            "user": {"username": name, "groups": ["system:authenticated"]},
        }),
        None => json!({"authenticated": false, "error": "a token is token-of-USER here"}),
    }
}

fn everything() -> Value {
    json!({"allowed": true, "reason": "everything is allowed here"})
}

/// The rights of another user. There are no roles: a user has all rights except those that [`Faults::forbid`] takes
/// away.
fn access(spec: &Value, faults: &Faults) -> Value {
    let asked = &spec["resourceAttributes"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let path = &spec["nonResourceAttributes"]["path"];
    let resource = if path.is_null() { &asked["resource"] } else { path };
    let (user, resource) = (text(&spec["user"]), text(resource));
    let namespace = asked["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    match faults.forbids(&user, &resource, namespace) {
        true => json!({"allowed": false, "reason": format!("{resource} was forbidden to {user}")}),
        false => everything(),
    }
}
