//! The headers and addresses that the rules grant for one request.

use super::{AddressKinds, SecretHeader};

/// The headers and addresses that the rules grant for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedRequest {
    pub(crate) addresses: AddressKinds,
    pub(crate) secrets: Vec<SecretHeader>,
}

impl GrantedRequest {
    /// The part that both grant.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.addresses = self.addresses.and(&other.addresses);
        self.secrets.retain(|secret| other.secrets.contains(secret));
        self
    }
}
