//! Reviews of what somebody else may read, as the program asks for them that this host is a part of.

use crate::outside::service_account::ServiceAccount;
use futures::future::BoxFuture;
use informant_apimachinery::GroupVersionResource;

/// Asks an API server what a user may do there: a `SubjectAccessReview`.
pub trait AccessReviewer: Send + Sync + 'static {
    /// Answers whether it may, or why nobody could say. It is polled within the runtime that the host of the plugins runs in; dropping the future
    /// gives the review up.
    fn review(&self, review: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>>;
}

/// One question: whether this account may do that with all objects of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessReview {
    /// Who.
    pub account: ServiceAccount,
    /// `list` or `watch`.
    pub verb: &'static str,
    /// What.
    pub resource: GroupVersionResource,
    /// Where; none: everywhere.
    pub namespace: Option<String>,
}

/// What an API server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessAnswer {
    /// It may.
    Allowed,
    /// It may not. The text is the API server's, and may be empty.
    Denied(String),
}

/// For a host that has no cluster to ask: nobody can say anything.
#[derive(Debug, Clone, Copy)]
pub struct NoReviews;

impl AccessReviewer for NoReviews {
    fn review(&self, _: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let text = "this host has no cluster to ask".to_owned();
        Box::pin(std::future::ready(Err(text)))
    }
}
