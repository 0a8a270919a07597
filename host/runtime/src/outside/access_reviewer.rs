//! Reviews of service accounts' permissions, which the surrounding program makes.

use crate::outside::service_account::ServiceAccount;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;

/// Asks an API server for a user's permissions: a `SubjectAccessReview`.
pub trait AccessReviewer: Send + Sync + 'static {
    /// Returns the answer, or the reason why there is none. The future is polled within the runtime of the plugin
    /// host; dropping it cancels the review.
    fn review(&self, review: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>>;
}

/// A question: whether this account may use the verb on all objects of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessReview {
    /// The account.
    pub account: ServiceAccount,
    /// `list` or `watch`.
    pub verb: &'static str,
    /// The resource.
    pub resource: GroupVersionResource,
    /// The namespace; `None`: all namespaces.
    pub namespace: Option<String>,
}

/// The answer of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessAnswer {
    /// The account may.
    Allowed,
    /// The account may not. The text is the API server's, and may be empty.
    Denied(String),
}

/// For a host without a cluster: there is no answer.
#[derive(Debug, Clone, Copy)]
pub struct NoReviews;

impl AccessReviewer for NoReviews {
    fn review(&self, _: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let text = "this host has no cluster to ask".to_owned();
        Box::pin(std::future::ready(Err(text)))
    }
}
