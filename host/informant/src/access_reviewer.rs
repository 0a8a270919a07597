//! Asks the API server for the permissions of service accounts, with one `SubjectAccessReview` for each question.
//! `host/runtime` decides when to ask, and interprets the answers.

use crate::cluster_writer::with_causes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Request;
use http::header::CONTENT_TYPE;
use informant_runtime::{AccessAnswer, AccessReview, AccessReviewer};
use serde::Deserialize;
use serde_json::json;

const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The API server, through the client that reads from it.
pub(crate) struct ApiServerReviewer {
    client: kube::Client,
}

impl ApiServerReviewer {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client }
    }
}

impl AccessReviewer for ApiServerReviewer {
    fn review(&self, review: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let client = self.client.clone();
        async move {
            let body = body(&review);
            let request = Request::post(PATH).header(CONTENT_TYPE, "application/json").body(body);
            let request = request.map_err(|error| error.to_string())?;
            let answer: Review = client.request(request).await.map_err(|error| problem(&error))?;
            answer.status.answer()
        }
        .boxed()
    }
}

/// The body of a review's request.
fn body(review: &AccessReview) -> Vec<u8> {
    let AccessReview { account, verb, resource, namespace } = review;
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account.user(),
            "groups": account.groups(),
            "resourceAttributes": {
                "verb": verb,
                "group": resource.group,
                "version": resource.version,
                "resource": resource.resource,
                // Without a namespace the review asks for all namespaces at once.
                "namespace": namespace.as_deref().unwrap_or_default(),
            },
        },
    });
    body.to_string().into_bytes()
}

#[derive(Deserialize)]
struct Review {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    allowed: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    evaluation_error: String,
}

impl Status {
    /// A review that is not allowed but has an evaluation error is an error: the API server could not decide.
    fn answer(self) -> Result<AccessAnswer, String> {
        match (self.allowed, self.evaluation_error) {
            (true, _) => Ok(AccessAnswer::Allowed),
            (false, error) if self.denied || error.is_empty() => {
                Ok(AccessAnswer::Denied(self.reason))
            }
            (false, error) => Err(error),
        }
    }
}

fn problem(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 403 => format!(
            "the host's own user may not ask (`informant rbac` prints what it needs): {}",
            status.message
        ),
        kube::Error::Api(status) => format!("{} {}", status.code, status.message),
        error => with_causes(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_question_names_the_user_its_groups_and_the_scope() {
        let review = |namespace: Option<&str>| {
            let review = AccessReview {
                account: "shop/labeller".parse().expect("it is one"),
                verb: "watch",
                resource: "apps/v1/deployments".parse().expect("it is one"),
                namespace: namespace.map(str::to_owned),
            };
            serde_json::from_slice::<Value>(&body(&review)).expect("it is JSON")["spec"].take()
        };
        let spec = review(Some("a"));
        assert_eq!(spec["user"], "system:serviceaccount:shop:labeller");
        let groups =
            ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
        assert_eq!(spec["groups"], json!(groups));
        let expect = json!({
            "verb": "watch", "group": "apps", "version": "v1", "resource": "deployments", "namespace": "a",
        });
        assert_eq!(spec["resourceAttributes"], expect);
        assert_eq!(review(None)["resourceAttributes"]["namespace"], "");
    }

    #[track_caller]
    fn check(status: &str, expect: Result<AccessAnswer, &str>) {
        let text = format!(r#"{{"status":{status}}}"#);
        let review: Review = serde_json::from_str(&text).expect("it is well formed");
        assert_eq!(review.status.answer(), expect.map_err(str::to_owned), "{status}");
    }

    #[test]
    fn only_what_is_said_to_be_allowed_is_allowed() {
        check(r#"{"allowed":true,"reason":"RBAC"}"#, Ok(AccessAnswer::Allowed));
        check(r#"{"allowed":false}"#, Ok(AccessAnswer::Denied(String::new())));
        check(
            r#"{"allowed":false,"denied":true,"reason":"no"}"#,
            Ok(AccessAnswer::Denied("no".to_owned())),
        );
        check("{}", Ok(AccessAnswer::Denied(String::new())));
        check(r#"{"allowed":false,"evaluationError":"webhook down"}"#, Err("webhook down"));
        let both = r#"{"denied":true,"reason":"no","evaluationError":"webhook down"}"#;
        check(both, Ok(AccessAnswer::Denied("no".to_owned())));
        // RBAC answers so if it does not find one role and another role allows the request.
        check(r#"{"allowed":true,"evaluationError":"role not found"}"#, Ok(AccessAnswer::Allowed));
    }
}
