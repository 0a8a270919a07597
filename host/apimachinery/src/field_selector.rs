//! Field selectors: `metadata.name=web,spec.nodeName!=node-1`.
//!
//! Semantics follow apimachinery's `fields.ParseSelector`: only `=`, `==` and `!=`; a field that is absent
//! counts as empty; `\`, `,` and `=` in a value are written with a backslash before them.

use std::fmt;
use std::str::FromStr;

/// Requirements that an object's fields must all meet. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// One requirement of a [`FieldSelector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field's path, for example `spec.nodeName`.
    pub field: String,
    /// The value it is compared with.
    pub value: String,
    /// Whether the field must have the value (`=`) or must not have it (`!=`).
    pub equal: bool,
}

/// The text is not a field selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field selector {text:?} cannot be read: {problem}")]
pub struct ParseFieldSelectorError {
    text: String,
    problem: String,
}

impl FieldSelector {
    /// A selector of these requirements, all of which must hold.
    pub fn new(requirements: impl IntoIterator<Item = FieldRequirement>) -> Self {
        Self { requirements: requirements.into_iter().collect() }
    }

    /// Selects the one object of this name.
    pub fn name(name: impl Into<String>) -> Self {
        let field = "metadata.name".to_owned();
        Self::new([FieldRequirement { field, value: name.into(), equal: true }])
    }

    /// The requirements in the order they were written.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether an object is selected; `field` gives the value of a path, `None` counts as empty.
    pub fn matches(&self, field: impl Fn(&str) -> Option<String>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = field(&requirement.field).unwrap_or_default();
            (value == requirement.value) == requirement.equal
        })
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The value that a field must have according to an `=` requirement, if there is one.
    pub fn required_value(&self, field: &str) -> Option<&str> {
        let found = self.requirements.iter().find(|r| r.equal && r.field == field);
        found.map(|requirement| requirement.value.as_str())
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let operator = if requirement.equal { "=" } else { "!=" };
            let value = escape(&requirement.value);
            write!(f, "{comma}{}{operator}{value}", requirement.field)?;
        }
        Ok(())
    }
}

impl FromStr for FieldSelector {
    type Err = ParseFieldSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| ParseFieldSelectorError { text: text.to_owned(), problem };
        let terms = split_terms(text).into_iter().filter(|term| !term.is_empty());
        let requirements = terms.map(parse_term).collect::<Result<_, _>>().map_err(error)?;
        Ok(Self { requirements })
    }
}

/// Splits at commas that have no backslash before them.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(term: &str) -> Result<FieldRequirement, String> {
    let Some(position) = term.find('=') else {
        return Err(format!("{term:?} has none of the operators =, == and !="));
    };
    let (left, right) = (&term[..position], &term[position + 1..]);
    let (field, value, equal) = match left.strip_suffix('!') {
        Some(field) => (field, right, false),
        None => (left, right.strip_prefix('=').unwrap_or(right), true),
    };
    if field.is_empty() {
        return Err(format!("{term:?} names no field"));
    }
    Ok(FieldRequirement { field: field.to_owned(), value: unescape(value)?, equal })
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(next @ ('\\' | ',' | '=')) => plain.push(next),
                _ => return Err(format!("{value:?} has a backslash before nothing to escape")),
            },
            '=' => return Err(format!("{value:?} has an = without a backslash before it")),
            other => plain.push(other),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str, fields: &[(&str, &str)], selected: bool) {
        let selector: FieldSelector = text.parse().expect(text);
        assert_eq!(selector.to_string(), shown);
        assert_eq!(shown.parse::<FieldSelector>().as_ref(), Ok(&selector), "reads its own text");
        let hit = selector.matches(|path| {
            fields.iter().find(|(field, _)| *field == path).map(|(_, value)| (*value).to_owned())
        });
        assert_eq!(hit, selected, "{text}");
    }

    #[track_caller]
    fn check_error(text: &str, problem: &str) {
        let error = text.parse::<FieldSelector>().expect_err(text);
        assert!(error.problem.contains(problem), "{text:?} gave {:?}", error.problem);
    }

    #[test]
    fn equality_and_inequality() {
        let web = [("metadata.name", "web"), ("spec.nodeName", "")];
        check("", "", &web, true);
        check("metadata.name=web", "metadata.name=web", &web, true);
        check("metadata.name==web", "metadata.name=web", &web, true);
        check("metadata.name!=web", "metadata.name!=web", &web, false);
        check(
            "metadata.name=web,spec.nodeName!=",
            "metadata.name=web,spec.nodeName!=",
            &web,
            false,
        );
    }

    #[test]
    fn absent_counts_as_empty() {
        check("spec.nodeName=", "spec.nodeName=", &[], true);
        check("spec.nodeName!=", "spec.nodeName!=", &[], false);
    }

    #[test]
    fn separators_in_values_are_escaped() {
        check(r"a=x\,y\=z\\", r"a=x\,y\=z\\", &[("a", r"x,y=z\")], true);
    }

    #[test]
    fn bad_text_says_what_is_wrong() {
        check_error("metadata.name", "none of the operators");
        check_error("=x", "names no field");
        check_error("a=b=c", "without a backslash");
        check_error(r"a=b\c", "nothing to escape");
    }

    #[test]
    fn required_value_is_the_one_of_an_equality() {
        let selector: FieldSelector = "a!=1,b=2".parse().expect("valid");
        assert_eq!(selector.required_value("a"), None);
        assert_eq!(selector.required_value("b"), Some("2"));
        assert_eq!(FieldSelector::name("x").to_string(), "metadata.name=x");
    }
}
