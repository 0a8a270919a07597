//! The contract in `../wit`, as Rust: generated while compiling, never edited. Everything else in this
//! crate is a layer over it; plugins reach it through [`export_plugin!`](crate::export_plugin) only.

#![allow(unsafe_code, missing_docs, clippy::all, reason = "generated code")]

wit_bindgen::generate!({
    path: "../wit",
    world: "plugin",
    generate_all,
    pub_export_macro: true,
    additional_derives: [PartialEq, Eq, Hash],
});

/// Exports that not every plugin has.
pub mod stateful {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package informant:sdk; world carries-state { export informant:plugin/stateful@0.1.0; }",
        world: "informant:sdk/carries-state",
        generate_all,
        pub_export_macro: true,
    });
}

pub mod reconciler {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package informant:sdk; world works-on-keys { export informant:plugin/reconciler@0.1.0; }",
        world: "informant:sdk/works-on-keys",
        with: { "informant:plugin/types@0.1.0": crate::bindings::informant::plugin::types },
        generate_all,
        pub_export_macro: true,
    });
}

pub mod timer {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package informant:sdk; world hears-of-time { export informant:plugin/timer@0.1.0; }",
        world: "informant:sdk/hears-of-time",
        with: { "informant:plugin/types@0.1.0": crate::bindings::informant::plugin::types },
        generate_all,
        pub_export_macro: true,
    });
}

pub mod sync_aware {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package informant:sdk; world hears-of-sync { export informant:plugin/sync-aware@0.1.0; }",
        world: "informant:sdk/hears-of-sync",
        with: { "informant:plugin/types@0.1.0": crate::bindings::informant::plugin::types },
        generate_all,
        pub_export_macro: true,
    });
}
