//! From a plugin file's bytes to a component that keeps the contract, before the compilation. All checks but that of
//! the envelope run in the compiler process (`guest/compiler/program.rs`).
//!
//! Three forms are accepted: a component; a core module with a `component-type` section, which wit-bindgen writes for
//! `wasm32-unknown-unknown`; and a bare core module that exports the contract's names. A module with imports of WASI
//! preview 1, as Go's and C's have, gets an adapter to WASI 0.2.

mod envelope;
mod exported;
mod function_names;
mod tables;
pub(crate) mod wasi;

pub(crate) use envelope::check_envelope;
pub(crate) use exported::Exported;
pub(crate) use function_names::FUNCTION_NAME_BYTES_MAX;
use function_names::check_function_names;
use std::collections::BTreeSet;
pub(crate) use tables::{
    FILE_NAME_BYTES_MAX, FILE_NAMES_MAX, FILE_TYPE_BYTES_MAX, FILE_TYPES_MAX, Tables,
};
pub use wasi::WasiImports;
use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
use wasmparser::{BinaryReaderError, Parser, Payload};
use wit_component::ComponentEncoder;
use wit_parser::{Resolve, WorldId, WorldItem};

/// The version of the contract package that this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";

const CONTRACT: &str = include_str!("../../../../plugin-sdk/wit/plugin.wit");
const PACKAGE: &str = "informant:plugin/";
const WASI: &str = "wasi:";
/// The module name of WASI preview 1 in core modules.
const FIRST_WASI: &str = "wasi_snapshot_preview1";

/// Interfaces of the contract that this host links.
const IMPORTS_OFFERED: [&str; 10] = [
    TYPES,
    "log",
    "indexer",
    "event-data",
    "host-info",
    "state",
    "workqueue",
    "metrics",
    "kube",
    "http",
];
/// The interface among them that has no functions.
const TYPES: &str = "types";
/// The interface that every plugin exports.
const EXPORT_NEEDED: &str = "lifecycle";
/// The interfaces for a plugin's work: every plugin exports at least one.
const EXPORTS_WORKED: [&str; 3] = ["handler", "reconciler", "timer"];
/// Interfaces of the contract that this host calls if they are exported.
const EXPORTS_OPTIONAL: [&str; 3] = ["flat-handler", "stateful", "sync-aware"];

/// The reason for which a file is not a plugin for this host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ContractError {
    /// The file has no wasm magic bytes.
    #[error("not a WebAssembly file ({0}); drop in the .wasm that your compiler wrote")]
    NotWasm(&'static str),
    /// The file begins like wasm, and is then cut off or damaged.
    #[error("the file is damaged or incomplete: {0}")]
    Malformed(String),
    /// A backtrace would copy the name for each frame.
    #[error(
        "a function has a name of {0} bytes, at most {FUNCTION_NAME_BYTES_MAX} are allowed; `wasm-tools strip` removes names"
    )]
    LongFunctionName(usize),
    /// The host would keep too many items of the file.
    #[error(
        "it has {found} {what}, all its modules together, and at most {most} are allowed; leave out libraries that it does not use, or make several plugins of it"
    )]
    Table {
        /// The kind of these items.
        what: &'static str,
        found: usize,
        most: usize,
    },
    /// Compiled machine code, which would run unchecked when it is loaded.
    #[error(
        "compiled code (.cwasm) is not accepted, because loading it would run it unchecked; drop in the .wasm it was made from"
    )]
    Precompiled,
    /// The plugin speaks another version of the contract.
    #[error(
        "made for contract {found} ({by}), but this host speaks informant:plugin@{CONTRACT_VERSION}; rebuild the plugin with an SDK for {CONTRACT_VERSION}, or use a host that speaks {found}"
    )]
    OtherVersion {
        /// For example `informant:plugin@0.2.0`.
        found: String,
        /// The part of that version, for example `it imports indexer`.
        by: String,
    },
    /// The exports are not those of a plugin.
    #[error(
        "does not export {missing}: a plugin exports lifecycle and at least one of {} of informant:plugin@{CONTRACT_VERSION} (exports found: {found})",
        EXPORTS_WORKED.join(", ")
    )]
    MissingExport {
        /// The first missing interface, or the interfaces of which one is needed.
        missing: String,
        /// The exports that were found.
        found: String,
    },
    /// The host does not offer this import.
    #[error(
        "imports {import}, which this host does not offer; it offers {} of informant:plugin@{CONTRACT_VERSION}{hint}",
        offered()
    )]
    UnknownImport {
        /// The import's name.
        import: String,
        /// Where the import usually comes from, or empty.
        hint: &'static str,
    },
    /// The names fit, the types do not.
    #[error("does not keep the contract informant:plugin@{CONTRACT_VERSION}: {0}")]
    Mismatch(String),
}

