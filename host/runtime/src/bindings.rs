//! The contract with plugins as Rust types, generated from `plugin-sdk/wit`.

#![allow(missing_docs, clippy::all)]

wasmtime::component::bindgen!({
    path: "../../plugin-sdk/wit",
    world: "stateful-plugin",
    imports: { default: trappable },
    exports: { default: async },
    ownership: Borrowing { duplicate_if_necessary: true },
});
