//! What the host keeps of a plugin file for as long as its version: the plugin's account has all of it, whatever the file is made of, and not much more.

use allocation_counter::measure;
use informant_runtime::bench_parts::CompiledFile;
use wasm_encoder::Encode as _;

/// A whole plugin as WebAssembly text, and the contract.
const HELLO: &str = include_str!("../../../../plugins/hello-wat/hello-wat.wat");
const CONTRACT: &str = include_str!("../../../../plugin-sdk/wit/plugin.wit");
/// The account may have so many times what is kept. What a type of a component takes depends on its kind.
const ACCOUNT_TIMES: u64 = 2;

/// A core module with a function, which is `$f`.
const CORE: &str = r#"(core module $core (func (export "f") (param i32)))
    (core instance $core (instantiate $core)) (alias core export $core "f" (core func $f))"#;

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("it is well formed")
}

fn each(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

/// The plugin with more in its module.
fn module(more: &str) -> Vec<u8> {
    let end = HELLO.trim_end().strip_suffix(')').expect("it ends a module");
    wat(&format!("{end}{more})"))
}

/// The plugin as a component that makes an instance of another one, of this text.
fn component(inner: &str) -> Vec<u8> {
    let world = "package a:b; world w {
        import informant:plugin/log@0.1.0;
        export informant:plugin/lifecycle@0.1.0;
        export informant:plugin/handler@0.1.0;
    }";
    let mut resolve = wit_parser::Resolve::default();
    resolve.push_str("plugin.wit", CONTRACT).expect("the contract");
    let package = resolve.push_str("world.wit", world).expect("a world of it");
    let world = resolve.select_world(&[package], Some("w")).expect("it is there");
    let (mut module, utf8) = (wat(HELLO), wit_component::StringEncoding::UTF8);
    wit_component::embed_component_metadata(&mut module, &resolve, world, utf8).expect("a module");
    let encoder = wit_component::ComponentEncoder::default().module(&module).expect("a plugin");
    let plugin = encoder.validate(false).encode().expect("a component");
    let is_component = |payload: &wasmparser::Payload<'_>| {
        matches!(payload, wasmparser::Payload::ComponentSection { .. })
    };
    let payloads = wasmparser::Parser::new(0).parse_all(&plugin);
    let before = payloads.filter(|it| it.as_ref().is_ok_and(is_component)).count();
    let section = |kind: u8, content: &[u8]| [&[kind][..], &leb(content.len()), content].concat();
    let inner = section(4, &wat(&format!("(component {CORE} {inner})")));
    let instance = section(5, &[&[1, 0][..], &leb(before), &[0]].concat());
    [plugin, inner, instance].concat()
}

fn leb(number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode(&mut bytes);
    bytes
}

#[track_caller]
fn check(file: Vec<u8>) {
    let compiled = CompiledFile::compile(file).expect("it is a plugin");
    let mut loaded = None;
    let allocated = measure(|| loaded = compiled.load().ok()).bytes_current as u64;
    let account = loaded.expect("it can be loaded").account();
    // Code is mapped and not allocated.
    let kept = allocated + compiled.code_bytes();
    assert!(kept <= account, "{kept} bytes are kept, the account has {account}");
    let most = kept * ACCOUNT_TIMES;
    assert!(account <= most, "{kept} bytes are kept, the account has {account}");
}

/// Invariant 32.
#[test]
fn the_account_has_all_that_is_kept_of_a_file() {
    check(module(""));
    // Fewer than a file may have, and just more than a table of 4,096 or 8,192 places takes: the next one is twice as large.
    let params = |number: usize| -> String {
        let types = ["i32", "i64", "f32", "f64"];
        (0..20).map(|at| [" ", types[number >> (2 * at).min(30) & 3]].concat()).collect()
    };
    check(module(&each(3_700, |number| format!("(type (func (param{})))", params(number)))));
    check(module(&each(7_300, |number| format!("(export \"{number:0>30}\" (func 0))"))));
    check(module(&each(7_300, |number| format!("(export \"{number}\" (func 0))"))));
    let imports = each(3_700, |number| format!("(import \"m\" \"{number}\" (func (param i32)))"));
    let exports = each(3_700, |number| format!("(export \"{number}\" (func $f))"));
    let instance = "(core instance (instantiate $b (with \"m\" (instance $m))))";
    for times in [1, 9] {
        let instances = instance.repeat(times);
        let text = format!("(core module $b {imports}) (core instance $m {exports}) {instances}");
        check(component(&text));
    }
    let cases = each(500, |number| format!(" \"c{number}\""));
    let enums = each(20, |number| {
        let case = format!("\"of{number}\"");
        format!(
            "(type $t{number} (enum{cases} {case})) (export $e{number} \"e{number}\" (type $t{number}))
            (func (export \"f{number}\") (param \"x\" $e{number}) (canon lift (core func $f)))"
        )
    });
    check(component(&enums));
}
