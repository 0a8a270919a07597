//! Every make target that compiles Rust first installs the toolchain, so that a new machine never lacks a tool in the
//! middle of a build. Every declared target has a rule.

use informant_e2e::paths;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The target that installs the toolchain.
const TOOLCHAIN: &str = "prerequisites";
/// make's own list of targets without a file. Its prerequisites are these targets.
const PHONY: &str = ".PHONY";
/// The commands in a recipe that compile.
const COMPILERS: [&str; 5] =
    ["cargo ", "$(CARGO) ", "$(SIMULATION)", "examples/demo/demo.sh", "examples/demo/plugin.sh"];

/// A target's prerequisites and its recipe.
#[derive(Debug, Default)]
pub struct Rule {
    depends_on: BTreeSet<String>,
    recipe: String,
}

/// The makefiles, as make itself parses them.
pub fn read() -> BTreeMap<String, Rule> {
    let output = Command::new("make")
        .args(["--print-data-base", "--question", "--no-builtin-rules", "help"])
        .current_dir(paths::root())
        // A make that runs this test passes flags and variables on.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .expect("make runs");
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(data_base: &str) -> BTreeMap<String, Rule> {
    let mut rules = BTreeMap::<String, Rule>::new();
    let mut target = None;
    for line in data_base.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            let rule = target.as_ref().and_then(|target| rules.get_mut(target));
            if let Some(rule) = rule {
                rule.recipe += recipe;
                rule.recipe.push('\n');
            }
        } else if line.is_empty() {
            target = None;
        } else if let Some((name, rest)) = line.split_once(':').filter(|_| is_rule(line)) {
            let rule = rules.entry(name.to_owned()).or_default();
            let names = rest.trim_start_matches(':').split_whitespace();
            rule.depends_on.extend(names.filter(|name| *name != "|").map(str::to_owned));
            target = Some(name.to_owned());
        }
    }
    rules
}

/// Variables, comments and settings of single targets are not rules.
fn is_rule(line: &str) -> bool {
    let is_own = line.starts_with(['#', '.', ' ']) && !line.starts_with(PHONY);
    !is_own && !line.contains(" := ") && !line.contains(" = ")
}

/// Complaints about targets that compile and depend on the toolchain's target neither directly nor through others.
pub fn without_toolchain(rules: &BTreeMap<String, Rule>) -> Vec<String> {
    let compiles = |rule: &Rule| COMPILERS.iter().any(|compiler| rule.recipe.contains(compiler));
    let lacks = |name: &str| name != TOOLCHAIN && !reaches(rules, name, &mut BTreeSet::new());
    let found = rules.iter().filter(|(name, rule)| compiles(rule) && lacks(name));
    let mut complaints: Vec<_> = found
        .map(|(name, _)| format!("make {name} compiles and does not depend on {TOOLCHAIN}"))
        .collect();
    if !rules.contains_key(TOOLCHAIN) {
        complaints.push(format!("there is no make target {TOOLCHAIN}"));
    }
    complaints
}

/// Complaints about targets that are declared without a file, and have neither a recipe nor prerequisites.
pub fn without_rule(rules: &BTreeMap<String, Rule>) -> Vec<String> {
    let is_empty = |name: &&String| {
        let rule = rules.get(*name);
        rule.is_none_or(|rule| rule.depends_on.is_empty() && rule.recipe.is_empty())
    };
    let phony = rules.get(PHONY).into_iter().flat_map(|rule| &rule.depends_on);
    phony.filter(is_empty).map(|name| format!("make {name} is declared and has no rule")).collect()
}

fn reaches<'a>(
    rules: &'a BTreeMap<String, Rule>,
    name: &'a str,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    let Some(rule) = rules.get(name).filter(|_| seen.insert(name)) else { return false };
    let mut names = rule.depends_on.iter();
    names.any(|name| name == TOOLCHAIN || reaches(rules, name, seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(makefile: &str, complaints: &[&str]) {
        let rules = parse(&format!("prerequisites:\n\n{makefile}"));
        let found = without_toolchain(&rules);
        let names = found.iter().filter_map(|text| text.split(' ').nth(1)).collect::<Vec<_>>();
        assert_eq!(names, complaints);
    }

    #[test]
    fn a_declared_target_without_a_rule_is_complained_of() {
        let rules = parse(".PHONY: a b c\n\na:\n\techo\n\nb: a\n\nc:\n#  Phony target\n");
        assert_eq!(without_rule(&rules), ["make c is declared and has no rule"]);
    }

    #[test]
    fn a_target_that_compiles_without_the_toolchain_is_complained_of() {
        check("a: prerequisites\n\tcargo build\n\nb: a c\n\tcargo test\n", &[]);
        check("a: b\n#  Phony target\n\t@set -e; cargo build\n\nb: a\n", &["a"]);
        check("a:\n\techo\n\nCARGO := cargo run\nb: | prerequisites\n\tcargo run\n", &[]);
    }
}
