//! Texts of an answer, on one line each, and values of objects in them: short, and none of a Secret.

use crate::one_line::one_line;
use informant_apimachinery::GroupVersionResource;

/// The most bytes of one value.
const VALUE_BYTES_MAX: usize = 80;

/// The most bytes of one text of an answer: an expression and its values.
const LINE_BYTES_MAX: usize = 4 << 10;

/// A text of an answer. Selectors, expressions and names of a plugin stay on its line.
pub(super) fn line(text: &str) -> String {
    one_line(text, LINE_BYTES_MAX).into_owned()
}

/// Whether values of the question's objects are shown.
#[derive(Clone, Copy)]
pub(super) struct ShownValues {
    is_secret: bool,
}

impl ShownValues {
    pub(super) fn of(resource: &GroupVersionResource) -> Self {
        Self { is_secret: resource.is_secrets() }
    }

    /// A value with its name; a missing value is shown as such.
    pub(super) fn value(self, name: &str, value: Option<&str>) -> String {
        match value {
            _ if self.is_secret => format!("{name} is a Secret's value and not shown"),
            Some(value) => format!("{name} is {}", one_line(value, VALUE_BYTES_MAX)),
            None => format!("{name} is not there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(resource: &str, value: Option<&str>, expect: &str) {
        let resource = resource.parse().expect("a resource");
        assert_eq!(ShownValues::of(&resource).value("data.key", value), expect);
    }

    #[test]
    fn a_value_of_a_secret_is_never_shown() {
        check("v1/configmaps", Some("\"a\""), "data.key is \"a\"");
        check("v1/configmaps", None, "data.key is not there");
        check("v1/secrets", Some("\"a\""), "data.key is a Secret's value and not shown");
        check("v1/secrets", None, "data.key is a Secret's value and not shown");
    }

    #[test]
    fn a_value_is_short_and_on_one_line() {
        check("v1/configmaps", Some("a\nb"), "data.key is a\\nb");
        let long = "x".repeat(100);
        let cut = format!("data.key is {} … (20 bytes more)", &long[..80]);
        check("v1/configmaps", Some(&long), &cut);
    }
}
