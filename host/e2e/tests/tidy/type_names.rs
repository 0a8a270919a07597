//! Type names: within a crate of the host, each type name is unique, so that a search for a name finds the type.
//! Bindings of plugins are generated with the contract's names.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use crate::modules::{Crate, Module};

/// Complaints about names that several types of one crate share, and about exceptions that are no longer needed. Types
/// of tests do not count.
pub fn complaints(crates: &[Crate], allowed: &[(&str, &str)]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut unused: BTreeSet<(&str, &str)> = allowed.iter().copied().collect();
    for one in crates.iter().filter(|one| one.name.starts_with("host/")) {
        for (name, files) in files_of_types(&one.modules) {
            let listed = unused.iter().find(|listed| **listed == (&one.name, &name)).copied();
            if let Some(listed) = listed.filter(|_| files.len() > 1) {
                unused.remove(&listed);
            } else if files.len() > 1 {
                let files = files.join(", ");
                complaints.push(format!("{}: several types are named {name}: {files}", one.name));
            }
        }
    }
    let unused = unused.into_iter();
    complaints.extend(unused.map(|(name, word)| {
        format!("{name}: {word} needs no exception any more: take it off the list")
    }));
    complaints
}

/// The files of the types of each name. Two definitions in one module are variants for two platforms or features.
fn files_of_types(modules: &[Module]) -> BTreeMap<String, Vec<String>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for module in modules {
        let names: BTreeSet<String> = module.items.iter().filter_map(type_name).collect();
        for name in names {
            files.entry(name).or_default().push(module.file.clone());
        }
    }
    files
}

fn type_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Enum(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    #[track_caller]
    fn check(inner: &str, allowed: &[(&str, &str)], expect: &[&str]) {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [
            text("host/a/src/lib.rs", "mod b;\nstruct State;\n"),
            text("host/a/src/b.rs", inner),
            text("host/c/src/lib.rs", "struct State;\n"),
        ];
        assert_eq!(complaints(&crate::modules::crates(&texts), allowed), expect, "{inner}");
    }

    #[test]
    fn second_type_of_a_name_is_complained_of() {
        let twice = "host/a: several types are named State: host/a/src/b.rs, host/a/src/lib.rs";
        for item in ["struct State;", "pub enum State {}", "type State = u8;", "trait State {}"] {
            check(item, &[], &[twice]);
            check(item, &[("host/a", "State")], &[]);
        }
        check("struct Other;", &[], &[]);
        check("enum Other { State }", &[], &[]);
        check("#[cfg(test)]\nstruct State;", &[], &[]);
        check("#[cfg(unix)]\nstruct B;\n#[cfg(windows)]\nstruct B;", &[], &[]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let unused = "host/a: State needs no exception any more: take it off the list";
        check("struct Other;", &[("host/a", "State")], &[unused]);
    }
}
