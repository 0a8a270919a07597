//! The top modules of a crate use each other in one direction. A module outside of cycles can be read and changed
//! without the modules that use it.
//!
//! Modules below a top module count as parts of it. A re-export of `lib.rs` counts as its module.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{Crate, FromRoot};

/// Complaints about crates with more modules in cycles than allowed, and about exceptions that are too high. Without
/// an exception, no module may be in a cycle.
pub fn complaints(crates: &[Crate], allowed: &[(&str, usize)]) -> Vec<String> {
    let mut complaints = Vec::new();
    for one in crates {
        let name = &one.name;
        let uses = Uses::of(one);
        let cycles = uses.cycles();
        let found: usize = cycles.iter().map(BTreeSet::len).sum();
        let listed = allowed.iter().find(|(listed, _)| listed == name).map(|(_, known)| *known);
        if found > listed.unwrap_or(0) {
            complaints.extend(cycles.iter().map(|cycle| format!("{name}: {}", uses.tell(cycle))));
        }
        match listed {
            Some(_) if found == 0 => {
                complaints
                    .push(format!("{name} needs no exception any more: take it off the list"));
            }
            Some(known) if found < known => {
                complaints.push(format!("{name} has {found} modules in cycles: lower its {known}"));
            }
            _ => {}
        }
    }
    complaints
}

/// The places at which a top module names another one.
type Places = BTreeSet<String>;

/// The other top modules that each top module names.
struct Uses(BTreeMap<String, BTreeMap<String, Places>>);

impl Uses {
    fn of(one: &Crate) -> Self {
        let tops: BTreeSet<&String> =
            one.modules.iter().filter_map(|module| module.path.first()).collect();
        let roots = || one.modules.iter().filter(|module| module.path.is_empty());
        let from_root = |FromRoot { path, name }: FromRoot| {
            let inner = path.iter().find(|segment| !["crate", "self"].contains(&segment.as_str()));
            Some((name, inner?.clone()))
        };
        let exported: BTreeMap<String, String> =
            roots().flat_map(|root| root.imports()).filter_map(from_root).collect();
        let mut uses: BTreeMap<_, BTreeMap<_, Places>> = BTreeMap::new();
        for module in &one.modules {
            let Some(from) = module.path.first() else { continue };
            for FromRoot { path, .. } in module.named_from_root() {
                let Some(first) = path.first() else { continue };
                let to = if tops.contains(first) { Some(first) } else { exported.get(first) };
                if let Some(to) = to.filter(|to| *to != from && tops.contains(to)) {
                    let place = format!("crate::{} in {}", path.join("::"), module.file);
                    let places = uses.entry(from.clone()).or_default().entry(to.clone());
                    places.or_default().insert(place);
                }
            }
        }
        Self(uses)
    }

    fn next(&self, from: &str) -> impl Iterator<Item = &String> {
        self.0.get(from).into_iter().flat_map(BTreeMap::keys)
    }

