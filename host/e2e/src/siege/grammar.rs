//! Documents that a JSON schema allows, or nearly: each value is what it should be, at a bound, beyond it, huge or of another type.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Values of one document.
const VALUES_MAX: usize = 20_000;
/// Levels of one document that follow the schema.
const DEPTH_MAX: usize = 12;
/// Once in so many values it is one that the schema does not allow there.
const STRAY: u32 = 24;

/// A schema and words that its texts are made of.
#[derive(Debug)]
pub struct Grammar {
    schema: Value,
    words: &'static [&'static str],
}

impl Grammar {
    /// Of this schema.
    pub fn new(schema: Value, words: &'static [&'static str]) -> Self {
        Self { schema, words }
    }

    /// One document.
    pub fn document(&self, rng: &mut Rng) -> Value {
        // Half of all documents stay within the schema: what comes behind the parser is to be reached.
        let stray = if rng.bool() { Some(STRAY) } else { None };
        let mut maker = Maker { grammar: self, stray, left: VALUES_MAX, rng };
        maker.of(&self.schema, 0)
    }
}

struct Maker<'a> {
    grammar: &'a Grammar,
    /// See [`STRAY`]; none where nothing strays.
    stray: Option<u32>,
    left: usize,
    rng: &'a mut Rng,
}

