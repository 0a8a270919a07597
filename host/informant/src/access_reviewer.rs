//! Asks the API server for the permissions of service accounts, with one `SubjectAccessReview` for each question.
//! `host/runtime` decides when to ask, and interprets the answers.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use informant_cache::with_causes;
use informant_runtime::{AccessAnswer, AccessReview, AccessReviewer, one_line};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::{Api, PostParams};

/// How the host's own user gets the right to ask for service accounts.
const REMEDY: &str = "`informant rbac` prints what it needs";

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
    fn review(&self, asked: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        review(self.client.clone(), question(asked), REMEDY).boxed()
    }
}

/// The answer to one question. `remedy` helps where the host's own user may not ask.
pub(crate) async fn review(
    client: kube::Client,
    spec: SubjectAccessReviewSpec,
    remedy: &str,
) -> Result<AccessAnswer, String> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let answered = reviews.create(&PostParams::default(), &review).await;
    let answered = answered.map_err(|error| problem(&error, remedy))?;
    answer(answered.status.unwrap_or_default())
}

fn question(asked: AccessReview) -> SubjectAccessReviewSpec {
    let AccessReview { account, verb, resource, namespace } = asked;
    SubjectAccessReviewSpec {
        user: Some(account.user()),
        groups: Some(account.groups().into()),
        resource_attributes: Some(ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some(resource.group),
            version: Some(resource.version),
            resource: Some(resource.resource),
            // Without one it is asked for all of them at once.
            namespace,
            ..ResourceAttributes::default()
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

/// Bytes of a reason or an error that are kept: an answer of the API server has up to 8 MiB, and thousands are kept.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// A right that is neither allowed nor denied, with an error, is unknown: an authorizer could not decide. One that is both
/// is denied (k8s.io/apiserver, `plugin/pkg/authorizer/webhook`).
fn answer(status: SubjectAccessReviewStatus) -> Result<AccessAnswer, String> {
    let [error, reason] = [status.evaluation_error, status.reason].map(|text| {
        let text = text.unwrap_or_default();
        one_line(&text, TEXT_BYTES_MAX).into_owned()
    });
    match (status.allowed, status.denied == Some(true)) {
        (true, false) => Ok(AccessAnswer::Allowed),
        (false, false) if !error.is_empty() => Err(error),
        (true, true) | (false, _) => Ok(AccessAnswer::Denied(reason)),
    }
}

/// The text of a question that was not answered.
pub(crate) fn problem(error: &kube::Error, remedy: &str) -> String {
    match error {
        kube::Error::Api(status) => {
            let message = one_line(&status.message, TEXT_BYTES_MAX);
            match status.code {
                403 => format!("the host's own user may not ask ({remedy}): {message}"),
                code => format!("{code} {message}"),
            }
        }
        error => one_line(&with_causes(error), TEXT_BYTES_MAX).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_question_names_the_user_its_groups_and_the_scope() {
        let review = |namespace: Option<&str>| {
            let review = AccessReview {
                account: "shop/labeller".parse().expect("it is one"),
                verb: "watch",
                resource: "apps/v1/deployments".parse().expect("it is one"),
                namespace: namespace.map(str::to_owned),
            };
            serde_json::to_value(question(review)).expect("it is JSON")
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
        assert_eq!(review(None)["resourceAttributes"]["namespace"], Value::Null);
    }

    #[track_caller]
    fn check(status: &str, expect: Result<AccessAnswer, &str>) {
        let parsed = serde_json::from_str(status).expect("it is well formed");
        assert_eq!(answer(parsed), expect.map_err(str::to_owned), "{status}");
    }

    #[test]
    fn only_what_is_said_to_be_allowed_is_allowed() {
        check(r#"{"allowed":true,"reason":"RBAC"}"#, Ok(AccessAnswer::Allowed));
        check(r#"{"allowed":false}"#, Ok(AccessAnswer::Denied(String::new())));
        check(
            r#"{"allowed":false,"denied":true,"reason":"no"}"#,
            Ok(AccessAnswer::Denied("no".to_owned())),
        );
        check(r#"{"allowed":false,"evaluationError":"webhook down"}"#, Err("webhook down"));
        let both =
            r#"{"allowed":false,"denied":true,"reason":"no","evaluationError":"webhook down"}"#;
        check(both, Ok(AccessAnswer::Denied("no".to_owned())));
        let both = r#"{"allowed":true,"denied":true,"reason":"no"}"#;
        check(both, Ok(AccessAnswer::Denied("no".to_owned())));
        let long = format!(r#"{{"allowed":false,"reason":"{}"}}"#, "x".repeat(1 << 20));
        let Ok(AccessAnswer::Denied(kept)) = answer(serde_json::from_str(&long).expect("JSON"))
        else {
            panic!("it is denied");
        };
        assert!((1..2 * TEXT_BYTES_MAX).contains(&kept.len()), "{} bytes", kept.len());
        // RBAC answers so if it does not find one role and another role allows the request.
        check(r#"{"allowed":true,"evaluationError":"role not found"}"#, Ok(AccessAnswer::Allowed));
    }
}
