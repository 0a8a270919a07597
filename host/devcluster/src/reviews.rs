//! Reviews: this cluster knows one user, who may do everything.

use serde_json::{Value, json};

/// The user that everybody is.
const USER: &str = "devcluster-admin";

/// The answer to a created review; `None` if the kind is none.
pub fn answer(kind: &str, mut review: Value) -> Option<Value> {
    let user = json!({"username": USER, "groups": ["system:masters", "system:authenticated"]});
    review["status"] = match kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            json!({"allowed": true, "reason": "everything is allowed here"})
        }
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
