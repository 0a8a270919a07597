//! The sizes of a plugin file's declarations, in all of its modules and components together: types, and names of
//! imports and exports. A host keeps them all as long as the version, with much more memory for a declaration than its
//! bytes in the file.

use super::ContractError;
use wasmparser::{Parser, Payload, SectionLimited};

/// Types of a file. The largest known plugin, a Python plugin, has 1,350.
pub(crate) const FILE_TYPES_MAX: usize = 10_000;
/// Bytes of their sections. That plugin has 21 KB.
pub(crate) const FILE_TYPE_BYTES_MAX: usize = 256 << 10;
/// Imports and exports of a file. That plugin has 6,685.
pub(crate) const FILE_NAMES_MAX: usize = 30_000;
/// Bytes of their sections. That plugin has 182 KB.
pub(crate) const FILE_NAME_BYTES_MAX: usize = 1 << 20;

/// The host's memory for any plugin, beside its code. These numbers were measured, and a test that counts allocations
/// checks them (`tests/counted`).
const PLUGIN_BYTES: usize = 8 << 10;
/// For each type of a core module, and for each of its bytes: a parameter is one byte.
const CORE_TYPE_BYTES: [usize; 2] = [270, 48];
/// The same for types of components: a case of an enum has some bytes.
const TYPE_BYTES: [usize; 2] = [0, 20];
/// For each import and export, and for each of its bytes.
const NAME_BYTES: [usize; 2] = [150, 1];
/// For each import of each core instance.
const ARGUMENT_BYTES: usize = 32;

/// The sums of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    core_types: Table,
    /// Of components.
    types: Table,
    names: Table,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Table {
    entries: usize,
    bytes: usize,
}

impl Tables {
    /// The sums of a file, if each is within its bound. Only the heads of sections are read.
    pub(super) fn of(file: &[u8]) -> Result<Self, ContractError> {
        let mut tables = Self::default();
        for payload in Parser::new(0).parse_all(file) {
            let payload = payload.map_err(|error| ContractError::malformed(&error, file))?;
            tables.add(&payload);
        }
        tables.check()
    }

    /// The host's memory for these declarations, and for so many imports of all core instances, as long as the code is
    /// kept. An estimate.
    pub(crate) fn kept_bytes(&self, arguments: usize) -> u64 {
        let Self { core_types, types, names } = self;
        let kept =
            core_types.kept(CORE_TYPE_BYTES) + types.kept(TYPE_BYTES) + names.kept(NAME_BYTES);
        (PLUGIN_BYTES + kept + arguments * ARGUMENT_BYTES) as u64
    }

    fn add(&mut self, payload: &Payload<'_>) {
        match payload {
            Payload::TypeSection(section) => self.core_types.add(section),
            Payload::CoreTypeSection(section) => self.types.add(section),
            Payload::ComponentTypeSection(section) => self.types.add(section),
            Payload::ImportSection(section) => self.names.add(section),
            Payload::ExportSection(section) => self.names.add(section),
            Payload::ComponentImportSection(section) => self.names.add(section),
            Payload::ComponentExportSection(section) => self.names.add(section),
            _ => {}
        }
    }

    fn check(self) -> Result<Self, ContractError> {
        let Self { core_types, types, names } = self;
        let types = Table {
            entries: core_types.entries + types.entries,
            bytes: core_types.bytes + types.bytes,
        };
        for (what, found, most) in [
            ("types", types.entries, FILE_TYPES_MAX),
            ("bytes of types", types.bytes, FILE_TYPE_BYTES_MAX),
            ("imports and exports", names.entries, FILE_NAMES_MAX),
            ("bytes of imports and exports", names.bytes, FILE_NAME_BYTES_MAX),
        ] {
            if found > most {
                return Err(ContractError::Table { what, found, most });
            }
        }
        Ok(self)
    }
}

impl Table {
    fn kept(&self, [entry, byte]: [usize; 2]) -> usize {
        self.entries * entry + self.bytes * byte
    }

    fn add<T>(&mut self, section: &SectionLimited<'_, T>) {
        self.entries += section.count() as usize;
        self.bytes += section.range().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with two modules that each have half of these items, and a core module that has all.
    fn files(types: usize, exports: usize, name_bytes: usize) -> [Vec<u8>; 2] {
        let items = |types: usize, exports: usize, from: usize| {
            let types = "(type (func))".repeat(types);
            let name = |number: usize| format!("{number:0>name_bytes$}");
            let export = |number| format!("(export \"{}\" (func 0))", name(from + number));
            format!("{types}(func){}", (0..exports).map(export).collect::<String>())
        };
        // A function has its own type in each module.
        let (first, rest) = (types / 2, types - types / 2);
        let (here, there) = (exports / 2, exports - exports / 2);
        let component = format!(
            "(component (core module {}) (core module {}))",
            items(first, here, 0),
            items(rest, there, here),
        );
        let module = format!("(module {})", items(types, exports, 0));
        [component, module].map(|text| wat::parse_str(text).expect("it is well formed"))
    }

    #[track_caller]
    fn check(types: usize, exports: usize, name_bytes: usize, expect: &str) {
        for file in files(types, exports, name_bytes) {
            let found = match Tables::of(&file) {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            };
            let is_expected =
                if expect.is_empty() { found.is_empty() } else { found.starts_with(expect) };
            assert!(is_expected, "{types} types, {exports} exports: {found}");
        }
    }

    #[test]
    fn types_and_names_of_a_file_are_bounded() {
        check(FILE_TYPES_MAX, 0, 1, "");
        check(
            FILE_TYPES_MAX + 1,
            0,
            1,
            "it has 10001 types, all its modules together, and at most 10000 are",
        );
        check(2, FILE_NAMES_MAX, 5, "");
        check(2, FILE_NAMES_MAX + 1, 5, "it has 30001 imports and exports, all");
        check(2, 10_000, 100, "");
        check(2, 10_500, 100, "it has 108");
        let wide = format!("(type (func (param{})))", " i32".repeat(900)).repeat(300);
        let file = wat::parse_str(format!("(module {wide})")).expect("it is well formed");
        let error = Tables::of(&file).expect_err("300 types of 900 bytes").to_string();
        assert!(error.contains("bytes of types, all its modules together"), "{error}");
    }
}
