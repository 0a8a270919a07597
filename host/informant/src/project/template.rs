//! New projects: a language's template with a matching SDK in the folder `sdk`. Both are embedded in this program.
//!
//! A template is a project with the name `hello` in `plugin-sdk/LANGUAGE/template`, with the files of another folder in
//! place of some of its files ([`Template`]). A new project differs in that name and in the path of the SDK.

use super::language::Language;
use super::template_kind::Template;
use anyhow::{Context, Result, bail};
use informant_runtime::PluginName;
use std::path::Path;

/// A path below `plugin-sdk`, and a text.
type File = (&'static str, &'static str);

const EMBEDDED: &[File] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The name of all templates.
const TEMPLATE_NAME: &str = "hello";

/// The setting of the handler, in its configuration.
const GREETING: &str = "# Without this line the plugin greets with the text in its source.\n# config: {greeting: good day}\n";

/// Files of a template in which the template's name means nothing else.
const NAMED: [&str; 7] = [
    "Cargo.toml",
    "go.mod",
    "package.json",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "hello.yaml",
];

/// The path of the SDK in a template, and in a new project.
const PLACES: [(Language, &str, &str, &str); 5] = [
    (Language::Rust, "Cargo.toml", "path = \"..\"", "path = \"sdk/rust\""),
    (Language::Go, "go.mod", "=> ../", "=> ./sdk/go"),
    (Language::Js, "package.json", "\"file:..\"", "\"file:sdk/js\""),
    (Language::TypeScript, "package.json", "\"file:../../js\"", "\"file:sdk/js\""),
    (Language::AssemblyScript, "package.json", "\"file:..\"", "\"file:sdk/assemblyscript\""),
];

/// Names with another meaning for a compiler or a package manager.
const TAKEN: [&str; 23] = [
    "alloc",
    "assemblyscript",
    "core",
    "informant",
    "informant-plugin",
    "informant-plugin-assemblyscript",
    "main",
    "proc_macro",
    "sdk",
    "serde",
    "serde_json",
    "std",
    "test",
    "typescript",
    "build",
    "target",
    "as",
    "fn",
    "if",
    "mod",
    "pub",
    "self",
    "use",
];

/// Parses a project's name: a valid plugin name of the host, and a valid package name for package managers.
pub(crate) fn project_name(text: &str) -> Result<PluginName> {
    let name: PluginName = text.parse()?;
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let fits = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
        && text.bytes().all(plain);
    if !fits {
        bail!(
            "{text:?} cannot be a project's name: package managers take small letters, digits, '-' and '_', with a letter first \
             and a letter or digit last (a plugin's file may be called otherwise: informant plugin build -o FILE)"
        );
    }
    // Names of test files, and names that Go reads as a version's number, do not work as names of plugins.
    let is_version =
        text.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()));
    if TAKEN.contains(&text) || text.ends_with("_test") || is_version {
        bail!(
            "{text:?} cannot be a project's name: a compiler or package manager means something else by it; choose another"
        );
    }
    Ok(name)
}

/// The files of a new project: their paths in the project, and their texts.
pub(crate) fn files(
    language: Language,
    template: Template,
    name: &PluginName,
) -> Vec<(String, String)> {
    let key = language.facts().key;
    let [common, own] = [Template::Handler, template].map(|it| format!("{key}/{}/", it.folder()));
    let of_sdk = |path: &str| {
        let folder = path.split_once('/').map(|(folder, _)| folder);
        let is_ours = folder.is_none_or(|it| ["wit", key, language.sdk()].contains(&it));
        is_ours && !path.contains("/template/") && !path.contains("/templates/")
    };
    let own_text = |file: &str| {
        let place = format!("{own}{file}");
        EMBEDDED.iter().find_map(|(path, text)| (*path == place).then_some(*text))
    };
    let placed = EMBEDDED.iter().filter_map(|(path, text)| match path.strip_prefix(&common) {
        Some(file) => {
            let place = file.replace(TEMPLATE_NAME, name.as_str());
            let text = own_text(file).unwrap_or(text);
            Some((place, adapted(language, template, file, text, name)))
        }
        None => of_sdk(path).then(|| (format!("sdk/{path}"), (*text).to_owned())),
    });
    placed.collect()
}

fn adapted(
    language: Language,
    template: Template,
    file: &str,
    text: &str,
    name: &PluginName,
) -> String {
    let mut text = text.to_owned();
    if template != Template::Handler {
        text = text.replace(Template::Handler.does(), template.does());
        text = text.replace(GREETING, "");
    }
    let is_here = |place: &&(Language, &str, &str, &str)| place.0 == language && place.1 == file;
    for (_, _, from, to) in PLACES.iter().filter(is_here) {
        text = text.replace(from, to);
    }
    match NAMED.contains(&file) {
        true => text.replace(TEMPLATE_NAME, name.as_str()),
        false => text,
    }
}

