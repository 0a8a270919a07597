//! The names of an object, made fit for lines, errors and pages.

use crate::one_line::one_line;
use informant_cache::Object;
use std::borrow::Cow;
use std::fmt;

/// The most bytes of a name: those of a DNS subdomain, the longest name of nearly all resources. Names of roles have no
/// bound but that of their request, so that one object has lines of a megabyte. No Kubernetes Event is about a longer name:
/// thousands wait or are known as series. A cut name ends with ` … (N bytes more)`.
pub(crate) const NAME_BYTES_MAX: usize = 253;

/// An object in a line of the host, in an error or in a list. All names of objects pass here on their way to those, so
/// that no text there is as long as an object.
#[derive(Debug)]
pub(crate) struct ShownObject<'a> {
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) resource_version: Cow<'a, str>,
}

impl<'a> From<&'a Object> for ShownObject<'a> {
    fn from(object: &'a Object) -> Self {
        let key = object.key();
        let texts = [key.namespace(), key.name(), object.resource_version()];
        let [namespace, name, resource_version] = texts.map(|text| one_line(text, NAME_BYTES_MAX));
        Self { namespace, name, resource_version }
    }
}

impl ShownObject<'_> {
    /// The bytes of the texts together.
    pub(crate) fn bytes(&self) -> usize {
        self.namespace.len() + self.name.len() + self.resource_version.len()
    }
}

/// As a key: `shop/cart`, or `cart` without a namespace.
impl fmt::Display for ShownObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_cache::ObjectKey;

    #[track_caller]
    fn check(key: &ObjectKey, expect: &str) {
        let (namespace, name) = (key.namespace(), key.name());
        let json = format!(
            r#"{{"apiVersion":"v1","kind":"Role","metadata":{{"namespace":"{namespace}","name":"{name}","resourceVersion":"7"}}}}"#
        );
        let object = Object::decode(json.as_bytes(), None).expect("an object");
        let shown = ShownObject::from(&object);
        assert_eq!(shown.to_string(), expect);
        let slash = usize::from(!namespace.is_empty());
        assert_eq!(shown.bytes(), expect.len() - slash + "7".len());
    }

    #[test]
    fn a_name_of_any_length_is_cut_and_says_so() {
        check(&ObjectKey::new("shop", "cart"), "shop/cart");
        check(&ObjectKey::new("", "system:node"), "system:node");
        let longest = "n".repeat(NAME_BYTES_MAX);
        check(&ObjectKey::new("", &longest), &longest);
        let long = ObjectKey::new("shop", "n".repeat(900_000));
        check(&long, &format!("shop/{longest} … (899747 bytes more)"));
    }
}