impl ContractError {
    fn malformed(error: &BinaryReaderError, file: &[u8]) -> Self {
        Self::Malformed(format!("{error}; its length is {} bytes", file.len()))
    }
}

fn offered() -> String {
    IMPORTS_OFFERED[1..].join(", ")
}

/// A component's bytes that keep the contract.
#[derive(Debug)]
pub(crate) struct CheckedComponent {
    /// The component, encoded from a core module if the file was one.
    pub bytes: Vec<u8>,
    /// The sizes of its declarations.
    pub tables: Tables,
    /// The imported interfaces of the contract, such as `log`.
    pub imports: Vec<String>,
    /// The exported interfaces; those of other packages with their full names.
    pub exports: Vec<String>,
}

/// Checks a plugin file, and encodes a core module as a component.
///
/// This takes 0.1 ms for a component and up to 50 ms for a large core module; nothing is compiled.
pub(crate) fn check(file: Vec<u8>) -> Result<CheckedComponent, ContractError> {
    match kind(&file)? {
        ComponentForm::Component => check_component(file),
        ComponentForm::ModuleWithType => check_component(encode(&file)?),
        ComponentForm::BareModule { exports, imports } => {
            let interfaces = exports.iter().filter_map(|name| name.split_once('#')).map(|(i, _)| i);
            let interfaces: BTreeSet<&str> = interfaces.collect();
            check_exports(interfaces.iter().copied())?;
            imports.iter().filter(|name| ours(name).is_some()).try_for_each(|it| check_ours(it))?;
            let (resolve, world) = world_for(Resolve::default(), interfaces.iter().copied(), &[])?;
            let mut module = file;
            let encoding = wit_component::StringEncoding::UTF8;
            wit_component::embed_component_metadata(&mut module, &resolve, world, encoding)
                .map_err(mismatch)?;
            check_component(encode(&module)?)
        }
    }
}

enum ComponentForm {
    Component,
    ModuleWithType,
    /// With the full names of exports, and the modules of imports.
    BareModule {
        exports: Vec<String>,
        imports: BTreeSet<String>,
    },
}

