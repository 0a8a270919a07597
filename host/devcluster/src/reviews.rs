//! Reviews: this cluster has one user with all rights. Tests can forbid other users something.

use crate::faults::Faults;
use serde_json::{Value, json};

/// The name of the cluster's only user.
const USER: &str = "devcluster-admin";

/// The answer to a created review. `None` if the kind is not a review.
pub fn answer(kind: &str, mut review: Value, faults: &Faults) -> Option<Value> {
    let user = json!({"username": USER, "groups": ["system:masters", "system:authenticated"]});
    review["status"] = match kind {
        "SelfSubjectAccessReview" => everything(),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => access(&review["spec"], faults),
        "SelfSubjectReview" => json!({"userInfo": user}),
        "TokenReview" => json!({"authenticated": true, "user": user}),
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        _ => return None,
    };
    Some(review)
}

fn everything() -> Value {
    json!({"allowed": true, "reason": "everything is allowed here"})
}

/// The rights of another user. There are no roles: a user has all rights except those that [`Faults::forbid`] takes
/// away.
fn access(spec: &Value, faults: &Faults) -> Value {
    let asked = &spec["resourceAttributes"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (user, resource) = (text(&spec["user"]), text(&asked["resource"]));
    let namespace = asked["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    match faults.forbids(&user, &resource, namespace) {
        true => json!({"allowed": false, "reason": format!("{resource} was forbidden to {user}")}),
        false => everything(),
    }
}
