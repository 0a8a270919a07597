//! A plugin that answers `describe` with whatever bytes it is made of, and takes every event.

use anyhow::Context;

/// Where the descriptor lies in its memory.
const AT: usize = 4096;
/// A page of WebAssembly's memories.
const PAGE: usize = 1 << 16;

/// The plugin, a core module, whose descriptor these bytes are. Each event has it carry out these instructions of WebAssembly text, which may be none.
pub fn plugin(descriptor: &[u8], instructions: &str) -> anyhow::Result<Vec<u8>> {
    let end = AT + descriptor.len();
    let (heap, pages) = (end.next_multiple_of(PAGE), end.div_ceil(PAGE) + 2);
    // Ok, and where the descriptor is.
    let words = [0, AT as u32, descriptor.len() as u32].map(u32::to_le_bytes).concat();
    let (words, descriptor) = (escaped(&words), escaped(descriptor));
    let text = format!(
        r#"(module
          (memory (export "memory") {pages})
          (global $heap (mut i32) (i32.const {heap}))
          (data (i32.const 256) "{words}")
          (data (i32.const {AT}) "{descriptor}")
          (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
            (local $block i32)
            (local.set $block (global.get $heap))
            (global.set $heap (i32.and
              (i32.add (i32.add (global.get $heap) (local.get $size)) (i32.const 7))
              (i32.const -8)))
            (local.get $block))
          (func $free (param i32) (global.set $heap (i32.const {heap})))
          (func (export "informant:plugin/lifecycle@0.1.0#describe") (param i32 i32) (result i32)
            (i32.const 256))
          (func (export "informant:plugin/lifecycle@0.1.0#start") (param i32 i32) (result i32)
            (i32.const 320))
          (func (export "informant:plugin/lifecycle@0.1.0#stop"))
          (func (export "informant:plugin/handler@0.1.0#handle") (param i32) (result i32)
            {instructions}
            (i32.const 320))
          (export "cabi_post_informant:plugin/handler@0.1.0#handle" (func $free)))"#
    );
    wat::parse_str(&text).context("the module is well formed")
}

/// Bytes as a string of WebAssembly text.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for byte in bytes {
        match byte {
            b' ' | b'!' | b'#'..=b'[' | b']'..=b'~' => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\{other:02x}")),
        }
    }
    text
}
