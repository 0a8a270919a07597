//! The language and the name of a folder's plugin, from the file that its tools read.
//!
//! | file | language | name |
//! | --- | --- | --- |
//! | `Cargo.toml` with a `[package]` | Rust | the package's |
//! | `go.mod` | Go | the last part of the module's path |
//! | `package.json` | JavaScript; AssemblyScript where it depends on that SDK; else TypeScript where `main` ends in `.ts` | the package's, without its scope |
//! | `pyproject.toml` or none, and `app.py` | Python | the project's, else the folder's |
//! | a `.c` file that defines `plugin_describe` | C | that file's |
//! | a `.zig` file that calls `informant.plugin` | Zig | that file's |
//!
//! The first match in the table counts. A folder may also have files of other languages for its tools; these come
//! later in the table than the plugin's own file.

use super::language::Language;
use anyhow::{Context, Result, anyhow, bail};
use informant_runtime::PluginName;
use serde_json::Value;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// A project file has a page or two. A larger file does not count as one.
const PROJECT_FILE_BYTES_MAX: u64 = 1 << 20;
/// The number of folders in one folder of projects. More folders suggest a mistyped path.
const PROJECTS_MAX: usize = 64;
/// The function that the C SDK asks a plugin to define.
const C_MARK: &str = "plugin_describe(";
/// The call that makes a plugin from a struct, in Zig.
const ZIG_MARK: &str = "informant.plugin(";
/// The package that a plugin in AssemblyScript depends on.
const ASSEMBLYSCRIPT_SDK: &str = "informant-plugin-assemblyscript";
/// The endings of files in TypeScript.
const TYPESCRIPT: [&str; 3] = [".ts", ".mts", ".tsx"];

/// A folder with a plugin's sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    pub(crate) folder: PathBuf,
    pub(crate) language: Language,
    pub(crate) name: PluginName,
    pub(crate) settings: Settings,
}

/// Settings of some languages' tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    /// The first file: `main` of `package.json`, or the `.zig` file that gives the plugin its name.
    pub(crate) entry: Option<String>,
    /// The path of the SDK if it is not `sdk`: `tool.informant.sdk` of `pyproject.toml`.
    pub(crate) sdk: Option<String>,
    /// The folder's C files, without tests.
    pub(crate) sources: Vec<String>,
}

impl Project {
    /// The project in a folder. `None` if the folder is not a project.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>> {
        let found =
            [cargo, go, node, python, c, zig].into_iter().find_map(|look| look(folder).transpose());
        let Some(found) = found.transpose()? else { return Ok(None) };
        let (language, name, settings) = found;
        let title = language.facts().title;
        let name = name.parse().map_err(|error| {
            anyhow!(
                "{} is a {title} project whose name cannot be a plugin's: {error}",
                folder.display()
            )
        })?;
        // Tools run in this folder and name it in their messages. cargo names it without symbolic links.
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be read", folder.display()))?;
        Ok(Some(Self { folder, language, name, settings }))
    }

    /// The project in a folder. An error if the folder is not a project.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        std::fs::read_dir(folder)
            .with_context(|| format!("{} cannot be read", folder.display()))?;
        Self::find(folder)?.ok_or_else(|| {
            anyhow!(
                "{} is no plugin project: there is no Cargo.toml with a [package], no go.mod, package.json or app.py, nor a .c file \
                 that defines plugin_describe or a .zig file that calls informant.plugin; informant plugin new makes one",
                folder.display()
            )
        })
    }

    /// The folder for built files.
    pub(crate) fn build_folder(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// The path of the project's plugin file in a folder.
    pub(crate) fn plugin_file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.wasm", self.name))
    }

    /// The path of the plugin's configuration, which may be missing.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join(format!("{}.yaml", self.name))
    }
}

/// The projects that a path is or contains. Empty if the path is a folder of plugin files.
pub(crate) fn projects_in(folder: &Path) -> Result<Vec<Project>> {
    if let Some(project) = Project::find(folder)? {
        return Ok(vec![project]);
    }
    let names = names_in(folder)?;
    if names.iter().any(|name| name.ends_with(".wasm")) {
        return Ok(Vec::new());
    }
    let mut projects = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let inner = folder.join(name);
        if inner.is_dir() {
            projects.extend(Project::find(&inner)?);
        }
        if projects.len() > PROJECTS_MAX {
            bail!(
                "{} holds more than {PROJECTS_MAX} projects; name those that you mean",
                folder.display()
            );
        }
    }
    Ok(projects)
}

type Recognized = Option<(Language, String, Settings)>;

fn cargo(folder: &Path) -> Result<Recognized> {
    let Some(manifest) = toml_file(&folder.join("Cargo.toml"))? else { return Ok(None) };
    // A workspace without a package is not a plugin.
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(|name| name.as_str());
    Ok(name.map(|name| (Language::Rust, name.to_owned(), Settings::default())))
}

