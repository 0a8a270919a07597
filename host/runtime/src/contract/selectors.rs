//! Selectors that plugins and callers write: in descriptors, in calls of `indexer`, in HTTP queries.
//!
//! A selector is evaluated for every object and, in a descriptor, for every event in the informer's
//! task. Its size is therefore bounded before it is parsed, and its parts are bounded before it is
//! used. The syntax is that of `informant-apimachinery`.

mod field_names;

pub use field_names::check_fields;
use informant_apimachinery::{FieldSelector, LabelSelector, LabelTest};

/// Bytes of a selector: more than a person writes.
pub const SELECTOR_BYTES_MAX: usize = 4 << 10;
/// Requirements of a label selector. Each is one look-up among the object's labels.
pub const LABEL_REQUIREMENTS_MAX: usize = 64;
/// Values of all `in (...)` and `notin (...)` of a label selector.
pub const LABEL_VALUES_MAX: usize = 256;
/// Requirements of a field selector. Each is a place in the object's bytes, as each pointer of `onlyIfChanged` is; the
/// bound is the same.
pub const FIELD_REQUIREMENTS_MAX: usize = 32;
/// Steps of a field's path: `spec.nodeName` has two. Kubernetes' own types have fewer levels.
pub const FIELD_STEPS_MAX: usize = 32;

/// Reads a label selector within the bounds.
pub fn label_selector(text: &str) -> Result<LabelSelector, String> {
    bound("bytes", text.len(), SELECTOR_BYTES_MAX)?;
    let selector: LabelSelector = text.parse().map_err(|error| format!("{error}"))?;
    let requirements = selector.requirements();
    bound("requirements", requirements.len(), LABEL_REQUIREMENTS_MAX)?;
    let values = requirements.iter().map(|requirement| match &requirement.test {
        LabelTest::In(values) | LabelTest::NotIn(values) => values.len(),
        _ => 0,
    });
    bound("values in sets", values.sum(), LABEL_VALUES_MAX)?;
    Ok(selector)
}

/// Reads a field selector within the bounds.
pub fn field_selector(text: &str) -> Result<FieldSelector, String> {
    bound("bytes", text.len(), SELECTOR_BYTES_MAX)?;
    let selector: FieldSelector = text.parse().map_err(|error| format!("{error}"))?;
    bound("requirements", selector.requirements().len(), FIELD_REQUIREMENTS_MAX)?;
    let steps = selector.requirements().iter().map(|it| it.field.split('.').count());
    bound("steps in a path", steps.max().unwrap_or_default(), FIELD_STEPS_MAX)?;
    Ok(selector)
}

fn bound(of: &str, found: usize, max: usize) -> Result<(), String> {
    match found <= max {
        true => Ok(()),
        false => Err(format!("it has {found} {of}, at most {max} are read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a selector of so many parts is read up to the bound, and refused above it with this text.
    #[track_caller]
    fn check<T>(
        read: fn(&str) -> Result<T, String>,
        max: usize,
        of: &str,
        text: impl Fn(usize) -> String,
    ) {
        assert_eq!(read(&text(max)).err(), None);
        let error = read(&text(max + 1)).err();
        assert_eq!(error, Some(format!("it has {} {of}, at most {max} are read", max + 1)));
    }

    fn joined(count: usize, one: impl Fn(usize) -> String) -> String {
        (0..count).map(one).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn label_selectors_are_bounded() {
        let of_bytes = |bytes: usize| format!("{:bytes$}", "a=b");
        check(label_selector, SELECTOR_BYTES_MAX, "bytes", of_bytes);
        let of_keys = |count| joined(count, |n| format!("!k{n}"));
        check(label_selector, LABEL_REQUIREMENTS_MAX, "requirements", of_keys);
        let of_values = |count| format!("a in ({})", joined(count, |n| n.to_string()));
        check(label_selector, LABEL_VALUES_MAX, "values in sets", of_values);
        let of_two_sets = |count: usize| {
            let (some, others) = (count / 2, count - count / 2);
            let values = |count| joined(count, |n| n.to_string());
            format!("a in ({}),b notin ({})", values(some), values(others))
        };
        check(label_selector, LABEL_VALUES_MAX, "values in sets", of_two_sets);
    }

    #[test]
    fn field_selectors_are_bounded() {
        let of_bytes = |bytes: usize| format!("spec.x={}", "y".repeat(bytes - "spec.x=".len()));
        check(field_selector, SELECTOR_BYTES_MAX, "bytes", of_bytes);
        let of_fields = |count| joined(count, |n| format!("spec.f{n}!=x"));
        check(field_selector, FIELD_REQUIREMENTS_MAX, "requirements", of_fields);
        let of_names = |count| joined(count, |n| format!("metadata.name!=n{n}"));
        check(field_selector, FIELD_REQUIREMENTS_MAX, "requirements", of_names);
        let of_steps = |steps| format!("{}=x", vec!["a"; steps].join("."));
        check(field_selector, FIELD_STEPS_MAX, "steps in a path", of_steps);
    }

    #[test]
    fn a_text_that_is_no_selector_is_refused_with_the_reason() {
        assert!(label_selector("a b").is_err_and(|error| error.contains("no operator")));
        assert!(field_selector("a").is_err_and(|error| error.contains("none of the operators")));
    }
}
