//! What one instance of a component takes of the host's memory beside its linear memories and the elements of its
//! tables: globals, references to functions, what is imported. Nothing at run time counts these bytes, and a file of
//! some kilobytes can ask for gigabytes of them, so they are added up before anything is compiled.

use wasmparser::{Validator, WasmFeatures};
use wasmtime_environ::component::{
    ComponentTypesBuilder, GlobalInitializer, InstantiateModule, Translator, VMComponentOffsets,
};
use wasmtime_environ::{HostPtr, ScopeVec, Tunables, VMOffsets};

/// For each core instance, what the host keeps around its data: handles, lists of memories and tables.
const AROUND_INSTANCE_BYTES: u64 = 1 << 10;

/// Adds up what is taken by all core instances that the component makes when it is instantiated. wasmtime
/// works out the same numbers from the same translation when it compiles the component.
pub(super) fn instance_bytes(component: &[u8]) -> Result<u64, wasmtime::Error> {
    let tunables = Tunables::default_host();
    // What the engine does not take is refused when it compiles.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut types = ComponentTypesBuilder::new(&validator);
    let scope = ScopeVec::new();
    let translator = Translator::new(&tunables, &mut validator, &mut types, &scope);
    let (translation, modules) = translator.translate(component)?;
    let component = &translation.component;
    let of_component = VMComponentOffsets::new(HostPtr, component).size_of_vmctx();
    let mut bytes = u64::from(of_component);
    for initializer in &component.initializers {
        if let GlobalInitializer::InstantiateModule(InstantiateModule::Static(module, _), _) =
            initializer
        {
            let offsets = VMOffsets::new(HostPtr, &modules[*module].module);
            bytes += u64::from(offsets.size_of_vmctx()) + AROUND_INSTANCE_BYTES;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that makes so many instances of a core module with so many globals.
    fn component(globals: usize, instances: usize) -> Vec<u8> {
        let globals = "(global i64 (i64.const 0))".repeat(globals);
        let instances = "(core instance (instantiate $m))".repeat(instances);
        let text = format!("(component (core module $m {globals}) {instances})");
        wat::parse_str(text).expect("it is well formed")
    }

    #[track_caller]
    fn check(globals: usize, instances: usize, expect: std::ops::RangeInclusive<u64>) {
        let bytes = instance_bytes(&component(globals, instances)).expect("it is a component");
        assert!(expect.contains(&bytes), "{globals} globals {instances} times: {bytes}");
    }

    #[test]
    fn globals_of_all_core_instances_are_added_up() {
        check(0, 0, 1..=200);
        check(0, 1, 1_024..=1_400);
        check(1_000, 1, 17_000..=17_400);
        check(1_000, 60, 60 * 17_000..=60 * 17_400);
    }

    #[test]
    fn instances_of_nested_components_count_as_often_as_they_are_made() {
        let nested = |depth: usize| {
            let globals = "(global i64 (i64.const 0))".repeat(100);
            let mut text = format!(
                "(component $c0 (core module $m {globals}) (core instance (instantiate $m)))"
            );
            for level in 1..=depth {
                let below = level - 1;
                text = format!(
                    "(component $c{level} {text} (instance (instantiate $c{below})) (instance (instantiate $c{below})))"
                );
            }
            let component =
                wat::parse_str(format!("(component {text} (instance (instantiate $c{depth})))"));
            instance_bytes(&component.expect("it is well formed")).expect("it is a component")
        };
        let (one, many) = (nested(0), nested(6));
        assert!((60 * one..=70 * one).contains(&many), "{one} and {many}");
    }
}
