//! The contract with plugins as Rust types, generated from `plugin-sdk/wit`.

#![allow(missing_docs, clippy::all)]

wasmtime::component::bindgen!({
    path: "../../plugin-sdk/wit",
    inline: "
        package informant:host;
        world called {
            include informant:plugin/full@0.1.0;
            export informant:plugin/flat-handler@0.1.0;
        }
    ",
    world: "informant:host/called",
    imports: {
        // A wait for an outside answer lets the thread's other plugins go on.
        "informant:plugin/kube": async | trappable,
        "informant:plugin/http": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    ownership: Borrowing { duplicate_if_necessary: true },
});
