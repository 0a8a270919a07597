//! Texts that a plugin or its author hands to a host: descriptors in JSON, and files beside plugins in YAML.

use super::grammar::Grammar;
use crate::{described, paths};
use anyhow::Context;
use fastrand::Rng;
use informant_fuzz::Mutator;
use serde_json::Value;
use std::path::Path;

/// What a text has at most: more than a descriptor or a file beside a plugin may have.
const TEXT_BYTES_MAX: usize = 3 << 20;

/// Words of both formats.
const WORDS: &[&str] = &[
    "v1/pods",
    "v1/secrets",
    "apps/v1/deployments",
    "example.com/v1/widgets",
    "siege",
    "default",
    "/metadata/labels/*",
    "/spec/containers/*/image",
    "/a~1b",
    "object.metadata.name == \"a\"",
    "object.spec.containers.all(c, c.image != '')",
    "app in (a,b),!c",
    "status.phase!=Running",
    "10s",
    "1h",
    "0s",
    "10000000000h",
    "64Mi",
    "9999999Ti",
    "* * * * *",
    "0 0 31 2 *",
    "https://api.example.com",
    "https://*.example.com:1",
    "http://169.254.169.254",
    "shop/labeller",
    "*",
    "",
    "X-Token",
    "added",
    "ReplicaSet",
];

/// Pieces of YAML that are not JSON.
const PIECES: &[&str] = &[
    "&a [*a]",
    "&a {b: *a}",
    "*a",
    "&a",
    "!!binary aGVsbG8=",
    "!!float .inf",
    ".nan",
    "0x1F",
    "0o17",
    "1_000",
    "~",
    "? a\n: b",
    "--- \n",
    "...\n",
    "%YAML 1.2\n",
    "|\n  text\n",
    ">-\n  text\n",
    "\t",
    "<<: *a",
    "\u{feff}",
    "\u{85}",
    "'",
    "# no more",
    "- - - - -",
    "{{",
    "yes",
    "2001-01-01",
];

/// Makes both.
#[derive(Debug)]
pub struct Documents {
    descriptors: Grammar,
    settings: Grammar,
}

impl Documents {
    /// Of the schemas that are published.
    pub fn new() -> anyhow::Result<Self> {
        let root = paths::root();
        Ok(Self {
            descriptors: grammar(&root.join("plugin-sdk/descriptor.schema.json"))?,
            settings: grammar(&root.join("host/docs/schemas/plugin-configuration.json"))?,
        })
    }

    /// A plugin whose descriptor is generated.
    pub fn described(&self, rng: &mut Rng) -> anyhow::Result<Vec<u8>> {
        described::plugin(&self.descriptor(rng), "")
    }

    fn descriptor(&self, rng: &mut Rng) -> Vec<u8> {
        let text = self.descriptors.document(rng).to_string().into_bytes();
        match rng.u32(..4) {
            0 => mutated(&text, rng),
            _ => text,
        }
    }

    /// A file beside a plugin.
    pub fn settings(&self, rng: &mut Rng) -> Vec<u8> {
        let document = self.settings.document(rng);
        let text = if rng.bool() { document.to_string() } else { block(&document) };
        match rng.u32(..8) {
            0 => mutated(text.as_bytes(), rng),
            1 => with_pieces(text, rng).into_bytes(),
            2 => unfolding(&text, rng).into_bytes(),
            3 => [text.as_bytes(), b"---\n", text.as_bytes()].concat(),
            4 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            _ => text.into_bytes(),
        }
    }
}

fn grammar(schema: &Path) -> anyhow::Result<Grammar> {
    let text = std::fs::read(schema).with_context(|| format!("read {}", schema.display()))?;
    Ok(Grammar::new(serde_json::from_slice(&text)?, WORDS))
}

fn mutated(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    Mutator { words: WORDS, length_max: TEXT_BYTES_MAX }.mutate(text, text, rng)
}

/// Lines of `key: value`, as people write them.
fn block(document: &Value) -> String {
    let Some(object) = document.as_object() else { return document.to_string() };
    object.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
}

fn with_pieces(mut text: String, rng: &mut Rng) -> String {
    for _ in 0..rng.u32(1..5) {
        let mut at = rng.usize(..=text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, rng.choice(PIECES).expect("there are some"));
    }
    text
}

/// Aliases that unfold into more and more, or levels without end, as the plugin's own configuration.
fn unfolding(text: &str, rng: &mut Rng) -> String {
    let mut lines = format!("{text}\nconfig:\n  - &a0 [lol, lol]\n");
    match rng.bool() {
        true => {
            for level in 1..rng.u32(2..30) {
                let before = level - 1;
                lines += &format!("  - &a{level} [*a{before}, *a{before}, *a{before}]\n");
            }
        }
        false => {
            let levels = 1 << rng.u32(1..17);
            lines += &format!("  - {}{}\n", "[".repeat(levels), "]".repeat(levels));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_texts() {
        let documents = Documents::new().expect("the schemas are there");
        for seed in 0..20 {
            let rng = || Rng::with_seed(seed);
            assert_eq!(documents.settings(&mut rng()), documents.settings(&mut rng()));
            assert_eq!(documents.descriptor(&mut rng()), documents.descriptor(&mut rng()));
        }
    }

    #[test]
    fn texts_are_of_all_kinds() {
        let documents = Documents::new().expect("the schemas are there");
        let check = |name: &str, parts: &[&str], make: &dyn Fn(&mut Rng) -> Vec<u8>| {
            let mut missing = parts.to_vec();
            for seed in 0..400 {
                let text = make(&mut Rng::with_seed(seed));
                let text = String::from_utf8_lossy(&text);
                missing.retain(|part| !text.contains(part));
                if missing.is_empty() {
                    return;
                }
            }
            panic!("no {name} with {missing:?}");
        };
        let parts = [
            "\"limits\":",
            "limits: ",
            "&a9 [*a8",
            "[[[[[[[[",
            "---\n",
            "k\0i\0n\0d\0",
            "&a [*a]",
            "1000000",
        ];
        check("settings", &parts, &|rng| documents.settings(rng));
        let parts = ["labelSelector", "enqueue", "cron", "\"version\"", "shards"];
        check("descriptor", &parts, &|rng| documents.descriptor(rng));
        let is_valid = |seed: &u64| {
            let text = documents.descriptor(&mut Rng::with_seed(*seed));
            serde_json::from_slice::<Value>(&text).is_ok()
        };
        assert!((0..50).filter(is_valid).count() > 25);
    }
}
