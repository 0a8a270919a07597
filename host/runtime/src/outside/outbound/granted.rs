//! What the rules have for one request.

use super::{AddressKinds, SecretHeader};

/// What the rules have for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedRequest {
    pub(crate) addresses: AddressKinds,
    pub(crate) secrets: Vec<SecretHeader>,
}

impl GrantedRequest {
    /// What both have.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.addresses = self.addresses.and(&other.addresses);
        self.secrets.retain(|secret| other.secrets.contains(secret));
        self
    }
}
