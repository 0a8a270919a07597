//! Names of Kubernetes objects, namespaces and resources: the texts that can be such names.

use informant_apimachinery::GroupVersionResource;
use informant_cache::Part;

/// Whether a namespace can have this name.
pub(crate) fn is_namespace(name: &str) -> bool {
    Part::namespace(name).has_valid_namespace()
}

/// RFC 1123: 1 to 63 lower-case letters, digits and hyphens.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Labels with dots between them, at most 253 bytes together. A label of a name may be longer than a DNS label.
pub(crate) fn is_subdomain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

/// The names of roles and their bindings that need no escapes in a path: `system:node-proxier`, `team@shop:Edit_1`.
pub(crate) fn is_role_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:@".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(inner) && text != "." && text != ".."
}

/// Whether a resource, as text, is Secrets, whose content is kept only in memory.
pub(crate) fn is_of_secrets(resource: &str) -> bool {
    resource.parse().is_ok_and(|resource: GroupVersionResource| resource.is_secrets())
}
