//! The contract with plugins as Rust types, generated from `plugin-sdk/wit`.

#![allow(missing_docs, clippy::all)]

wasmtime::component::bindgen!({
    path: "../../plugin-sdk/wit",
    inline: "
        package informant:host;
        world called {
            include informant:plugin/stateful-plugin@0.1.0;
            export informant:plugin/sync-aware@0.1.0;
        }
    ",
    world: "informant:host/called",
    imports: { default: trappable },
    exports: { default: async },
    ownership: Borrowing { duplicate_if_necessary: true },
});