fn go(folder: &Path) -> Result<Recognized> {
    let path = folder.join("go.mod");
    let Some(text) = text_file(&path)? else { return Ok(None) };
    let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
    let module = module.with_context(|| format!("{} names no module", path.display()))?;
    let module = module.split("//").next().unwrap_or_default().trim().trim_matches('"');
    let is_version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit()))
    };
    let name = module.rsplit('/').find(|part| !is_version(part)).unwrap_or_default();
    Ok(Some((Language::Go, name.to_owned(), Settings::default())))
}

fn node(folder: &Path) -> Result<Recognized> {
    let path = folder.join("package.json");
    let Some(text) = text_file(&path)? else { return Ok(None) };
    let package: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = package["name"].as_str().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    let entry = text(&package["main"]);
    let needs = |key: &str| package[key].get(ASSEMBLYSCRIPT_SDK).is_some();
    let is_typed = entry.as_ref().is_some_and(|it| TYPESCRIPT.iter().any(|end| it.ends_with(end)));
    let language = match needs("dependencies") || needs("devDependencies") {
        true => Language::AssemblyScript,
        false if is_typed => Language::TypeScript,
        false => Language::Js,
    };
    Ok(Some((language, name, Settings { entry, ..Settings::default() })))
}

fn python(folder: &Path) -> Result<Recognized> {
    if !folder.join("app.py").is_file() {
        return Ok(None);
    }
    let project = toml_file(&folder.join("pyproject.toml"))?.unwrap_or_default();
    let at = |path: &[&str]| {
        let first = project.get(path[0]);
        let found = path[1..].iter().try_fold(first?, |value, key| value.get(*key));
        found.and_then(|value| value.as_str()).map(str::to_owned)
    };
    let sdk = at(&["tool", "informant", "sdk"]);
    let own = || {
        std::path::absolute(folder)
            .ok()?
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let name = at(&["project", "name"]).or_else(own).unwrap_or_default();
    Ok(Some((Language::Python, name, Settings { sdk, ..Settings::default() })))
}

fn c(folder: &Path) -> Result<Recognized> {
    let Some((name, sources)) = marked(folder, ".c", C_MARK)? else { return Ok(None) };
    Ok(Some((Language::C, name, Settings { sources, ..Settings::default() })))
}

fn zig(folder: &Path) -> Result<Recognized> {
    let Some((name, _)) = marked(folder, ".zig", ZIG_MARK)? else { return Ok(None) };
    let entry = Some(format!("{name}.zig"));
    Ok(Some((Language::Zig, name, Settings { entry, ..Settings::default() })))
}

/// The folder's files with this ending, without tests. Returns the name of the file that contains the mark, and all of
/// them.
fn marked(folder: &Path, ending: &str, mark: &str) -> Result<Option<(String, Vec<String>)>> {
    let stem = |name: &str| name.strip_suffix(ending).map(str::to_owned);
    let is_source = |name: &String| stem(name).is_some_and(|stem| !stem.ends_with("_test"));
    let sources: Vec<String> = names_in(folder)?.into_iter().filter(is_source).collect();
    let mut names = Vec::new();
    for source in &sources {
        if text_file(&folder.join(source))?.is_some_and(|text| text.contains(mark)) {
            names.extend(stem(source));
        }
    }
    match names.len() {
        0 | 1 => Ok(names.pop().map(|name| (name, sources))),
        _ => bail!(
            "{} holds several plugins ({}); one folder is one plugin: move each to its own",
            folder.display(),
            names.join(", ")
        ),
    }
}

fn toml_file(path: &Path) -> Result<Option<toml::Table>> {
    let Some(text) = text_file(path)? else { return Ok(None) };
    let table = text.parse().with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(Some(table))
}

/// `None` if the file is missing.
fn text_file(path: &Path) -> Result<Option<String>> {
    let problem = || format!("{} cannot be read", path.display());
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(problem),
    };
    let mut text = String::new();
    file.take(PROJECT_FILE_BYTES_MAX + 1).read_to_string(&mut text).with_context(problem)?;
    if text.len() as u64 > PROJECT_FILE_BYTES_MAX {
        bail!(
            "{} has more than {PROJECT_FILE_BYTES_MAX} bytes: that is no project's file",
            path.display()
        );
    }
    Ok(Some(text))
}

