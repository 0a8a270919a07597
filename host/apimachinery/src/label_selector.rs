//! Label selectors as kubectl and the API server write them: `a=b,c!=d,e in (x,y),f notin (z),g,!h`.
//!
//! Semantics follow apimachinery's `labels.Parse` and `Requirement.Matches`: `!=` and `notin` also
//! hold for an object that lacks the label.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest label value, and the longest name part of a label key, that Kubernetes accepts.
const NAME_LENGTH_MAX: usize = 63;
/// The longest prefix of a label key (a DNS subdomain).
const PREFIX_LENGTH_MAX: usize = 253;

/// Requirements that an object's labels must all meet. The default selects everything. Clones share the requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    requirements: Arc<[LabelRequirement]>,
}

/// One requirement: a label key and what must hold for its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelRequirement {
    /// The label's key, with its prefix if it has one.
    pub key: String,
    /// What must hold.
    pub test: LabelTest,
}

/// What a [`LabelRequirement`] asks of a label's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LabelTest {
    /// The label is there and has this value.
    Equals(String),
    /// The label is absent or has another value.
    NotEquals(String),
    /// The label is there and has one of these values.
    In(BTreeSet<String>),
    /// The label is absent or has none of these values.
    NotIn(BTreeSet<String>),
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is there and is an integer greater than this.
    GreaterThan(i64),
    /// The label is there and is an integer less than this.
    LessThan(i64),
}

/// The text is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("label selector {text:?} cannot be read: {problem}")]
pub struct ParseLabelSelectorError {
    text: String,
    problem: String,
}

impl LabelSelector {
    /// A selector of these requirements, all of which must hold.
    pub fn new(requirements: impl IntoIterator<Item = LabelRequirement>) -> Self {
        Self { requirements: requirements.into_iter().collect() }
    }

    /// The requirements in the order they were written.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether an object with these labels is selected; `label` gives the value of a key.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.unmet(label).is_none()
    }

    /// The first requirement that an object with these labels does not meet.
    pub fn unmet<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> Option<&LabelRequirement> {
        self.requirements.iter().find(|one| !one.test.holds(label(&one.key)))
    }

    /// Whether each requirement of the other selector follows from one of this selector. Then this selector selects nothing
    /// that the other one does not select. The reverse does not always hold: `a!=b` is not found to follow from `a notin (b,c)`.
    pub fn is_within(&self, other: &Self) -> bool {
        let follows = |one| self.requirements.iter().any(|own| own.implies(one));
        other.requirements.iter().all(follows)
    }

    /// Whether every object is selected, whatever its labels.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl LabelRequirement {
    /// Whether the other requirement follows from this one.
    fn implies(&self, other: &Self) -> bool {
        let follows = match &self.test {
            LabelTest::Equals(value) => other.test.holds(Some(value)),
            LabelTest::In(values) => values.iter().all(|value| other.test.holds(Some(value))),
            LabelTest::DoesNotExist => other.test.holds(None),
            _ => false,
        };
        self.key == other.key && (follows || self.test == other.test)
    }
}

impl LabelTest {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::Equals(wanted) => value == Some(wanted),
            Self::NotEquals(unwanted) => value != Some(unwanted),
            Self::In(wanted) => value.is_some_and(|value| wanted.contains(value)),
            Self::NotIn(unwanted) => !value.is_some_and(|value| unwanted.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(bound) => integer(value).is_some_and(|value| value > *bound),
            Self::LessThan(bound) => integer(value).is_some_and(|value| value < *bound),
        }
    }
}

