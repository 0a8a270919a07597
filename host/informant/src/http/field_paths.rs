//! The parameter `fields`: the parts of each object in the answer.
//!
//! A field is a path of names with dots between, as selectors write them: `metadata.name`. A name with dots of its own
//! stands in brackets, as `labels[KEY]` does: `metadata.labels[app.kubernetes.io/name]`.

use informant_cache::{Projection, pointer_step};

/// More than a table has columns.
const FIELDS_MAX: usize = 32;
/// The bytes of a field: a prefix and a name of a label, and the way to them.
const FIELD_BYTES_MAX: usize = 256;

/// Reads fields with commas between.
pub(super) fn field_paths(text: &str) -> Result<Projection, String> {
    pointers(text).map(Projection::new)
}

fn pointers(text: &str) -> Result<Vec<String>, String> {
    let mut is_within = false;
    let fields = text.split(|c| {
        is_within = c == '[' || is_within && c != ']';
        c == ',' && !is_within
    });
    let mut pointers = Vec::new();
    for field in fields {
        if pointers.len() == FIELDS_MAX {
            return Err(format!("fields: more than {FIELDS_MAX} of them"));
        }
        if field.len() > FIELD_BYTES_MAX {
            return Err(format!("fields: one is longer than {FIELD_BYTES_MAX} bytes"));
        }
        let pointer = pointer(field);
        pointers.push(pointer.map_err(|problem| format!("fields: {field:?}: {problem}"))?);
    }
    Ok(pointers)
}

/// The JSON pointer of a field.
fn pointer(field: &str) -> Result<String, &'static str> {
    let (mut pointer, mut rest) = (String::new(), field);
    loop {
        let (name, behind) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').ok_or("a bracket is not closed")?,
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        check_name(name)?;
        pointer.push('/');
        pointer.push_str(&pointer_step(name));
        rest = match behind.strip_prefix('.') {
            Some(next) if next.starts_with('[') => return Err("a dot stands before a bracket"),
            Some(next) => next,
            None if behind.is_empty() => return Ok(pointer),
            None if behind.starts_with('[') => behind,
            None => return Err("a dot is missing behind a bracket"),
        };
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("a name in it is empty; names have one dot between"),
        "*" => Err("a field leads to each item of a list without *"),
        _ if name.contains([']', '[']) => Err("a bracket stands alone"),
        _ if name.contains(['"', '\'']) => Err("a key in brackets stands without quotes"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pointers of fields, or why they are refused.
    #[track_caller]
    fn check(text: &str, expect: Result<&[&str], &str>) {
        match (pointers(text), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{text}"),
            (Err(found), Err(expect)) => assert!(found.contains(expect), "{text}: {found}"),
            (found, expect) => panic!("{text}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn fields_are_paths_of_names() {
        check("kind", Ok(&["/kind"]));
        check("metadata.name,status.phase", Ok(&["/metadata/name", "/status/phase"]));
        check("spec.containers.image", Ok(&["/spec/containers/image"]));
        check("metadata.labels[app]", Ok(&["/metadata/labels/app"]));
        check("data[tls.crt],kind", Ok(&["/data/tls.crt", "/kind"]));
        check("metadata.labels[a.b/c~d]", Ok(&["/metadata/labels/a.b~1c~0d"]));
        check("a[b,c][d].e", Ok(&["/a/b,c/d/e"]));
    }

    #[test]
    fn a_field_that_cannot_be_read_says_why() {
        for text in ["", "a,", "a..b", ".a", "a.", "a[]", "a,,b"] {
            check(text, Err("a name in it is empty"));
        }
        check("kind,a[b", Err("fields: \"a[b\": a bracket is not closed"));
        check("a]", Err("a bracket stands alone"));
        check("a[b[c]]", Err("a bracket stands alone"));
        check("a[b]c", Err("a dot is missing"));
        check("a.[b]", Err("a dot stands before"));
        check("a['b']", Err("without quotes"));
        check("spec.containers[*].image", Err("without *"));
    }

    #[test]
    fn fields_have_bounds() {
        let many = |count: usize| vec!["a"; count].join(",");
        assert!(pointers(&many(FIELDS_MAX)).is_ok());
        check(&many(FIELDS_MAX + 1), Err("more than 32"));
        assert!(pointers(&"a".repeat(FIELD_BYTES_MAX)).is_ok());
        check(&"a".repeat(FIELD_BYTES_MAX + 1), Err("longer than 256 bytes"));
    }
}