fn kind(file: &[u8]) -> Result<ComponentForm, ContractError> {
    check_envelope(file)?;
    if Parser::is_component(file) {
        return Ok(ComponentForm::Component);
    }
    Tables::of(file)?;
    let malformed = |error| ContractError::malformed(&error, file);
    let (mut exports, mut imports) = (Vec::new(), BTreeSet::new());
    let mut typed = false;
    for payload in Parser::new(0).parse_all(file) {
        match payload.map_err(malformed)? {
            Payload::CustomSection(section) if section.name().starts_with("component-type") => {
                typed = true;
            }
            Payload::ExportSection(section) => {
                for export in section {
                    exports.push(export.map_err(malformed)?.name.to_owned());
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imports.insert(import.map_err(malformed)?.module.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(if typed {
        ComponentForm::ModuleWithType
    } else {
        ComponentForm::BareModule { exports, imports }
    })
}

fn encode(module: &[u8]) -> Result<Vec<u8>, ContractError> {
    let mut encoder = ComponentEncoder::default().module(module).map_err(mismatch)?;
    if imports_first_wasi(module) {
        let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
        encoder = encoder.adapter(FIRST_WASI, adapter).map_err(mismatch)?;
    }
    encoder.validate(true).encode().map_err(mismatch)
}

/// Whether the module imports WASI preview 1. The module is known to be well-formed so far.
fn imports_first_wasi(module: &[u8]) -> bool {
    Parser::new(0).parse_all(module).any(|payload| match payload {
        Ok(Payload::ImportSection(section)) => section
            .into_imports()
            .any(|import| import.is_ok_and(|import| import.module == FIRST_WASI)),
        _ => false,
    })
}

/// Joins the error's whole chain on one line.
fn mismatch(error: impl std::fmt::Display) -> ContractError {
    let text = format!("{error:#}");
    ContractError::Mismatch(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

const WASI_HINT: &str =
    ", and of WASI 0.2 cli, clocks, filesystem, io, random and sockets, most of it empty";

fn check_component(bytes: Vec<u8>) -> Result<CheckedComponent, ContractError> {
    let tables = Tables::of(&bytes)?;
    let decoded = wit_component::decode(&bytes)
        .map_err(|error| ContractError::Malformed(format!("{error:#}")))?;
    let wit_component::DecodedWasm::Component(found, found_world) = decoded else {
        return Err(ContractError::MissingExport {
            missing: "any function".to_owned(),
            found: "only a WIT package".to_owned(),
        });
    };
    check_function_names(&bytes)?;
    let found_world = &found.worlds[found_world];
    let name = |key: &wit_parser::WorldKey| found.name_world_key(key);
    let exports: Vec<String> = found_world.exports.keys().map(name).collect();
    check_exports(exports.iter().map(String::as_str))?;
    for (key, item) in &found_world.imports {
        check_import(&found, &name(key), item)?;
    }
    let imports = found_world.imports.keys().map(name);
    let (wasi, imports): (Vec<String>, Vec<String>) =
        imports.partition(|import| import.starts_with(WASI));
    let (resolve, world) =
        world_for(without_ours(found), exports.iter().map(String::as_str), &wasi)?;
    wit_component::targets(&resolve, world, &bytes).map_err(mismatch)?;
    let short = |names: Vec<String>| {
        let short = |name: String| ours(&name).map_or(name.clone(), |(short, _)| short.to_owned());
        names.into_iter().map(short).filter(|name| name != TYPES).collect()
    };
    Ok(CheckedComponent { bytes, tables, imports: short(imports), exports: short(exports) })
}

/// The decoded component's packages, with the contract's package renamed so that the host's own can be added.
fn without_ours(mut found: Resolve) -> Resolve {
    let is_ours =
        |name: &wit_parser::PackageName| format!("{}:{}/", name.namespace, name.name) == PACKAGE;
    found.package_names.retain(|name, _| !is_ours(name));
    for (_, package) in found.packages.iter_mut().filter(|(_, package)| is_ours(&package.name)) {
        package.name.namespace = "found".to_owned();
    }
    found
}

/// Splits `informant:plugin/handler@0.1.0` into `("handler", "0.1.0")`; `None` for another package.
fn ours(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PACKAGE)?.split_once('@')
}

fn check_exports<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<(), ContractError> {
    for (interface, version) in names.clone().filter_map(ours) {
        check_version(version, || format!("it exports {interface}"))?;
    }
    let has = |wanted: &[&str]| {
        names.clone().filter_map(ours).any(|(interface, _)| wanted.contains(&interface))
    };
    let missing = if !has(&[EXPORT_NEEDED]) {
        format!("{PACKAGE}{EXPORT_NEEDED}@{CONTRACT_VERSION}")
    } else if !has(&EXPORTS_WORKED) {
        format!("any of {}", EXPORTS_WORKED.join(", "))
    } else {
        return Ok(());
    };
    let found: Vec<&str> = names.collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    Err(ContractError::MissingExport { missing, found })
}

/// Only the exact version is accepted: a newer patch may have functions that this host lacks.
fn check_version(version: &str, by: impl FnOnce() -> String) -> Result<(), ContractError> {
    if version == CONTRACT_VERSION {
        return Ok(());
    }
    Err(ContractError::OtherVersion { found: format!("informant:plugin@{version}"), by: by() })
}

fn check_import(found: &Resolve, import: &str, item: &WorldItem) -> Result<(), ContractError> {
    if import.starts_with(WASI) {
        let functions = match item {
            WorldItem::Interface { id, .. } => Some(&found.interfaces[*id].functions),
            _ => None,
        };
        let functions = functions.into_iter().flat_map(|functions| functions.keys());
        return match wasi::refusal(import, functions.map(String::as_str)) {
            None => Ok(()),
            Some(import) => Err(ContractError::UnknownImport { import, hint: WASI_HINT }),
        };
    }
    check_ours(import)
}

/// Checks an import of the contract.
fn check_ours(import: &str) -> Result<(), ContractError> {
    let unknown = || ContractError::UnknownImport { import: import.to_owned(), hint: "" };
    let (interface, version) = ours(import).ok_or_else(unknown)?;
    check_version(version, || format!("it imports {interface}"))?;
    IMPORTS_OFFERED.contains(&interface).then_some(()).ok_or_else(unknown)
}

/// A world with all imports that a plugin may have and exactly the exports that were found. So the check of types
/// names the one wrong item. Imports of WASI are taken as they are in `resolve`: their names were checked, and the
/// linker checks their types.
fn world_for<'a>(
    mut resolve: Resolve,
    exports: impl Iterator<Item = &'a str>,
    wasi: &[String],
) -> Result<(Resolve, WorldId), ContractError> {
    let mut text = format!(
        "package informant:found;\nworld found {{\n  include {PACKAGE}imports@{CONTRACT_VERSION};\n"
    );
    for (interface, _) in exports.filter_map(ours) {
        let worked = EXPORTS_WORKED.iter().chain(&EXPORTS_OPTIONAL);
        if worked.chain([&EXPORT_NEEDED]).any(|known| *known == interface) {
            text.push_str(&format!("  export {PACKAGE}{interface}@{CONTRACT_VERSION};\n"));
        }
    }
    for interface in wasi {
        text.push_str(&format!("  import {interface};\n"));
    }
    text.push('}');
    resolve.push_str("plugin.wit", CONTRACT).map_err(mismatch)?;
    let package = resolve.push_str("found.wit", &text).map_err(mismatch)?;
    let world = resolve.select_world(&[package], Some("found")).map_err(mismatch)?;
    Ok((resolve, world))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(file: &[u8], expect: &str) {
        let error = check(file.to_vec()).expect_err("this is no plugin").to_string();
        assert!(error.contains(expect), "{error}");
    }

    fn module(text: &str) -> Vec<u8> {
        wat::parse_str(text).expect("the test's module is well formed")
    }

    #[test]
    fn a_file_that_was_cut_off_is_damaged() {
        let mut whole =
            module("(module (func (export \"f\")) (memory 1) (data (i32.const 0) \"abc\"))");
        whole.truncate(whole.len() - 3);
        check_error(&whole, "damaged or incomplete");
    }

    #[test]
    fn missing_exports_are_named() {
        check_error(&module("(module)"), "does not export informant:plugin/lifecycle@0.1.0");
        let only_lifecycle = r#"(module (func (export "informant:plugin/lifecycle@0.1.0#stop")))"#;
        check_error(
            &module(only_lifecycle),
            "does not export any of handler, reconciler, timer: a plugin exports lifecycle and at least one of",
        );
    }

    /// A core module and a component with one interface of this version.
    #[track_caller]
    fn check_version_refused(interface: &str, version: &str, by: &str) {
        let named = |it: &str| match it == interface {
            true => format!("informant:plugin/{it}@{version}"),
            false => format!("informant:plugin/{it}@{CONTRACT_VERSION}"),
        };
        let [lifecycle, handler, log] = ["lifecycle", "handler", "log"].map(named);
        let core = format!(
            r#"(module (import "{log}" "f" (func)) (func (export "{lifecycle}#stop")) (func (export "{handler}#handle")))"#
        );
        let component = format!(
            r#"(component (import "{log}" (instance)) (instance $i) (export "{lifecycle}" (instance $i)) (export "{handler}" (instance $i)))"#
        );
        for file in [core, component] {
            let expect = format!(
                "made for contract informant:plugin@{version} ({by}), but this host speaks informant:plugin@0.1.0; rebuild the plugin with an SDK for 0.1.0, or use a host that speaks informant:plugin@{version}"
            );
            check_error(&module(&file), &expect);
        }
    }

    #[test]
    fn another_version_of_the_contract_is_named() {
        check_version_refused("handler", "0.2.0", "it exports handler");
        check_version_refused("lifecycle", "1.0.0", "it exports lifecycle");
        check_version_refused("log", "0.2.0", "it imports log");
        // A linker would accept these as compatible, and leave out functions that this host lacks.
        check_version_refused("handler", "0.1.7", "it exports handler");
        check_version_refused("log", "0.1.7", "it imports log");
    }

    #[test]
    fn a_core_modules_imports_are_looked_at_before_it_becomes_a_component() {
        let text = r#"(module (import "informant:plugin/telepathy@0.1.0" "f" (func))
            (func (export "informant:plugin/lifecycle@0.1.0#stop"))
            (func (export "informant:plugin/handler@0.1.0#handle")))"#;
        let expect = "imports informant:plugin/telepathy@0.1.0, which this host does not offer";
        check_error(&module(text), expect);
    }

    #[test]
    fn imports_that_nobody_offers_are_named() {
        let file = |import: &str, functions: &str| {
            let text = format!(
                r#"(component (import "{import}" (instance {functions}))
                (instance $i) (export "informant:plugin/lifecycle@0.1.0" (instance $i))
                (export "informant:plugin/handler@0.1.0" (instance $i)))"#
            );
            module(&text)
        };
        for unknown in [
            "informant:plugin/telepathy@0.1.0",
            "wasi:http/outgoing-handler@0.2.6",
            "wasi:cli/environment@0.3.0",
            "wasi:keyvalue/store@0.2.0",
        ] {
            let expect = format!("imports {unknown}, which this host does not offer");
            check_error(&file(unknown, ""), &expect);
        }
        let unknown = r#"(export "leave" (func))"#;
        let expect = "imports wasi:cli/exit@0.2.6#leave, which this host does not offer; it";
        check_error(&file("wasi:cli/exit@0.2.6", unknown), expect);
        // An offered interface is no reason to refuse the file.
        check_error(&file("wasi:cli/environment@0.2.6", ""), "does not keep the contract");
    }

    /// A module for WASI preview 1 becomes a component that imports the adapter's needs.
    #[test]
    fn a_module_for_the_first_wasi_gets_an_adapter() {
        let import = r#"(module (import "wasi_snapshot_preview1" "random_get"
            (func (param i32 i32) (result i32))) (import"#;
        let text = include_str!("../../../../plugins/hello-wat/hello-wat.wat");
        let checked = check(module(&text.replacen("(module\n  (import", import, 1)));
        let checked = checked.expect("it is a plugin");
        assert_eq!(checked.imports, ["log"]);
        let decoded = wit_component::decode(&checked.bytes).expect("it is a component");
        let wit_component::DecodedWasm::Component(resolve, world) = decoded else {
            panic!("it is a WIT package")
        };
        let imports = resolve.worlds[world].imports.keys();
        let mut imports = imports.map(|import| resolve.name_world_key(import));
        assert!(imports.any(|name| name.starts_with("wasi:random/random@0.2.")));
        let unknown = text.replacen("(module\n  (import", &import.replace("random_get", "f"), 1);
        check_error(&module(&unknown), "does not keep the contract");
    }
}
