//! Types of the contract in Markdown.

use super::{Reference, item, link, one_line, paragraph, text_of};
use std::fmt::Write;
use wit_parser::{Type, TypeDefKind, TypeId, TypeOwner};

impl Reference {
    /// A type where it is used: a link where it has a name.
    pub(super) fn shown(&self, of: &Type) -> String {
        match of {
            Type::Id(id) => self.shown_by_id(*id),
            simple => simple_name(simple).to_owned(),
        }
    }

    fn shown_by_id(&self, id: TypeId) -> String {
        let definition = &self.resolve.types[self.origin(id)];
        match (&definition.name, definition.owner) {
            (Some(name), TypeOwner::Interface(owner)) => link(&item(self.name(owner), name), name),
            _ => self.shown_kind(&definition.kind),
        }
    }

    /// Where a type that `use` brings was defined.
    fn origin(&self, id: TypeId) -> TypeId {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(from)) if self.is_used_from_elsewhere(id) => {
                self.origin(from)
            }
            _ => id,
        }
    }

    /// What a type without a name is made of. Brackets and underscores are escaped for Markdown.
    fn shown_kind(&self, kind: &TypeDefKind) -> String {
        let or_none = |it: &Option<Type>| it.as_ref().map_or("\\_".to_owned(), |it| self.shown(it));
        match kind {
            TypeDefKind::Type(of) => self.shown(of),
            TypeDefKind::Option(of) => format!("option\\<{}>", self.shown(of)),
            TypeDefKind::List(of) => format!("list\\<{}>", self.shown(of)),
            TypeDefKind::Tuple(tuple) => {
                let types: Vec<_> = tuple.types.iter().map(|it| self.shown(it)).collect();
                format!("tuple\\<{}>", types.join(", "))
            }
            TypeDefKind::Result(result) => match (&result.ok, &result.err) {
                (None, None) => "result".to_owned(),
                (ok, None) => format!("result\\<{}>", or_none(ok)),
                (ok, err) => format!("result\\<{}, {}>", or_none(ok), or_none(err)),
            },
            other => panic!("the page does not know yet how to show a {}", other.as_str()),
        }
    }

    /// What stands below a type's heading.
    pub(super) fn definition(&self, id: TypeId) -> String {
        let definition = &self.resolve.types[id];
        let rows = match &definition.kind {
            TypeDefKind::Record(record) => {
                let row = |field: &wit_parser::Field| {
                    let docs = one_line(&text_of(&field.docs));
                    format!("| `{}` | {} | {docs} |\n", field.name, self.shown(&field.ty))
                };
                let rows: String = record.fields.iter().map(row).collect();
                format!("| field | type | |\n| --- | --- | --- |\n{rows}")
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| (&case.name, &case.ty, &case.docs));
                let row = |(name, with, docs): (&String, &Option<Type>, &wit_parser::Docs)| {
                    let with = with.as_ref().map_or(String::new(), |it| self.shown(it));
                    format!("| `{name}` | {with} | {} |\n", one_line(&text_of(docs)))
                };
                let rows: String = cases.map(row).collect();
                format!("| case | with | |\n| --- | --- | --- |\n{rows}")
            }
            TypeDefKind::Enum(found) if found.cases.iter().all(|case| case.docs.is_empty()) => {
                let cases: Vec<_> = found.cases.iter().map(|it| format!("`{}`", it.name)).collect();
                format!("One of {}.\n", cases.join(", "))
            }
            TypeDefKind::Enum(found) => {
                let mut rows = "| case | |\n| --- | --- |\n".to_owned();
                for case in &found.cases {
                    let _ =
                        writeln!(rows, "| `{}` | {} |", case.name, one_line(&text_of(&case.docs)));
                }
                rows
            }
            kind => format!("A {}.\n", self.shown_kind(kind)),
        };
        format!("{}{rows}\n", paragraph(&definition.docs))
    }
}

fn simple_name(of: &Type) -> &'static str {
    match of {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::ErrorContext => "error-context",
        Type::Id(_) => "",
    }
}
