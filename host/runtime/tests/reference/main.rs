//! The contract as a page for whoever writes plugins: `plugin-sdk/reference.md`, made of `plugin.wit` and its comments. What the host calls comes first,
//! then what it offers, then the words that both share, and at the end what a language without bindings has to know.

mod layout;
mod types;

use expect_test::{Expect, expect, expect_file};
use layout::Layout;
use std::collections::BTreeSet;
use std::fmt::Write;
use wit_parser::{
    Docs, Function, Interface, InterfaceId, PackageId, Resolve, TypeDefKind, WorldItem, WorldKey,
};

const CONTRACT: &str = include_str!("../../../../plugin-sdk/wit/plugin.wit");

/// The world that imports all there is and exports nothing.
const IMPORTS: &str = "imports";

/// Files beside the page that comments name, from the repository's root.
const BESIDE: [&str; 2] = ["descriptor.schema.json", "README.md"];

/// The contract's package, with its interfaces in the order in which they are shown.
struct Reference {
    resolve: Resolve,
    package: PackageId,
    /// What the host calls, in the WIT's order.
    exports: Vec<InterfaceId>,
    /// What it offers, in the order of the world `imports`.
    imports: Vec<InterfaceId>,
    /// What both use, and what has types alone.
    shared: Vec<InterfaceId>,
}