/// The names in alphabetical order, whatever the file system's order is.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be read", folder.display()))?;
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| entry.map(name)).collect::<Result<_, _>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    /// `language name`, `none`, or an error's text.
    #[track_caller]
    fn check(files: &[(&str, &str)], expect: &str) {
        let folder = folder(files);
        let shown = match Project::find(folder.path()) {
            Ok(None) => "none".to_owned(),
            Ok(Some(project)) => format!("{} {}", project.language.facts().key, project.name),
            Err(error) => format!("{error:#}"),
        };
        assert!(shown.contains(expect), "{shown:?} has no {expect:?}");
    }

    #[test]
    fn language_and_name_are_those_of_the_project_file() {
        check(&[("Cargo.toml", "[package]\nname = \"pods\"")], "rust pods");
        check(&[("go.mod", "module example.com/a/pods // mine\n\ngo 1.24\n")], "go pods");
        check(&[("go.mod", "module example.com/pods/v2\n")], "go pods");
        check(&[("package.json", r#"{"name": "@me/pods"}"#)], "js pods");
        let typescript = r#"{"name": "pods", "main": "src/plugin.ts"}"#;
        check(&[("package.json", typescript)], "typescript pods");
        let assemblyscript = r#"{"name": "pods", "main": "a.ts", "dependencies": {"informant-plugin-assemblyscript": "file:sdk"}}"#;
        check(&[("package.json", assemblyscript)], "assemblyscript pods");
        check(&[("app.py", ""), ("pyproject.toml", "[project]\nname = \"pods\"")], "python pods");
        let zig = ("pods.zig", "comptime { informant.plugin(Pods); }");
        check(&[zig, ("other.zig", ""), ("build.zig", "")], "zig pods");
        check(
            &[
                ("pods.c", "informant_result plugin_describe(informant_string c) {"),
                ("other.c", ""),
            ],
            "c pods",
        );
    }

    #[test]
    fn what_is_no_project_is_none() {
        check(&[], "none");
        check(&[("Cargo.toml", "[workspace]\nmembers = []")], "none");
        check(&[("pyproject.toml", "[project]\nname = \"pods\"")], "none");
        check(&[("pods.c", "int main() {}"), ("pods_test.c", "plugin_describe(a)")], "none");
    }

    #[test]
    fn plugins_own_language_counts_before_what_its_tools_need() {
        let package = ("package.json", r#"{"name": "tools"}"#);
        check(&[("Cargo.toml", "[package]\nname = \"pods\""), package], "rust pods");
        check(&[("go.mod", "module pods"), package, ("app.py", "")], "go pods");
    }

    #[test]
    fn broken_project_files_are_named() {
        check(&[("Cargo.toml", "[package")], "Cargo.toml cannot be read");
        check(&[("package.json", "{")], "package.json is no JSON");
        check(&[("package.json", "{}")], "cannot be a plugin's");
        check(&[("go.mod", "go 1.24")], "names no module");
        check(&[("Cargo.toml", "[package]\nname = \"a b\"")], "cannot be a plugin's");
        check(
            &[("a.c", "plugin_describe("), ("b.c", "plugin_describe(")],
            "several plugins (a, b)",
        );
        let both = [("a.zig", "informant.plugin(A)"), ("b.zig", "informant.plugin(B)")];
        check(&both, "several plugins (a, b)");
        let comment = |bytes: u64| "#".repeat(bytes as usize);
        check(&[("Cargo.toml", &comment(PROJECT_FILE_BYTES_MAX))], "none");
        check(&[("Cargo.toml", &comment(PROJECT_FILE_BYTES_MAX + 1))], "more than 1048576 bytes");
    }

    #[test]
    fn settings_are_read_where_tools_keep_them() {
        let settings = |files: &[(&str, &str)]| {
            let folder = folder(files);
            Project::open(folder.path()).unwrap().settings
        };
        let js = r#"{"name": "a", "main": "src/a.js"}"#;
        let js = settings(&[("package.json", js)]);
        assert_eq!(js.entry.as_deref(), Some("src/a.js"));
        let python = "[project]\nname = \"a\"\n[tool.informant]\nsdk = \"../sdk\"";
        let python = settings(&[("app.py", ""), ("pyproject.toml", python)]);
        assert_eq!(python.sdk.as_deref(), Some("../sdk"));
        let c =
            settings(&[("a.c", "plugin_describe("), ("b.c", ""), ("a_test.c", ""), ("b.h", "")]);
        assert_eq!(c.sources, ["a.c", "b.c"]);
        let zig = settings(&[("a.zig", "informant.plugin(A)"), ("b.zig", "")]);
        assert_eq!(zig.entry.as_deref(), Some("a.zig"));
    }

    #[test]
    fn folder_of_projects_holds_each_and_a_folder_of_plugins_none() {
        let names = |files: &[(&str, &str)]| -> Vec<String> {
            let folder = folder(files);
            projects_in(folder.path()).unwrap().iter().map(|it| it.name.to_string()).collect()
        };
        let (one, two) = (("b/go.mod", "module one"), ("a/go.mod", "module two"));
        assert_eq!(
            names(&[one, two, ("docs/a.md", ""), (".git/go.mod", "module no")]),
            ["two", "one"]
        );
        assert_eq!(names(&[one, ("x.wasm", "")]), [""; 0]);
        assert_eq!(names(&[]), [""; 0]);
        let numbers: Vec<String> = (0..=PROJECTS_MAX).map(|it| format!("p{it}/go.mod")).collect();
        let files: Vec<(&str, &str)> =
            numbers.iter().map(|path| (path.as_str(), "module a")).collect();
        assert_eq!(names(&files[1..]).len(), PROJECTS_MAX);
        let error = projects_in(folder(&files).path()).unwrap_err().to_string();
        assert!(error.contains("more than 64 projects"), "{error}");
    }
}
