//! Label selectors in kubectl's notation, as far as tests need them.

use serde_json::Value;

/// Requirements, all of which must hold.
pub(crate) struct Selector {
    requirements: Vec<Requirement>,
}

struct Requirement {
    label: String,
    test: Test,
}

enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Selector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let requirements = split_outside_brackets(text)
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| Requirement::parse(part).ok_or_else(|| format!("label selector {part:?}")));
        Ok(Self { requirements: requirements.collect::<Result<_, _>>()? })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.requirements.iter().all(|r| {
            let labels = object.pointer("/metadata/labels");
            let value = labels.and_then(|l| l.get(&r.label)).and_then(Value::as_str);
            match (&r.test, value) {
                (Test::Exists, value) => value.is_some(),
                (Test::Absent, value) => value.is_none(),
                (Test::In(values), Some(value)) => values.iter().any(|v| v == value),
                (Test::In(_), None) => false,
                (Test::NotIn(values), value) => {
                    value.is_none_or(|v| !values.iter().any(|w| w == v))
                }
            }
        })
    }
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let made = |label: &str, test| {
            let label = label.trim();
            let plain = !label.is_empty() && !label.contains([' ', '=', '!', '(', ')']);
            plain.then(|| Self { label: label.to_owned(), test })
        };
        if let Some((label, value)) = text.split_once("!=") {
            return made(label, Test::NotIn(vec![value.trim().to_owned()]));
        }
        if let Some((label, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return made(label, Test::In(vec![value.trim().to_owned()]));
        }
        if let Some((label, values)) = text.split_once(" notin ") {
            return made(label, Test::NotIn(in_brackets(values)?));
        }
        if let Some((label, values)) = text.split_once(" in ") {
            return made(label, Test::In(in_brackets(values)?));
        }
        match text.strip_prefix('!') {
            Some(label) => made(label, Test::Absent),
            None => made(text, Test::Exists),
        }
    }
}

fn in_brackets(text: &str) -> Option<Vec<String>> {
    let values = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(values.split(',').map(|v| v.trim().to_owned()).collect())
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, expected: Result<bool, &str>) {
        let pod = serde_json::json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        let result = Selector::parse(selector).map(|s| s.matches(&pod));
        assert_eq!(result, expected.map_err(str::to_owned));
    }

    #[test]
    fn requirements_must_all_hold() {
        check("", Ok(true));
        check("app=web", Ok(true));
        check("app==web,tier=back", Ok(false));
        check("app in (db, web),tier notin (back),!canary,app", Ok(true));
        check("tier!=front", Ok(false));
        check("canary!=yes", Ok(true));
        check("canary", Ok(false));
        check("canary in (yes)", Ok(false));
    }

    #[test]
    fn nonsense_is_named() {
        check("app in web", Err("label selector \"app in web\""));
        check("app=web,=x", Err("label selector \"=x\""));
    }
}