    /// The shortest path of uses, with both ends. `None` if there is no path.
    fn way<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut ways: Vec<Vec<&str>> = vec![vec![from]];
        let mut seen = BTreeSet::new();
        let mut at = 0;
        while at < ways.len() {
            let way = ways[at].clone();
            for next in self.next(way[way.len() - 1]) {
                let way = [way.as_slice(), &[next.as_str()]].concat();
                if next == to {
                    return Some(way);
                }
                if seen.insert(next) {
                    ways.push(way);
                }
            }
            at += 1;
        }
        None
    }

    /// The sets of modules that use each other in cycles.
    fn cycles(&self) -> Vec<BTreeSet<&str>> {
        let mut cycles: Vec<BTreeSet<&str>> = Vec::new();
        for one in self.0.keys().filter(|one| self.way(one, one).is_some()) {
            let is_with = |cycle: &BTreeSet<&str>| {
                cycle.first().is_some_and(|other| {
                    self.way(one, other).is_some() && self.way(other, one).is_some()
                })
            };
            match cycles.iter_mut().find(|cycle| is_with(cycle)) {
                Some(cycle) => {
                    cycle.insert(one);
                }
                None => cycles.push(BTreeSet::from([one.as_str()])),
            }
        }
        cycles
    }

    /// The shortest cycle among these modules, and its step with the fewest places.
    fn tell(&self, modules: &BTreeSet<&str>) -> String {
        let ways = modules.iter().filter_map(|one| self.way(one, one));
        let way = ways.min_by_key(Vec::len).unwrap_or_default();
        let steps = way.windows(2).map(|step| &self.0[step[0]][step[1]]);
        let cheapest = steps.min_by_key(|places| places.len()).cloned().unwrap_or_default();
        let places: Vec<String> = cheapest.into_iter().collect();
        let count = modules.len();
        format!(
            "{count} modules are in cycles such as {}; cheapest to cut: {}",
            way.join(" -> "),
            places.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules;
    use crate::repository::Text;

    /// Checks the complaints about a crate with these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], allowed: &[(&str, usize)], expect: &[&str]) {
        let root = files.iter().map(|(name, _)| format!("mod {};\n", name.replace(".rs", "")));
        let root: String = root.filter(|line| !line.contains('/')).collect();
        let exports = "pub use b::Exported;\n#[cfg(test)] mod only_in_tests;\n";
        let mut texts = vec![Text { path: "c/src/lib.rs".to_owned(), text: root + exports }];
        texts.extend(
            files.iter().map(|(name, text)| Text {
                path: format!("c/src/{name}"),
                text: (*text).to_owned(),
            }),
        );
        assert_eq!(complaints(&modules::crates(&texts), allowed), expect);
    }

    const BACK: (&str, &str) = ("b.rs", "use crate::a::A;");

    fn cycle(place: &str) -> String {
        format!("c: 2 modules are in cycles such as a -> b -> a; cheapest to cut: {place}")
    }

    #[test]
    fn uses_in_one_direction_are_fine() {
        check(&[("a.rs", "use std::fmt;"), BACK], &[], &[]);
    }

    #[test]
    fn every_way_to_name_a_module_is_a_use() {
        let named = |text: &str, place: &str| {
            check(
                &[("a.rs", text), BACK],
                &[],
                &[&cycle(&format!("crate::{place} in c/src/a.rs"))],
            );
        };
        named("use crate::{x, b::{self}};", "b");
        named("use crate::{b::B as C};", "b::B");
        named("fn f() { crate::b::g() }", "b::g");
        named("fn f(b: Vec<crate::b::B>) {}", "b::B");
        named("fn f() { println!(\"{}\", [crate::b::g()]) }", "b::g");
        named("use super::b::B;", "b::B");
        named("mod inner { use super::super::b::B; }", "b::B");
        named("use crate::Exported;", "Exported");
    }

    #[test]
    fn part_is_one_with_its_top_module() {
        let part = ("a/part.rs", "fn f() { super::super::b::g() }");
        let files = [("a.rs", "mod part;"), part, BACK];
        check(&files, &[], &[&cycle("crate::b::g in c/src/a/part.rs")]);
        check(&[("a.rs", "mod b { pub struct B; }\nuse self::b::B;"), BACK], &[], &[]);
        check(&[("a.rs", "mod b { use super::A; }"), BACK], &[], &[]);
    }

    #[test]
    fn tests_visibility_and_macros_for_others_use_nothing() {
        let fine = |text: &str| check(&[("a.rs", text), BACK], &[], &[]);
        fine("#[cfg(test)] use crate::b::B;");
        fine("#[cfg(test)]\nmod tests { use crate::b::B; }");
        fine("pub(in crate::b) struct A;");
        fine("macro_rules! m { () => { $crate::b::g() } }");
        let only_in_tests = ("only_in_tests.rs", "use crate::b::B;");
        check(&[("a.rs", ""), BACK, only_in_tests], &[], &[]);
    }

    #[test]
    fn cheapest_step_is_named() {
        let files = [
            ("a.rs", "use crate::{b::{X, Y}};"),
            ("b.rs", "use crate::{d::{X, Y}};"),
            ("d.rs", "use crate::a::A;"),
        ];
        let expect = "c: 3 modules are in cycles such as a -> b -> d -> a; cheapest to cut: crate::a::A in c/src/d.rs";
        check(&files, &[], &[expect]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let files = [("a.rs", "use crate::b::B;"), BACK];
        check(&files, &[("c", 2)], &[]);
        check(&files, &[("c", 1)], &[&cycle("crate::b::B in c/src/a.rs")]);
        check(&files, &[("c", 3)], &["c has 2 modules in cycles: lower its 3"]);
        let gone = "c needs no exception any more: take it off the list";
        check(&[("a.rs", ""), BACK], &[("c", 2)], &[gone]);
    }
}
