//! The messages of `schema.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// All messages by name, for example `core/v1.Pod`.
pub struct Schema {
    messages: HashMap<&'static str, Message>,
}

/// A message's fields.
#[derive(Debug, Default)]
pub struct Message {
    fields: HashMap<u32, Field>,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    /// The key in JSON.
    pub name: String,
    /// The type of a single value.
    pub kind: FieldKind,
    /// Whether it is a list.
    pub repeated: bool,
    /// Whether it is a map from strings.
    pub map: bool,
    /// Whether a zero counts as a value.
    pub pointer: bool,
    /// Whether its fields belong to the parent message.
    pub inline: bool,
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the type it names")]
pub enum FieldKind {
    String,
    Bool,
    Integer,
    Double,
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// JSON as bytes.
    Raw,
    /// A message that wraps a list of strings.
    StringList,
    Message(&'static str),
}

/// The schema, parsed once.
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(include_str!("schema.txt")));
    &SCHEMA
}

impl Schema {
    fn parse(text: &'static str) -> Self {
        let mut messages: HashMap<&'static str, Message> = HashMap::new();
        let mut current = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix("= ") {
                current = name;
                messages.entry(name).or_default();
                continue;
            }
            let mut words = line.split(' ');
            let (number, name) = (words.next(), words.next());
            let (kind, flags) = (words.next(), words.next().unwrap_or_default());
            let number = number.and_then(|n| n.parse().ok()).expect("schema.txt has numbers");
            let field = Field {
                name: name.unwrap_or_default().to_owned(),
                kind: FieldKind::parse(kind.expect("schema.txt has types")),
                repeated: flags.contains('r'),
                map: flags.contains('m'),
                pointer: flags.contains('p'),
                inline: flags.contains('n'),
            };
            messages.entry(current).or_default().fields.insert(number, field);
        }
        Self { messages }
    }

    /// The message of an object's version and kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
        if kind == "DeleteOptions" {
            return self.messages.get("meta.DeleteOptions");
        }
        // The first part of the group is the name of Go's package.
        let package = group.split('.').next().unwrap_or_default();
        self.messages.get(format!("{package}/{version}.{kind}").as_str())
    }

    /// The field with this key in JSON, of a message or of a message that is inlined into it.
    pub fn named<'s>(&'s self, message: &'s Message, key: &str) -> Option<&'s Field> {
        let own = message.fields.values().find(|field| !field.inline && field.name == key);
        own.or_else(|| {
            let inlined = message.fields.values().filter(|field| field.inline);
            inlined
                .filter_map(|field| match field.kind {
                    FieldKind::Message(name) => Some(self.message(name)),
                    _ => None,
                })
                .find_map(|message| self.named(message, key))
        })
    }

    /// The message for a name from the schema itself.
    pub fn message(&self, name: &str) -> &Message {
        self.messages.get(name).expect("schema.txt has every message that it names")
    }
}

impl Message {
    /// The field of a number.
    pub fn field(&self, number: u32) -> Option<&Field> {
        self.fields.get(&number)
    }
}

impl FieldKind {
    fn parse(word: &'static str) -> Self {
        match word {
            "s" => Self::String,
            "b" => Self::Bool,
            "i" => Self::Integer,
            "d" => Self::Double,
            "y" => Self::Bytes,
            "T" => Self::Time,
            "M" => Self::MicroTime,
            "D" => Self::Duration,
            "Q" => Self::Quantity,
            "I" => Self::IntOrString,
            "R" => Self::Raw,
            "L" => Self::StringList,
            message => Self::Message(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_message_is_there() {
        for message in schema().messages.values() {
            for field in message.fields.values() {
                if let FieldKind::Message(name) = field.kind {
                    assert!(schema().messages.contains_key(name), "{name} is missing");
                }
            }
        }
    }

    #[test]
    fn every_built_in_resource_has_a_message() {
        // Clients write these in JSON.
        let json_only = ["apiextensions.k8s.io", "apiregistration.k8s.io"];
        let all = crate::built_in::stored().into_iter().chain(crate::built_in::reviews());
        for resource in all.filter(|r| !json_only.contains(&r.gvr.group.as_str())) {
            let found = schema().of_kind(&resource.gvr.api_version(), &resource.kind);
            assert!(found.is_some(), "{} has no message", resource.gvr);
        }
    }
}