fn integer(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let joined = |values: &BTreeSet<String>| {
            values.iter().map(String::as_str).collect::<Vec<_>>().join(",")
        };
        match &self.test {
            LabelTest::Equals(value) => write!(f, "{key}={value}"),
            LabelTest::NotEquals(value) => write!(f, "{key}!={value}"),
            LabelTest::In(values) => write!(f, "{key} in ({})", joined(values)),
            LabelTest::NotIn(values) => write!(f, "{key} notin ({})", joined(values)),
            LabelTest::Exists => write!(f, "{key}"),
            LabelTest::DoesNotExist => write!(f, "!{key}"),
            LabelTest::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            LabelTest::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

impl FromStr for LabelSelector {
    type Err = ParseLabelSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parser = Parser { rest: text };
        parser
            .selector()
            .map_err(|problem| ParseLabelSelectorError { text: text.to_owned(), problem })
    }
}

/// Reads a selector from left to right; `rest` is what has not been read yet.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn selector(&mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        self.skip_space();
        if self.rest.is_empty() {
            return Ok(LabelSelector::default());
        }
        loop {
            requirements.push(self.requirement()?);
            if self.rest.is_empty() {
                return Ok(LabelSelector { requirements: requirements.into() });
            }
            if !self.take(",") {
                return Err(format!("a comma or the end is missing before {:?}", self.rest));
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        if self.take("!") {
            let key = self.key()?;
            return Ok(LabelRequirement { key, test: LabelTest::DoesNotExist });
        }
        let key = self.key()?;
        let test = if self.rest.is_empty() || self.rest.starts_with(',') {
            LabelTest::Exists
        } else if self.take("!=") {
            LabelTest::NotEquals(self.value()?)
        } else if self.take("==") || self.take("=") {
            LabelTest::Equals(self.value()?)
        } else if self.take(">") {
            LabelTest::GreaterThan(self.bound()?)
        } else if self.take("<") {
            LabelTest::LessThan(self.bound()?)
        } else {
            match self.word() {
                "in" => LabelTest::In(self.values()?),
                "notin" => LabelTest::NotIn(self.values()?),
                word => return Err(format!("{word:?} after {key:?} is no operator")),
            }
        };
        Ok(LabelRequirement { key, test })
    }

    fn key(&mut self) -> Result<String, String> {
        let key = self.word();
        check_label_key(key)?;
        Ok(key.to_owned())
    }

    fn value(&mut self) -> Result<String, String> {
        let value = self.word();
        check_label_value(value)?;
        Ok(value.to_owned())
    }

    fn bound(&mut self) -> Result<i64, String> {
        let word = self.word();
        word.parse().map_err(|_| format!("{word:?} is compared with > or < but is no integer"))
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        if !self.take("(") {
            return Err("in and notin need their values in parentheses".to_owned());
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            if self.take(")") {
                return Ok(values);
            }
            if !self.take(",") {
                return Err("a list of values has no closing parenthesis".to_owned());
            }
        }
    }

    /// The longest run without space or operator, which may be empty; the space after it is skipped.
    fn word(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || "(),!=<>".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip_space();
        word
    }

    fn take(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        self.skip_space();
        true
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

/// Whether the text may be a label's key: an optional DNS prefix and a slash, then a name of at most 63
/// characters (apimachinery's `validation.IsQualifiedName`).
pub fn check_label_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.is_empty() {
        return Err(format!("label key {key:?} has no name"));
    }
    check_name_part(name).map_err(|problem| format!("label key {key:?} {problem}"))?;
    let Some(prefix) = prefix else { return Ok(()) };
    let is_dns = |part: &str| {
        part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && part.bytes().next().is_some_and(|b| b != b'-')
            && !part.ends_with('-')
    };
    if prefix.len() > PREFIX_LENGTH_MAX || !prefix.split('.').all(is_dns) {
        return Err(format!("label key {key:?} has a prefix that is not a lower-case DNS name"));
    }
    Ok(())
}

/// Whether the text may be a label's value: empty or at most 63 characters
/// (apimachinery's `validation.IsValidLabelValue`).
pub fn check_label_value(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Ok(());
    }
    check_name_part(value).map_err(|problem| format!("label value {value:?} {problem}"))
}

fn check_name_part(name: &str) -> Result<(), &'static str> {
    if name.len() > NAME_LENGTH_MAX {
        return Err("is longer than 63 characters");
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        return Err("has a character other than letters, digits, '-', '_' and '.'");
    }
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    if !ends(name.bytes().next()) || !ends(name.bytes().last()) {
        return Err("does not begin and end with a letter or digit");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The selector is read, written as `shown`, and selects exactly those of `a=1`, `a=2`, `b=1`,
    /// `a=1,b=2` and no labels whose letters are in `selected` (`v w x y z`).
    #[track_caller]
    fn check(text: &str, shown: &str, selected: &str) {
        let samples: [(char, &[(&str, &str)]); 5] = [
            ('v', &[("a", "1")]),
            ('w', &[("a", "2")]),
            ('x', &[("b", "1")]),
            ('y', &[("a", "1"), ("b", "2")]),
            ('z', &[]),
        ];
        let selector: LabelSelector = text.parse().expect(text);
        assert_eq!(selector.to_string(), shown);
        assert_eq!(shown.parse::<LabelSelector>().as_ref(), Ok(&selector), "reads its own text");
        let hits: String = samples
            .iter()
            .filter(|(_, labels)| {
                selector.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
            })
            .map(|(letter, _)| *letter)
            .collect();
        assert_eq!(hits, selected, "{text}");
    }

    #[track_caller]
    fn check_error(text: &str, problem: &str) {
        let error = text.parse::<LabelSelector>().expect_err(text);
        assert!(error.problem.contains(problem), "{text:?} gave {:?}", error.problem);
    }

    #[test]
    fn empty_selects_everything() {
        check("", "", "vwxyz");
        check("  ", "", "vwxyz");
        assert!(LabelSelector::default().is_everything());
        assert!(!"a".parse::<LabelSelector>().expect("valid").is_everything());
    }

    #[test]
    fn equality() {
        check("a=1", "a=1", "vy");
        check("a==1", "a=1", "vy");
        check("a = 1 , b = 2", "a=1,b=2", "y");
        check("a!=1", "a!=1", "wxz");
        check("a=", "a=", "");
        check("a!=", "a!=", "vwxyz");
    }

    #[test]
    fn sets() {
        check("a in (2,1)", "a in (1,2)", "vwy");
        check("a in(1)", "a in (1)", "vy");
        check("a notin (1)", "a notin (1)", "wxz");
        check("a notin ( 1 , 2 ),b", "a notin (1,2),b", "x");
        check("a in ()", "a in ()", "");
    }

    /// Whether one selector is found to be within the other, either way.
    #[track_caller]
    fn check_within(one: &str, other: &str, expect: [bool; 2]) {
        let [of, within] = [one, other].map(|text| text.parse::<LabelSelector>().expect(text));
        assert_eq!([of.is_within(&within), within.is_within(&of)], expect, "{one}; {other}");
    }

    #[test]
    fn a_selector_is_within_one_whose_requirements_follow() {
        check_within("a=1", "", [true, false]);
        check_within("b=2,a=1", "a==1", [true, false]);
        check_within("a=1", "a in (1)", [true, true]);
        check_within("a in (1,2)", "a in (2,3,1)", [true, false]);
        check_within("a=1", "a", [true, false]);
        check_within("a in (1,2)", "a notin (3)", [true, false]);
        check_within("!a", "a!=1", [true, false]);
        check_within("a=5", "a>3,a<7", [true, false]);
        check_within("a=1", "b=1", [false, false]);
        check_within("a=1", "a!=1", [false, false]);
    }

    #[test]
    fn what_is_within_selects_nothing_more() {
        let all = ["a=1", "a!=1", "a in (1,2)", "a notin (1,2)", "a", "!a", "a>1", "a<3", "b"];
        let parsed = all.map(|text| text.parse::<LabelSelector>().expect(text));
        for (own, other) in parsed.iter().flat_map(|own| parsed.iter().map(move |it| (own, it))) {
            for value in [None, Some("1"), Some("2"), Some("3"), Some("x")] {
                let selects = |it: &LabelSelector| it.matches(|key| value.filter(|_| key == "a"));
                let is_right = !own.is_within(other) || !selects(own) || selects(other);
                assert!(is_right, "{own} is not within {other}: {value:?}");
            }
        }
    }

    #[test]
    fn presence() {
        check("a", "a", "vwy");
        check("!a", "!a", "xz");
        check("! a,b", "!a,b", "x");
        check("in in (1)", "in in (1)", "");
    }

    #[test]
    fn numbers() {
        check("a>1", "a>1", "w");
        check("a < 2", "a<2", "vy");
    }

    #[test]
    fn keys_may_have_a_prefix() {
        check("k8s-app=kube-dns", "k8s-app=kube-dns", "");
        check("app.kubernetes.io/name notin (a)", "app.kubernetes.io/name notin (a)", "vwxyz");
    }

    #[test]
    fn bad_text_says_what_is_wrong() {
        check_error("a,", "has no name");
        check_error(",a", "has no name");
        check_error("a b", "no operator");
        check_error("a in x", "parentheses");
        check_error("a in (x", "closing parenthesis");
        check_error("a=b c", "comma or the end");
        check_error("a=b/c", "other than letters");
        check_error("-a", "begin and end");
        check_error("A_B.c/x", "DNS name");
        check_error("a>x", "no integer");
        check_error(&format!("a={}", "x".repeat(64)), "longer than 63");
    }
}