impl Maker<'_> {
    fn strays(&mut self) -> bool {
        self.stray.is_some_and(|one_in| self.rng.u32(..one_in) == 0)
    }

    fn of(&mut self, schema: &Value, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        if self.strays() || depth > DEPTH_MAX || self.left == 0 {
            return stray(self.rng);
        }
        if let Some(place) = schema["$ref"].as_str() {
            let place = place.trim_start_matches('#');
            let target = self.grammar.schema.pointer(place).unwrap_or(&Value::Null);
            return self.of(target, depth + 1);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        for key in ["enum", "anyOf", "oneOf"] {
            let options = schema[key].as_array();
            let Some(option) = options.and_then(|options| self.rng.choice(options)) else {
                continue;
            };
            // An object's `oneOf` says what is required, and no more.
            match key {
                "enum" => return option.clone(),
                _ if schema.get("properties").is_some() => {}
                _ => return self.of(option, depth + 1),
            }
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        match self.rng.choice(types) {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("integer" | "number") => self.integer(schema),
            Some("boolean") => self.rng.bool().into(),
            Some("string") => self.text(schema),
            _ => stray(self.rng),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let nothing = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&nothing);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let likely = self.rng.u32(..8);
        let mut object = Map::new();
        for (key, value) in properties {
            let wanted = if required.contains(&key.as_str()) {
                !self.strays()
            } else {
                self.rng.u32(..16) < likely
            };
            if wanted {
                object.insert(key.clone(), self.of(value, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..self.length(schema, 3) {
                let key = self.word();
                object.insert(key, self.of(&schema["additionalProperties"], depth + 1));
            }
        }
        if self.strays() {
            object.insert(self.word(), stray(self.rng));
        }
        object.into()
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let length = self.length(schema, 3);
        (0..length).map(|_| self.of(&schema["items"], depth + 1)).collect()
    }

    /// How many there are: mostly few, at times as many as there may be, or one more.
    fn length(&mut self, schema: &Value, usual: usize) -> usize {
        let most = schema["maxItems"].as_u64().map_or(64, |most| most as usize);
        let length = match self.rng.u32(..40) {
            0 => most,
            1 if self.stray.is_some() => most + 1,
            2 if self.stray.is_some() => most.saturating_mul(100),
            _ => self.rng.usize(..=usual.min(most)),
        };
        length.max(schema["minItems"].as_u64().unwrap_or_default() as usize).min(self.left)
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let bound = |key: &str| schema[key].as_i64();
        let (least, most) = (bound("minimum").unwrap_or(0), bound("maximum").unwrap_or(i64::MAX));
        match self.rng.u32(..8) {
            0 => least.into(),
            1 => most.into(),
            2 if self.stray.is_some() => least.saturating_sub(1).into(),
            3 if self.stray.is_some() => most.saturating_add(1).into(),
            4 => self.rng.i64(least..=most).into(),
            _ => self.rng.i64(least..=most.min(least.saturating_add(20))).into(),
        }
    }

    fn text(&mut self, schema: &Value) -> Value {
        if let Some(example) = schema["examples"].as_array().and_then(|it| self.rng.choice(it)) {
            return example.clone();
        }
        let most = schema["maxLength"].as_u64().unwrap_or(1_000) as usize;
        let wish = match self.rng.u32(..20) {
            0 => most,
            1 if self.stray.is_some() => most + 1,
            2 if self.stray.is_some() => most.saturating_mul(100).min(300_000),
            _ => return self.word().into(),
        };
        let word = self.word() + ",";
        word.repeat(wish / word.len() + 1).chars().take(wish).collect::<String>().into()
    }

    fn word(&mut self) -> String {
        let word = self.rng.choice(self.grammar.words).copied().unwrap_or_default();
        match self.rng.u32(..6) {
            0 => format!("{word}-{}", self.rng.u32(..100)),
            _ => word.to_owned(),
        }
    }
}

/// What belongs nowhere.
fn stray(rng: &mut Rng) -> Value {
    match rng.u32(..12) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => json!(-1),
        3 => json!(u64::MAX),
        4 => json!(1e308),
        5 => json!(0.1),
        6 => "".into(),
        7 => "\u{0}\u{1b}[2J\u{202e}\n".into(),
        8 => "x".repeat(1 << rng.u32(..17)).into(),
        9 => json!([[[[]]], {}]),
        10 => (0..rng.u32(..40)).fold(json!(0), |inner, _| json!([inner])),
        _ => (0..rng.u32(..40)).fold(json!(0), |inner, _| json!({ "a": inner })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grammar() -> Grammar {
        let schema = json!({
            "type": "object", "required": ["a", "b", "c", "d", "e"],
            "properties": {
                "a": { "$ref": "#/$defs/a" },
                "b": { "type": "array", "items": { "enum": ["x", "y"] }, "maxItems": 5 },
                "c": { "type": "integer", "minimum": 1, "maximum": 9 },
                "d": { "oneOf": [{ "const": 1 }, { "type": "boolean" }] },
                "e": { "type": "string", "maxLength": 7 },
            },
            "$defs": { "a": { "type": "object", "additionalProperties": { "type": "boolean" } } },
        });
        Grammar::new(schema, &["word", "other"])
    }

    #[test]
    fn the_same_seed_makes_the_same_document() {
        for seed in 0..200 {
            let document = || grammar().document(&mut Rng::with_seed(seed)).to_string();
            assert_eq!(document(), document());
        }
    }

    #[test]
    fn values_are_within_the_schema_at_its_bounds_and_beyond() {
        let made: Vec<Value> =
            (0..3_000).map(|seed| grammar().document(&mut Rng::with_seed(seed))).collect();
        let some = |what: &str, has: &dyn Fn(&Value) -> bool| {
            assert!(made.iter().any(has), "no document with {what}");
        };
        for number in [0, 1, 9, 10] {
            some("a number", &|document| document["c"] == number);
        }
        for length in [0, 5, 6, 500] {
            some("a list", &|document| {
                document["b"].as_array().is_some_and(|it| it.len() == length)
            });
        }
        for length in [7, 8, 700] {
            some("a text", &|document| document["e"].as_str().is_some_and(|it| it.len() == length));
        }
        some("what is missing", &|document| document.is_object() && document["a"].is_null());
        some("another type", &|document| document["b"].is_object());
        some("a constant", &|document| document["d"] == 1);
        some("a map", &|document| document["a"]["word"].is_boolean());
        some("no object", &|document| !document.is_object());
    }
}
