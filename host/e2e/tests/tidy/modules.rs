//! The modules of each crate, from `lib.rs` and `main.rs` on, as the compiler finds them, without code for tests only.

use std::collections::BTreeMap;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemUse, Macro, UseTree, VisRestricted};

use crate::repository::Text;

/// A crate: its library and its program together if it has both.
pub struct Crate {
    /// Its directory, from the repository's root.
    pub name: String,
    pub modules: Vec<Module>,
}

/// A module. It may also be written in another module's file.
pub struct Module {
    /// The names from the crate's root on. Empty for the root itself.
    pub path: Vec<String>,
    pub file: String,
    /// Without modules, and without items of tests.
    pub items: Vec<Item>,
}

/// A path that starts at the crate's root, without `crate`.
#[derive(Clone)]
pub struct FromRoot {
    pub path: Vec<String>,
    /// The name under which it is imported: `B` of `use crate::a::B`.
    pub name: String,
}

/// Every crate that has a `src/lib.rs` or a `src/main.rs`.
pub fn crates(texts: &[Text]) -> Vec<Crate> {
    let files: BTreeMap<&str, &str> =
        texts.iter().map(|text| (text.path.as_str(), text.text.as_str())).collect();
    let mut crates: BTreeMap<String, Vec<Module>> = BTreeMap::new();
    for (&file, text) in &files {
        let root = file.strip_suffix("/src/lib.rs").or_else(|| file.strip_suffix("/src/main.rs"));
        if let Some(directory) = root {
            let modules = crates.entry(directory.to_owned()).or_default();
            Reading { files: &files, source: format!("{directory}/src"), modules }.read(
                Vec::new(),
                file,
                parse(file, text),
            );
        }
    }
    crates.into_iter().map(|(name, modules)| Crate { name, modules }).collect()
}

fn parse(file: &str, text: &str) -> Vec<Item> {
    syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}")).items
}

struct Reading<'a> {
    files: &'a BTreeMap<&'a str, &'a str>,
    source: String,
    modules: &'a mut Vec<Module>,
}

impl Reading<'_> {
    fn read(&mut self, path: Vec<String>, file: &str, items: Vec<Item>) {
        let mut own = Vec::new();
        for item in items.into_iter().filter(|item| !is_of_tests(attributes(item))) {
            let Item::Mod(module) = item else {
                own.push(item);
                continue;
            };
            let inner = [path.as_slice(), &[module.ident.to_string()]].concat();
            match module.content {
                Some((_, items)) => self.read(inner, file, items),
                None => self.read_file(inner),
            }
        }
        self.modules.push(Module { path, file: file.to_owned(), items: own });
    }

    /// A module of a generated file is missing, and is skipped.
    fn read_file(&mut self, path: Vec<String>) {
        let stem = format!("{}/{}", self.source, path.join("/"));
        for file in [format!("{stem}.rs"), format!("{stem}/mod.rs")] {
            if let Some(text) = self.files.get(file.as_str()) {
                return self.read(path, &file, parse(&file, text));
            }
        }
    }
}

/// The attributes of items that can be for tests alone.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        condition.is_ok_and(|text| text == "test" || text.replace(' ', "").starts_with("all(test,"))
    })
}

impl Module {
    /// The names of its crate that it uses through the root: `crate::a::B`, and `super::` if that is the root.
    pub fn named_from_root(&self) -> Vec<FromRoot> {
        let mut names = Names { depth: self.path.len(), found: Vec::new() };
        self.items.iter().for_each(|item| names.visit_item(item));
        names.found
    }

    /// Its imports from anywhere, with the first segment as written.
    pub fn imports(&self) -> Vec<FromRoot> {
        let mut imports = Vec::new();
        for item in &self.items {
            if let Item::Use(item) = item {
                leaves(&item.tree, &[], &mut imports);
            }
        }
        imports
    }
}

/// The paths in a tree of `use`.
fn leaves(tree: &UseTree, before: &[String], found: &mut Vec<FromRoot>) {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        UseTree::Path(tree) => leaves(&tree.tree, &with(tree.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, before, found)),
        UseTree::Glob(_) => found.push(FromRoot { path: before.to_vec(), name: "*".to_owned() }),
        UseTree::Name(tree) if tree.ident == "self" => {
            let name = before.last().cloned().unwrap_or_default();
            found.push(FromRoot { path: before.to_vec(), name });
        }
        UseTree::Name(tree) => {
            let name = tree.ident.to_string();
            found.push(FromRoot { path: with(name.clone()), name });
        }
        UseTree::Rename(tree) => {
            let path = with(tree.ident.to_string());
            found.push(FromRoot { path, name: tree.rename.to_string() });
        }
    }
}

struct Names {
    /// The number of `super` that lead to the root.
    depth: usize,
    found: Vec<FromRoot>,
}

impl Names {
    fn note(&mut self, FromRoot { path, name }: FromRoot) {
        let climbs = path.iter().take_while(|segment| *segment == "super").count();
        let skip = match path.first().map(String::as_str) {
            Some("crate") => 1,
            Some("super") if climbs >= self.depth => climbs,
            _ => return,
        };
        self.found.push(FromRoot { path: path[skip..].to_vec(), name });
    }

    fn note_path(&mut self, path: Vec<String>) {
        let name = path.last().cloned().unwrap_or_default();
        self.note(FromRoot { path, name });
    }

    /// A macro's arguments are not parsed code: paths are identifiers with `::` between them.
    fn note_tokens(&mut self, mut cursor: Cursor<'_>) {
        while !cursor.eof() {
            if let Some((inner, _, _, after)) = cursor.any_group() {
                self.note_tokens(inner);
                cursor = after;
            } else if let Some(after) = dollar(cursor) {
                // `$crate::a` is resolved at the macro's use.
                cursor = after.ident().map_or(after, |(_, after)| after);
            } else if let Some((first, after)) = cursor.ident() {
                let mut path = vec![first.to_string()];
                cursor = after;
                while let Some((segment, after)) = after_colons(cursor).and_then(Cursor::ident) {
                    path.push(segment.to_string());
                    cursor = after;
                }
                self.note_path(path);
            } else if let Some((_, after)) = cursor.token_tree() {
                cursor = after;
            }
        }
    }
}

fn dollar(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    cursor.punct().filter(|(punct, _)| punct.as_char() == '$').map(|(_, after)| after)
}

fn after_colons(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, after) = cursor.punct()?;
    let (second, after) = after.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(after)
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &[], &mut found);
        found.into_iter().for_each(|one| self.note(one));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.note_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.note_tokens(TokenBuffer::new2(call.tokens.clone()).begin());
        visit::visit_macro(self, call);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    /// `pub(in crate::a)` restricts visibility, and uses nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}