impl Reference {
    fn of(text: &str) -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("plugin.wit", text).expect("the contract is well formed");
        let ids = |items: &wit_parser::IndexMap<WorldKey, WorldItem>| -> Vec<InterfaceId> {
            let id = |item: &WorldItem| match item {
                WorldItem::Interface { id, .. } => Some(*id),
                _ => None,
            };
            items.values().filter_map(id).collect()
        };
        let found = &resolve.packages[package];
        let worlds = || found.worlds.values().map(|world| &resolve.worlds[*world]);
        let called: BTreeSet<_> = worlds().flat_map(|world| ids(&world.exports)).collect();
        let offered = ids(&resolve.worlds[found.worlds[IMPORTS]].imports);
        let has_functions = |id: &InterfaceId| !resolve.interfaces[*id].functions.is_empty();
        let all: Vec<InterfaceId> = found.interfaces.values().copied().collect();
        let of = |keep: &dyn Fn(&InterfaceId) -> bool| -> Vec<InterfaceId> {
            all.iter().copied().filter(|id| keep(id)).collect()
        };
        let exports = of(&|id| called.contains(id) && has_functions(id));
        let shared = of(&|id| !has_functions(id));
        let imports: Vec<_> = offered.into_iter().filter(|id| has_functions(id)).collect();
        let shown = exports.len() + shared.len() + imports.len();
        assert_eq!(shown, all.len(), "every interface has its one place on the page");
        Self { resolve, package, exports, imports, shared }
    }

    fn interface(&self, id: InterfaceId) -> &Interface {
        &self.resolve.interfaces[id]
    }

    fn name(&self, id: InterfaceId) -> &str {
        self.interface(id).name.as_deref().expect("the contract has no interfaces without names")
    }

    /// The whole page.
    fn page(&self) -> String {
        let package = &self.resolve.packages[self.package];
        let layout = Layout::new(self);
        let places = [
            ("{PACKAGE}", package.name.to_string()),
            ("{ABOUT}", text_of(&package.docs)),
            ("{EXPORTS}", self.contents(&self.exports)),
            ("{IMPORTS}", self.contents(&self.imports)),
            ("{WORLDS}", self.worlds()),
            ("{OF EXPORTS}", self.sections(&self.exports)),
            ("{OF IMPORTS}", self.sections(&self.imports)),
            ("{OF SHARED}", self.sections(&self.shared)),
            ("{CORE EXPORTS}", layout.functions(&self.exports)),
            ("{CORE IMPORTS}", layout.functions(&self.imports)),
            ("{TYPES IN MEMORY}", layout.types()),
            ("{NAME OF HANDLER}", self.full_name("handler")),
            ("{NAME OF LOG}", self.full_name("log")),
        ];
        let mut page = include_str!("page.md").to_owned();
        for (place, text) in places {
            assert!(page.contains(place), "the page has no place for {place}");
            page = page.replace(place, text.trim_end());
        }
        self.linked(&page)
    }

    /// With the package and the version, as it stands in files.
    fn full_name(&self, interface: &str) -> String {
        let id = self.resolve.packages[self.package].interfaces[interface];
        self.resolve.id_of(id).expect("it has a name")
    }

    /// A line for each interface: what it is for is its comment's first sentence.
    fn contents(&self, ids: &[InterfaceId]) -> String {
        let line = |id: &InterfaceId| {
            let name = self.name(*id);
            let functions = self.interface(*id).functions.keys();
            let functions = functions.map(|function| link(&item(name, function), function));
            let functions = functions.collect::<Vec<_>>().join(", ");
            let begin = first_sentence(&text_of(&self.interface(*id).docs));
            format!("| {} | {begin} | {functions} |\n", link(name, name))
        };
        ids.iter().map(line).collect()
    }

    /// A line for each world that exports something.
    fn worlds(&self) -> String {
        let mut lines = String::new();
        for (name, id) in &self.resolve.packages[self.package].worlds {
            let world = &self.resolve.worlds[*id];
            let exported = self.exports.iter().filter(|id| {
                let is_it = |item: &WorldItem| matches!(item, WorldItem::Interface { id: found, .. } if found == *id);
                world.exports.values().any(is_it)
            });
            let exported: Vec<String> =
                exported.map(|id| link(self.name(*id), self.name(*id))).collect();
            if name != IMPORTS {
                let what = one_line(&text_of(&world.docs));
                let _ = writeln!(lines, "| `{name}` | {} | {what} |", exported.join(", "));
            }
        }
        lines
    }

    fn sections(&self, ids: &[InterfaceId]) -> String {
        ids.iter().map(|id| self.section(*id)).collect()
    }

    /// An interface: its functions, then the types that are its own.
    fn section(&self, id: InterfaceId) -> String {
        let (name, interface) = (self.name(id), self.interface(id));
        let mut text = format!("### {name}\n\n{}", paragraph(&interface.docs));
        for function in interface.functions.values() {
            let heading = item(name, &function.name);
            let signature = self.signature(function);
            let _ = write!(text, "#### {heading}\n\n{signature}\n\n{}", paragraph(&function.docs));
        }
        for (type_name, type_id) in &interface.types {
            if !self.is_used_from_elsewhere(*type_id) {
                let heading = item(name, type_name);
                let _ = write!(text, "#### {heading}\n\n{}", self.definition(*type_id));
            }
        }
        text
    }

    /// `name`(parameter: type) → type, with links.
    fn signature(&self, function: &Function) -> String {
        let parameters: Vec<String> = function
            .params
            .iter()
            .map(|parameter| format!("{}: {}", parameter.name, self.shown(&parameter.ty)))
            .collect();
        let result = function.result.as_ref().map(|result| self.shown(result));
        let result = result.map_or(String::new(), |result| format!(" → {result}"));
        format!("**{}** ({}){result}", function.name, parameters.join(", "))
    }

    /// Names of the form `interface.item`, and of files beside the page, become links.
    fn linked(&self, page: &str) -> String {
        let mut linked = page.to_owned();
        for name in self.items() {
            linked = linked.replace(&format!(" `{name}`"), &format!(" {}", link(&name, &name)));
        }
        for file in BESIDE {
            linked = linked.replace(&format!("`plugin-sdk/{file}`"), &format!("[{file}]({file})"));
        }
        linked
    }

    /// Names of everything that has a heading in an interface's section.
    fn items(&self) -> Vec<String> {
        let all = [&self.exports, &self.imports, &self.shared].into_iter().flatten();
        let of = |id: &InterfaceId| {
            let interface = self.interface(*id);
            let types = interface.types.iter().filter(|(_, id)| !self.is_used_from_elsewhere(**id));
            let names = interface.functions.keys().chain(types.map(|(name, _)| name));
            names.map(|name| item(self.name(*id), name)).collect::<Vec<_>>()
        };
        all.flat_map(of).collect()
    }

    /// What `use` brings is shown where it comes from.
    fn is_used_from_elsewhere(&self, id: wit_parser::TypeId) -> bool {
        let definition = &self.resolve.types[id];
        matches!(definition.kind, TypeDefKind::Type(wit_parser::Type::Id(from))
            if self.resolve.types[from].owner != definition.owner)
    }
}

/// What something in an interface is called, and its heading.
fn item(interface: &str, name: &str) -> String {
    format!("{interface}.{name}")
}

/// A link to a heading of this page.
fn link(heading: &str, shown: &str) -> String {
    format!("[`{shown}`](#{})", anchor(heading))
}

/// What a heading is called in links: small letters, digits, `-` and `_` of it, and `-` for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|one| one.is_alphanumeric() || " -_".contains(*one));
    kept.map(|one| if one == ' ' { '-' } else { one.to_ascii_lowercase() }).collect()
}

