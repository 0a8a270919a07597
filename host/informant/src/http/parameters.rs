//! Parameters of queries, as tables. The reader of a query and the description of the API are made from the same ones.

use super::query::form_pairs;
use informant_runtime::configuration::nearest;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A parameter that a path takes.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) values: Values,
    /// A value that makes sense where nothing else is known.
    pub(super) example: Option<&'static str>,
    pub(super) description: &'static str,
}

/// The values that a parameter takes.
#[derive(Debug)]
pub(super) enum Values {
    /// Text, which is not empty.
    Text,
    /// The same of at most so many bytes.
    UpTo(usize),
    /// Text that this regular expression matches.
    Pattern(&'static str),
    /// A whole number within these bounds.
    Whole(u64, u64),
    Flag,
    /// `NAME[KEY]=VALUE`, any number of times.
    Equalities,
    /// Anything, the empty text too.
    Any,
}

impl Parameter {
    pub(super) const fn new(name: &'static str, values: Values, description: &'static str) -> Self {
        Self { name, is_required: false, values, example: None, description }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(super) const fn like(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// The parameter as OpenAPI describes it, in a path, a query or a header.
    pub(super) fn described(&self, place: &str) -> Value {
        let schema = match self.values {
            Values::Text => json!({"type": "string", "minLength": 1}),
            Values::UpTo(bytes) => json!({"type": "string", "minLength": 1, "maxLength": bytes}),
            Values::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
            Values::Whole(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Values::Flag => json!({"type": "string", "enum": FLAGS.map(|(text, _)| text)}),
            Values::Equalities => json!({
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9._/-]*$"},
                "additionalProperties": {"type": "string", "pattern": "^([A-Za-z0-9][A-Za-z0-9._-]*)?$"},
            }),
            Values::Any => json!({"type": "string"}),
        };
        let mut described = json!({
            "name": self.name,
            "in": place,
            "required": self.is_required,
            "description": self.description,
            "schema": schema,
        });
        if matches!(self.values, Values::Equalities) {
            described["style"] = "deepObject".into();
            described["explode"] = true.into();
        }
        if let Some(example) = self.example {
            described["example"] = example.into();
        }
        described
    }
}

/// The texts of a flag.
const FLAGS: [(&str, bool); 4] = [("true", true), ("false", false), ("1", true), ("0", false)];

/// The value of a flag.
pub(super) fn flag(text: &str) -> Option<bool> {
    FLAGS.iter().find(|(known, _)| *known == text).map(|(_, value)| *value)
}

/// The values of a query, by the names of a table. Each is given once.
#[derive(Debug, Default)]
pub(super) struct Given(HashMap<&'static str, String>);

/// The value of a parameter that a table lacks.
type Unlisted<'a> = &'a mut dyn FnMut(&str, String) -> Result<(), String>;

impl Given {
    /// Reads a query. `unlisted` takes the parameters that are not single values of the table.
    pub(super) fn read(
        table: &'static [Parameter],
        mut given: Self,
        query: &str,
        (bytes_max, count_max): (usize, usize),
        unlisted: Unlisted<'_>,
    ) -> Result<Self, String> {
        if query.len() > bytes_max {
            return Err(format!("the query is longer than {bytes_max} bytes"));
        }
        for (count, pair) in form_pairs(query).enumerate() {
            if count == count_max {
                return Err(format!("more than {count_max} parameters"));
            }
            let (key, value) = pair?;
            let single = |one: &&Parameter| !matches!(one.values, Values::Equalities);
            match table.iter().filter(single).find(|one| one.name == key) {
                Some(known) => given.add(known, value)?,
                None => unlisted(&key, value)?,
            }
        }
        Ok(given)
    }

    fn add(&mut self, known: &Parameter, value: String) -> Result<(), String> {
        let name = known.name;
        if value.is_empty() && !matches!(known.values, Values::Any) {
            return Err(format!("{name} is empty; give it a value or leave it out"));
        }
        match self.0.insert(name, value) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is given twice; give it once")),
        }
    }

    /// The same with a value that the path has.
    pub(super) fn with(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.0.extend(value.map(|value| (name, value.to_owned())));
        self
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// The value of a whole number of the table.
    pub(super) fn whole(
        &mut self,
        table: &'static [Parameter],
        name: &str,
    ) -> Result<Option<usize>, String> {
        let known = table.iter().find(|one| one.name == name).map(|one| &one.values);
        let (Some(Values::Whole(least, most)), Some(text)) = (known, self.take(name)) else {
            return Ok(None);
        };
        let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(&number));
        let number = number.and_then(|number| usize::try_from(number).ok());
        let refusal = || format!("{name} is {text:?}; it is a number from {least} to {most}");
        number.ok_or_else(refusal).map(Some)
    }
}

/// The refusal of a parameter that a table lacks, with the nearest one.
pub(super) fn unknown(table: &'static [Parameter], key: &str) -> String {
    let written = |known: &Parameter| match known.values {
        Values::Equalities => format!("{}[KEY]=VALUE", known.name),
        _ => format!("{}=VALUE", known.name),
    };
    let word = key.split('[').next().unwrap_or_default();
    let names: Vec<&str> = table.iter().map(|known| known.name).collect();
    let near = nearest(word, &names).and_then(|near| table.iter().find(|one| one.name == near));
    match near {
        Some(known) => format!("unknown parameter {key:?}; did you mean {}?", written(known)),
        None => {
            let known: Vec<String> = table.iter().map(written).collect();
            format!("unknown parameter {key:?}; known are {}", known.join(", "))
        }
    }
}
