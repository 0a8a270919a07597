//! Questions to the API server about callers: the user of a token, and the rights of a user.

use super::recent::bytes_of;
use crate::access_reviewer::{problem, review};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use informant_runtime::AccessAnswer;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;
use kube::api::{Api, PostParams};

/// The API server's word on callers.
pub(super) trait CallerReviews: Send + Sync {
    /// The user of a token; None if the token is of no user.
    fn user_of(&self, token: String) -> BoxFuture<'static, Result<Option<UserInfo>, String>>;
    fn may(
        &self,
        question: SubjectAccessReviewSpec,
    ) -> BoxFuture<'static, Result<AccessAnswer, String>>;
}

/// The API server, as the host's own user.
pub(super) struct ApiServerReviews {
    pub(super) client: kube::Client,
}

/// The ClusterRole for both questions, which every cluster has.
const REMEDY: &str = "bind the ClusterRole system:auth-delegator to the host's user";

/// Bytes of a user: each question about a right repeats its groups.
const USER_BYTES_MAX: usize = 64 << 10;

impl CallerReviews for ApiServerReviews {
    fn user_of(&self, token: String) -> BoxFuture<'static, Result<Option<UserInfo>, String>> {
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        async move {
            let spec = TokenReviewSpec { token, audiences: None };
            let review = TokenReview { spec, ..TokenReview::default() };
            let answer = reviews.create(&PostParams::default(), &review).await;
            let answer = answer.map_err(|error| problem(&error, REMEDY))?;
            let status = answer.status.unwrap_or_default();
            let is_user = status.authenticated == Some(true);
            let user = status.user.filter(|_| is_user);
            let bytes = user.as_ref().map_or(0, bytes_of);
            if bytes > USER_BYTES_MAX {
                return Err(format!(
                    "the user of a token has {bytes} bytes of names, groups and extra values, at most {USER_BYTES_MAX} are taken"
                ));
            }
            Ok(user)
        }
        .boxed()
    }

    fn may(
        &self,
        question: SubjectAccessReviewSpec,
    ) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        review(self.client.clone(), question, REMEDY).boxed()
    }
}
