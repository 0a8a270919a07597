//! The memory of one instance of a component beside its linear memories and the elements of its
//! tables: globals, references to functions, imports. Nothing counts these bytes at run time, and a
//! file of some kilobytes can ask for gigabytes of them. So they are added up before the
//! compilation.

use wasmparser::{Validator, WasmFeatures};
use wasmtime_environ::component::{
    ComponentTypesBuilder, GlobalInitializer, InstantiateModule, Translator, VMComponentOffsets,
};
use wasmtime_environ::{HostPtr, ScopeVec, Tunables, VMOffsets};

/// The host's data around each core instance: handles, lists of memories and tables.
const AROUND_INSTANCE_BYTES: u64 = 1 << 10;

/// The size of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstanceSize {
    pub(super) bytes: u64,
    /// The imports of all core instances. The code keeps the imported item for each.
    pub(super) arguments: usize,
}

/// Adds up the sizes of all core instances that the component makes when it is instantiated. wasmtime computes the
/// same numbers from the same translation when it compiles the component.
pub(super) fn instance_size(component: &[u8]) -> Result<InstanceSize, wasmtime::Error> {
    let tunables = Tunables::default_host();
    // The compiler refuses features that the engine lacks.
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut types = ComponentTypesBuilder::new(&validator);
    let scope = ScopeVec::new();
    let translator = Translator::new(&tunables, &mut validator, &mut types, &scope);
    let (translation, modules) = translator.translate(component)?;
    let component = &translation.component;
    let of_component = VMComponentOffsets::new(HostPtr, component).size_of_vmctx();
    let mut size = InstanceSize { bytes: u64::from(of_component), arguments: 0 };
    for initializer in &component.initializers {
        if let GlobalInitializer::InstantiateModule(
            InstantiateModule::Static(module, arguments),
            _,
        ) = initializer
        {
            let offsets = VMOffsets::new(HostPtr, &modules[*module].module);
            size.bytes += u64::from(offsets.size_of_vmctx()) + AROUND_INSTANCE_BYTES;
            size.arguments += arguments.len();
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with so many instances of a core module with so many globals.
    fn component(globals: usize, instances: usize) -> Vec<u8> {
        let globals = "(global i64 (i64.const 0))".repeat(globals);
        let instances = "(core instance (instantiate $m))".repeat(instances);
        let text = format!("(component (core module $m {globals}) {instances})");
        wat::parse_str(text).expect("it is well formed")
    }

    #[track_caller]
    fn check(globals: usize, instances: usize, expect: std::ops::RangeInclusive<u64>) {
        let size = instance_size(&component(globals, instances)).expect("it is a component");
        let bytes = size.bytes;
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
            let size = instance_size(&component.expect("it is well formed"));
            size.expect("it is a component").bytes
        };
        let (one, many) = (nested(0), nested(6));
        assert!((60 * one..=70 * one).contains(&many), "{one} and {many}");
    }

    #[test]
    fn imports_are_counted_for_each_core_instance() {
        let text = r#"(component
            (core module $a (func (export "f") (export "g")))
            (core instance $a (instantiate $a))
            (core module $b (import "a" "f" (func)) (import "a" "g" (func)))
            (core instance (instantiate $b (with "a" (instance $a))))
            (core instance (instantiate $b (with "a" (instance $a)))))"#;
        let component = wat::parse_str(text).expect("it is well formed");
        assert_eq!(instance_size(&component).expect("it is a component").arguments, 4);
    }
}