fn text_of(docs: &Docs) -> String {
    docs.contents.clone().unwrap_or_default()
}

/// A comment as a paragraph of its own, or nothing.
fn paragraph(docs: &Docs) -> String {
    match &docs.contents {
        Some(text) => format!("{}\n\n", text.trim()),
        None => String::new(),
    }
}

/// A comment in a cell of a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    text.find(". ").map_or(text.clone(), |end| text[..=end].to_owned())
}

/// What a page says of a small contract, from its first section on.
#[track_caller]
fn check(interface: &str, expect: &Expect) {
    let text = format!(
        "package a:b@1.2.0;\ninterface words {{ type name = string; }}\n{interface}\nworld imports {{ import it; }}"
    );
    let reference = Reference::of(&text);
    expect.assert_eq(&reference.sections(&reference.imports));
}

#[test]
fn the_page_is_the_contract() {
    expect_file!["../../../../plugin-sdk/reference.md"].assert_eq(&Reference::of(CONTRACT).page());
}

#[test]
fn everything_of_the_contract_has_its_comment() {
    let reference = Reference::of(CONTRACT);
    let mut bare = Vec::new();
    for (name, id) in &reference.resolve.packages[reference.package].interfaces {
        let interface = reference.interface(*id);
        let types = interface.types.iter().map(|(name, id)| (name, *id));
        let types = types.filter(|(_, id)| !reference.is_used_from_elsewhere(*id));
        let types = types.map(|(name, id)| (name, &reference.resolve.types[id].docs));
        let functions = interface.functions.iter().map(|(name, it)| (name, &it.docs));
        let without = functions.chain(types).filter(|(_, docs)| docs.is_empty());
        bare.extend(without.map(|(item, _)| format!("{name}.{item}")));
        bare.extend(interface.docs.is_empty().then(|| name.clone()));
    }
    let worlds = &reference.resolve.packages[reference.package].worlds;
    let worlds = worlds.iter().filter(|(_, id)| reference.resolve.worlds[**id].docs.is_empty());
    bare.extend(worlds.map(|(name, _)| name.clone()));
    assert_eq!(bare, [""; 0]);
}

#[test]
fn every_link_leads_to_a_heading_and_every_heading_is_another() {
    let page = Reference::of(CONTRACT).page();
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchors: Vec<String> =
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect();
    let all: BTreeSet<&str> = anchors.iter().map(String::as_str).collect();
    assert_eq!(all.len(), anchors.len(), "two headings are called alike: {anchors:?}");
    let links = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    let dead: Vec<&str> = links.filter(|link| !all.contains(link)).collect();
    assert_eq!(dead, [""; 0]);
}

#[test]
fn an_interface_is_its_functions_and_its_own_types() {
    check(
        "/// What there is. More.\ninterface it {
           use words.{name};
           /// One of them | or none.
           record thing { /// Its name.\n name: name, parts: list<tuple<u8, option<thing-kind>>> }
           enum thing-kind { small, large }
           variant wrong { no, because(string) }
           type things = list<thing>;
           /// Finds. See `it.wrong`.
           find: func(name: name) -> result<option<thing>, wrong>;
           drop: func() -> result<_, string>;
           all: func() -> things;
         }",
        &expect![[r#"
            ### it

            What there is. More.

            #### it.find

            **find** (name: [`name`](#wordsname)) → result\<option\<[`thing`](#itthing)>, [`wrong`](#itwrong)>

            Finds. See `it.wrong`.

            #### it.drop

            **drop** () → result\<\_, string>

            #### it.all

            **all** () → [`things`](#itthings)

            #### it.thing-kind

            One of `small`, `large`.

            #### it.thing

            One of them | or none.

            | field | type | |
            | --- | --- | --- |
            | `name` | [`name`](#wordsname) | Its name. |
            | `parts` | list\<tuple\<u8, option\<[`thing-kind`](#itthing-kind)>>> |  |

            #### it.wrong

            | case | with | |
            | --- | --- | --- |
            | `no` |  |  |
            | `because` | string |  |

            #### it.things

            A list\<[`thing`](#itthing)>.

        "#]],
    );
}

#[test]
fn names_in_comments_become_links() {
    let text = "package a:b@1.2.0;\n/// See `it.f`, not `it.g`.\ninterface it { /// F.\n f: func(); }\nworld imports { import it; }";
    let reference = Reference::of(text);
    let shown = reference.linked(&reference.sections(&reference.imports));
    assert!(shown.contains("See [`it.f`](#itf), not `it.g`."), "{shown}");
}
