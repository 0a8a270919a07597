//! The service account of a plugin. The plugin's writes are made in its name, and the plugin reads only what the
//! account may read.

use crate::names::{is_namespace, is_subdomain};
use std::fmt;
use std::str::FromStr;

/// A service account of the cluster, written `NAMESPACE/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

impl ServiceAccount {
    /// The account's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The account's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The account's user name for an API server.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups of this user.
    pub fn groups(&self) -> [String; 3] {
        let of_namespace = format!("system:serviceaccounts:{}", self.namespace);
        ["system:serviceaccounts".to_owned(), of_namespace, "system:authenticated".to_owned()]
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ServiceAccount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let is_one =
            |(namespace, name): &(&str, &str)| is_namespace(namespace) && is_subdomain(name);
        let (namespace, name) = parts.filter(is_one).ok_or_else(|| {
            format!("{text:?} is no service account: write it as NAMESPACE/NAME, as shop/labeller")
        })?;
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_namespace_and_a_name_and_nothing_else() {
        let account: ServiceAccount = "shop/labeller.v2".parse().expect("it is one");
        assert_eq!(account.user(), "system:serviceaccount:shop:labeller.v2");
        let groups =
            ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
        assert_eq!(account.groups(), groups);
        assert_eq!(account.to_string(), "shop/labeller.v2");
        for wrong in ["", "a", "/a", "a/", "a/b/c", "A/b", "a/B", "a:b/c", "a/b:c", "a/..", "a\n/b"]
        {
            assert!(wrong.parse::<ServiceAccount>().is_err(), "{wrong:?}");
        }
    }
}