/// Writes a project into a folder, which must be missing or empty.
pub(crate) fn new_project(
    folder: &Path,
    language: Language,
    template: Template,
    name: &PluginName,
) -> Result<()> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!(
                    "{} is there and not empty; name another project, or remove it",
                    folder.display()
                );
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => bail!("{} cannot become a project: {error}", folder.display()),
    }
    for (path, text) in files(language, template, name) {
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = written.and_then(|()| std::fs::write(&path, text));
        written.with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, problem: Option<&str>) {
        let error = project_name(text).err().map(|error| error.to_string());
        match problem {
            None => assert_eq!(error, None, "{text:?}"),
            Some(words) => {
                assert!(error.as_ref().is_some_and(|it| it.contains(words)), "{text:?}: {error:?}")
            }
        }
    }

    #[test]
    fn names_do_for_host_and_package_managers() {
        check("hello", None);
        check("pod-watch_2", None);
        check(&"a".repeat(63), None);
        check(&"a".repeat(64), Some("1 to 63"));
        check("", Some("1 to 63"));
        check("../up", Some("1 to 63"));
        check(".hidden", Some("1 to 63"));
        check("Hello", Some("small letters"));
        check("a.b", Some("small letters"));
        check("9lives", Some("a letter first"));
        check("a-", Some("letter or digit last"));
        check("std", Some("choose another"));
        check("pod_test", Some("choose another"));
        check("v2", Some("choose another"));
        check("v2x", None);
        check("informant-plugin", Some("choose another"));
    }

    fn name() -> PluginName {
        "pod-watch".parse().expect("a name")
    }

    #[test]
    fn project_is_called_by_its_name_and_has_its_sdk() {
        for language in Language::ALL {
            let files = files(language, Template::Handler, &name());
            let key = language.facts().key;
            let text = |path: &str| {
                let file = files.iter().find(|(place, _)| place == path);
                file.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("{key} has no {path}"))
            };
            assert!(
                text("README.md").contains("pod-watch") && !text("README.md").contains("hello")
            );
            text(".gitignore");
            assert!(text("pod-watch.yaml").contains("config: "));
            text("sdk/LICENSE");
            text("sdk/wit/plugin.wit");
            text("sdk/reference.md");
            let schema =
                text("pod-watch.yaml").lines().next().and_then(|line| line.split_once('='));
            assert!(text(schema.expect("its schema").1).contains("PluginConfiguration"));
            text(&format!("sdk/{key}/README.md"));
            for (path, _) in &files {
                assert!(!path.contains("template") && !path.contains("hello"), "{key}: {path}");
                let foreign = Language::ALL.map(|other| other.facts().key).into_iter();
                for other in foreign.filter(|other| ![key, language.sdk()].contains(other)) {
                    assert!(!path.starts_with(&format!("sdk/{other}/")), "{key}: {path}");
                }
            }
        }
    }

    /// A file of another folder that stands for no file of the template would not be in the project.
    #[test]
    fn each_kind_of_plugin_differs_in_its_sources_alone() {
        for language in Language::ALL {
            let plain = files(language, Template::Handler, &name());
            for template in [Template::Controller, Template::Timer] {
                let folder = format!("{}/{}/", language.facts().key, template.folder());
                let own = EMBEDDED.iter().filter(|(path, _)| path.starts_with(&folder)).count();
                let made = files(language, template, &name());
                let pairs = || plain.iter().zip(&made);
                assert!(plain.len() == made.len() && pairs().all(|(a, b)| a.0 == b.0));
                let differ: Vec<_> =
                    pairs().filter(|(a, b)| a.1 != b.1).map(|(a, _)| &*a.0).collect();
                assert_eq!(differ.len(), own + 2, "{folder}: {differ:?}");
                assert!(differ.contains(&"README.md") && differ.contains(&"pod-watch.yaml"));
                assert!(own > 0 && made.iter().all(|(_, text)| !text.contains("greets")));
            }
        }
    }

    /// The files that a project's file refers to, by paths in its own folder.
    fn named(path: &str, text: &str) -> Vec<String> {
        let toml = || text.parse::<toml::Table>().expect("TOML");
        let file = path.rsplit('/').next().unwrap_or_default();
        let words = match file {
            "package.json" => {
                let package: serde_json::Value = serde_json::from_str(text).expect("JSON");
                let parts = ["main", "scripts", "exports", "bin"].map(|it| &package[it]);
                let texts = parts
                    .iter()
                    .flat_map(|it| it.as_object().map_or(vec![*it], |it| it.values().collect()));
                texts
                    .filter_map(|it| it.as_str())
                    .flat_map(str::split_whitespace)
                    .map(str::to_owned)
                    .collect()
            }
            "Makefile" => text.split_whitespace().map(str::to_owned).collect(),
            "pyproject.toml" => {
                let toml = toml();
                let tool = toml.get("tool").and_then(|it| it.get("setuptools"));
                let packages = tool.and_then(|it| it.get("packages")).and_then(|it| it.as_array());
                let module =
                    |it: &toml::Value| format!("{}/__init__.py", it.as_str().unwrap_or_default());
                packages.into_iter().flatten().map(module).collect()
            }
            "Cargo.toml" => {
                let toml = toml();
                let all = ["dependencies", "dev-dependencies"]
                    .map(|it| toml.get(it).and_then(|it| it.as_table()));
                let paths = all
                    .into_iter()
                    .flatten()
                    .flat_map(|it| it.values())
                    .filter_map(|it| it.get("path"));
                let folders =
                    paths.filter_map(|it| it.as_str()).map(|it| format!("{it}/Cargo.toml"));
                let targets = ["test", "bench", "example", "bin"]
                    .iter()
                    .filter_map(|it| toml.get(*it)?.as_array())
                    .flatten();
                let target = |it: &toml::Value| {
                    it.get("path")
                        .and_then(|it| it.as_str())
                        .unwrap_or("a target without a path")
                        .to_owned()
                };
                folders.chain(targets.map(target)).collect()
            }
            _ => Vec::new(),
        };
        let is_file = |word: &String| {
            let ends = [".js", ".ts", ".c", ".h", ".py", ".rs", ".toml", ".json"];
            let is_one = !word.starts_with("build/") && !word.contains('*');
            is_one && ends.iter().any(|end| word.ends_with(end))
        };
        words.into_iter().filter(is_file).map(|it| it.trim_start_matches("./").to_owned()).collect()
    }

    #[test]
    fn what_a_projects_scripts_name_is_there() {
        let mut found = Vec::new();
        for language in Language::ALL {
            let files = files(language, Template::Handler, &name());
            for (path, text) in &files {
                let folder =
                    path.rsplit_once('/').map_or(String::new(), |(it, _)| format!("{it}/"));
                for file in named(path, text).iter().map(|it| format!("{folder}{it}")) {
                    assert!(files.iter().any(|(there, _)| *there == file), "{path} names {file}");
                    found.push(file);
                }
            }
        }
        for file in [
            "plugin.js",
            "src/plugin.ts",
            "sdk/js/build.js",
            "pod-watch_test.c",
            "sdk/rust/Cargo.toml",
            "sdk/python/informant/__init__.py",
            "sdk/assemblyscript/build.js",
            "assembly/index.ts",
        ] {
            assert!(found.iter().any(|it| it == file), "{file} is not among {found:?}");
        }
    }

    #[test]
    fn every_place_of_an_sdk_is_found_once() {
        for (language, file, from, _) in PLACES {
            let place = format!("{}/template/{file}", language.facts().key);
            let templates = EMBEDDED.iter().filter(|(path, _)| *path == place);
            let found: usize = templates.map(|(_, text)| text.matches(from).count()).sum();
            assert_eq!(found, 1, "{from} in {place}");
        }
    }

    #[test]
    fn what_the_sdks_are_tested_with_stays_behind() {
        for (path, _) in EMBEDDED {
            for part in [
                "fails/",
                "tests/",
                "node_modules",
                "__pycache__",
                "target/",
                "test_informant",
                "informant_test.zig",
            ] {
                assert!(!path.contains(part), "{path}");
            }
            assert!(path.contains("/template") || !path.ends_with("_test.go"), "{path}");
        }
    }

    #[test]
    fn folder_with_something_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine"), "").unwrap();
        let error = new_project(folder.path(), Language::Go, Template::Handler, &name())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not empty"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn sdk_for_rust_needs_no_workspace_and_agrees_with_ours() {
        let text = EMBEDDED.iter().find(|(path, _)| *path == "rust/Cargo.toml").unwrap().1;
        let manifest: toml::Table = text.parse().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let root: toml::Table = std::fs::read_to_string(root).unwrap().parse().unwrap();
        let ours = &root["workspace"];
        for key in ["version", "edition", "rust-version", "license"] {
            assert_eq!(manifest["package"][key], ours["package"][key], "{key}");
        }
        for (name, ours) in ours["dependencies"].as_table().unwrap() {
            let Some(theirs) = manifest["dependencies"].get(name) else { continue };
            let version = |it: &toml::Value| it.get("version").unwrap_or(it).clone();
            assert_eq!(version(theirs), version(ours), "{name}");
        }
        assert!(!text.contains("workspace = true"));
    }
}
