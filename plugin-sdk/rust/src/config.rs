//! The plugin's configuration, as the host passes it.

use crate::{Failure, Result};
use serde::de::DeserializeOwned;

/// The plugin's `config` section in the host's configuration or in its `PluginConfiguration`, as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    json: Vec<u8>,
}

impl Config {
    /// Takes the host's bytes. No bytes mean an empty object.
    #[must_use]
    pub fn from_json(json: impl Into<Vec<u8>>) -> Self {
        let json = json.into();
        Self { json: if json.trim_ascii().is_empty() { b"{}".to_vec() } else { json } }
    }

    /// The JSON text.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The configuration as `T`. Give `T` `#[serde(default, deny_unknown_fields)]`: then every key is optional, and a
    /// misspelt key is reported.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.json).map_err(|error| {
            let error = error.to_string();
            // The position belongs to the host's JSON, which is not the user's file.
            let error = error.rsplit_once(" at line ").map_or(&*error, |(problem, _)| problem);
            Failure::new(format!("the plugin's configuration does not fit: {error}")).never_retry()
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::from_json(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Options {
        list: bool,
    }

    #[track_caller]
    fn check(json: &str, expected: std::result::Result<bool, &str>) {
        let parsed = Config::from_json(json).parse::<Options>();
        let parsed = parsed.map(|o| o.list).map_err(|f| f.message().to_owned());
        match (parsed, expected) {
            (Ok(list), Ok(expected)) => assert_eq!(list, expected),
            (Err(message), Err(expected)) => assert_eq!(message, expected),
            (parsed, expected) => panic!("{parsed:?} is not {expected:?}"),
        }
    }

    #[test]
    fn absent_configuration_is_an_empty_object() {
        check("", Ok(false));
        check(" \n", Ok(false));
        check("{}", Ok(false));
    }

    #[test]
    fn a_misspelt_key_is_named() {
        check(r#"{"list":true}"#, Ok(true));
        check(
            r#"{"lsit":true}"#,
            Err("the plugin's configuration does not fit: unknown field `lsit`, expected `list`"),
        );
        check("{", Err("the plugin's configuration does not fit: EOF while parsing an object"));
    }
}
