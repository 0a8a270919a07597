//! What a language without bindings has to know: how functions are called in a core module, and where things lie in its memory.

use super::{Reference, item, link};
use std::fmt::Write;
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Function, InterfaceId, SizeAlign, Type, TypeDefKind, TypeId};

/// Sizes and places of all types of the contract, for 32-bit memory.
pub(super) struct Layout<'a> {
    reference: &'a Reference,
    sizes: SizeAlign,
}

impl<'a> Layout<'a> {
    pub(super) fn new(reference: &'a Reference) -> Self {
        let mut sizes = SizeAlign::default();
        sizes.fill(&reference.resolve);
        Self { reference, sizes }
    }

    /// A line for each function, with its core type.
    pub(super) fn functions(&self, ids: &[InterfaceId]) -> String {
        let mut lines = String::new();
        for id in ids {
            let (name, interface) = (self.reference.name(*id), self.reference.interface(*id));
            for function in interface.functions.values() {
                let heading = item(name, &function.name);
                let core = self.core(*id, function);
                let result = self.result(function);
                let _ = writeln!(lines, "| {} | `{core}` | {result} |", link(&heading, &heading));
            }
        }
        lines
    }

    fn core(&self, id: InterfaceId, function: &Function) -> String {
        let variant = match self.reference.exports.contains(&id) {
            true => AbiVariant::GuestExport,
            false => AbiVariant::GuestImport,
        };
        let core = self.reference.resolve.wasm_signature(variant, function);
        let words = |types: &[WasmType]| types.iter().map(word).collect::<Vec<_>>().join(" ");
        match core.results.is_empty() {
            true => format!("({})", words(&core.params)),
            false => format!("({}) -> {}", words(&core.params), words(&core.results)),
        }
    }

    /// How a result that is more than one word lies in memory.
    fn result(&self, function: &Function) -> String {
        let core = self.reference.resolve.wasm_signature(AbiVariant::GuestExport, function);
        match &function.result {
            Some(Type::Id(id)) if core.retptr => self.place(*id),
            Some(Type::String) => self.place_of_list(),
            _ => String::new(),
        }
    }

    /// A line for each record and variant of the contract.
    pub(super) fn types(&self) -> String {
        let reference = self.reference;
        let all = [&reference.exports, &reference.imports, &reference.shared];
        let mut lines = String::new();
        for id in all.into_iter().flatten() {
            let own = reference.interface(*id).types.iter();
            for (name, type_id) in own.filter(|(_, it)| !reference.is_used_from_elsewhere(**it)) {
                let heading = item(reference.name(*id), name);
                let of = Type::Id(*type_id);
                let (size, align) = (self.sizes.size(&of), self.sizes.align(&of));
                let (size, align) = (size.size_wasm32(), align.align_wasm32());
                let place = self.place(*type_id);
                let link = link(&heading, &heading);
                let _ = writeln!(lines, "| {link} | {size} | {align} | {place} |");
            }
        }
        lines
    }

    /// What lies where in a value, from its begin.
    fn place(&self, id: TypeId) -> String {
        let payload = |cases: &[Option<&Type>]| {
            let tag = wit_parser::Int::U8;
            self.sizes.payload_offset(tag, cases.iter().copied()).size_wasm32()
        };
        match &self.reference.resolve.types[id].kind {
            TypeDefKind::Record(record) => {
                let types = record.fields.iter().map(|field| &field.ty);
                let names = record.fields.iter().map(|field| format!("`{}`", field.name));
                self.fields(types, names)
            }
            TypeDefKind::Tuple(tuple) => {
                self.fields(tuple.types.iter(), (1..).map(|number: u32| format!("part {number}")))
            }
            TypeDefKind::Variant(variant) => {
                let cases: Vec<_> = variant.cases.iter().map(|case| case.ty.as_ref()).collect();
                format!("0 case, {} with", payload(&cases))
            }
            TypeDefKind::Enum(_) => "0 case".to_owned(),
            TypeDefKind::Option(of) => {
                format!("0 is there, {} value", payload(&[None, Some(of)]))
            }
            TypeDefKind::Result(result) => {
                let at = payload(&[result.ok.as_ref(), result.err.as_ref()]);
                format!("0 is error, {at} value or error")
            }
            TypeDefKind::Type(Type::Id(of)) => self.place(*of),
            TypeDefKind::List(_) | TypeDefKind::Type(Type::String) => self.place_of_list(),
            other => panic!("the page does not know yet where a {} lies", other.as_str()),
        }
    }

    fn fields<'t>(
        &self,
        types: impl IntoIterator<Item = &'t Type>,
        names: impl Iterator<Item = String>,
    ) -> String {
        let offsets = self.sizes.field_offsets(types);
        let places = offsets.iter().zip(names);
        let place = |((offset, _), name): (&(wit_parser::ArchitectureSize, _), String)| {
            format!("{} {name}", offset.size_wasm32())
        };
        places.map(place).collect::<Vec<_>>().join(", ")
    }

    /// Of bytes, of a text and of any other list alike.
    fn place_of_list(&self) -> String {
        "0 pointer, 4 length".to_owned()
    }
}

/// Pointers and lengths are 32 bits, and what is either a pointer or a number of 64 bits has those.
fn word(of: &WasmType) -> &'static str {
    match of {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}
