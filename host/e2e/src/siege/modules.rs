//! Core modules and components that wasm-smith makes: of any shape, or with the contract's exports and imports, so that they come as far as
//! the compiler, the linker and the first call.

use arbitrary::{Arbitrary as _, Unstructured};
use fastrand::Rng;
use wasm_smith::{Component, Config, Module};

/// The exports of a plugin that handles events, as a core module has them.
const EXPORTS: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  (func (export "informant:plugin/lifecycle@0.1.0#describe") (param i32 i32) (result i32) unreachable)
  (func (export "informant:plugin/lifecycle@0.1.0#start") (param i32 i32) (result i32) unreachable)
  (func (export "informant:plugin/lifecycle@0.1.0#stop") unreachable)
  (func (export "informant:plugin/handler@0.1.0#handle") (param i32) (result i32) unreachable)
  (func (export "cabi_post_informant:plugin/handler@0.1.0#handle") (param i32) unreachable))"#;

/// Functions of the contract, with the types that the canonical ABI gives them.
const IMPORTS: [(&str, &str, &str); 10] = [
    ("host-info", "is-leader", "(result i32)"),
    ("host-info", "plugin-name", "(param i32)"),
    ("host-info", "shard", "(param i32)"),
    ("log", "enabled", "(param i32) (result i32)"),
    ("log", "log", "(param i32 i32 i32 i32 i32)"),
    ("event-data", "json", "(param i32 i32)"),
    ("event-data", "changed", "(param i32 i32) (result i32)"),
    ("workqueue", "add", "(param i32 i32)"),
    ("metrics", "gauge-set", "(param i32 i32 i32 i32 f64 i32)"),
    ("state", "get", "(param i32 i32 i32)"),
];

/// Which of a plugin's sides a module has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Any,
    Exports,
    ExportsAndImports,
    Component,
}

const SHAPES: [Shape; 4] = [Shape::Any, Shape::Exports, Shape::ExportsAndImports, Shape::Component];

/// A file of one of the shapes.
pub fn file(rng: &mut Rng) -> Vec<u8> {
    let shape = *rng.choice(&SHAPES).expect("there are some");
    let length = 1 << rng.u32(8..16);
    let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(length).collect();
    let made = made(shape, &bytes);
    // Where the bytes did not suffice they are a file that is nothing else.
    made.unwrap_or_else(|_| [b"\0asm\x01\0\0\0", bytes.as_slice()].concat())
}

fn made(shape: Shape, bytes: &[u8]) -> arbitrary::Result<Vec<u8>> {
    let mut choices = Unstructured::new(bytes);
    let mut config = Config::arbitrary(&mut choices)?;
    if shape == Shape::Component {
        // Without room for any of these a component has nothing but types.
        (config.max_instances, config.max_modules) = (100, 100);
        (config.max_components, config.max_values) = (100, 100);
        return Ok(Component::new(config, &mut choices)?.to_bytes());
    }
    // Three quarters would be refused for what engines mostly do not have.
    config.custom_page_sizes_enabled = false;
    config.allow_invalid_funcs = choices.ratio(1, 8)?;
    config.generate_custom_sections = choices.ratio(1, 4)?;
    if shape != Shape::Any {
        (config.max_memories, config.memory64_enabled) = (1, false);
        (config.threads_enabled, config.exceptions_enabled) = (false, false);
        config.gc_enabled = false;
        config.exports = Some(assembled(EXPORTS));
        config.max_imports = 0;
    }
    if shape == Shape::ExportsAndImports {
        config.max_imports = IMPORTS.len();
        config.available_imports = Some(assembled(&imports()));
    }
    Ok(Module::new(config, &mut choices)?.to_bytes())
}

fn imports() -> String {
    let lines = IMPORTS.map(|(interface, name, types)| {
        format!(r#"(import "informant:plugin/{interface}@0.1.0" "{name}" (func {types}))"#)
    });
    format!("(module {})", lines.join("\n"))
}

fn assembled(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is a constant that assembles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_made_and_the_same_bytes_make_the_same_file() {
        let mut rng = Rng::with_seed(1);
        for shape in SHAPES {
            let made_ones = (0..10).filter(|_| {
                let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(20_000).collect();
                let first = made(shape, &bytes);
                assert_eq!(first.as_ref().ok(), made(shape, &bytes).as_ref().ok());
                first.is_ok_and(|file| file.starts_with(b"\0asm"))
            });
            assert!(made_ones.count() > 5, "{shape:?}");
        }
    }

    #[test]
    fn a_module_of_the_contract_has_its_exports() {
        let found = (0..20).filter(|seed| {
            let mut rng = Rng::with_seed(*seed);
            let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(20_000).collect();
            let file = made(Shape::ExportsAndImports, &bytes).unwrap_or_default();
            let has = |text: &[u8]| file.windows(text.len()).any(|window| window == text);
            has(b"lifecycle@0.1.0#describe") && has(b"handler@0.1.0#handle")
        });
        assert!(found.count() > 10);
    }
}
