//! What is in the repository: its sources, its texts, its packages.

use std::path::Path;
use std::process::Command;

use informant_e2e::paths;
use serde_json::Value;

use crate::code;

/// A Rust source file.
pub struct Source {
    /// From the root, with `/`.
    pub path: String,
    /// The text with comments and literals blanked out, line for line and byte for byte.
    pub code: String,
}

/// Any text file.
pub struct Text {
    /// From the root, with `/`.
    pub path: String,
    pub text: String,
}

/// A crate and what it depends on.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    /// Its directory, from the root.
    pub directory: String,
    /// For use and for tests alike.
    pub dependencies: Vec<String>,
}

/// Everything that rules look at.
pub struct Repository {
    pub sources: Vec<Source>,
    pub texts: Vec<Text>,
}

const TEXT_EXTENSIONS: [&str; 16] = [
    "rs", "toml", "md", "mk", "yaml", "yml", "wit", "wat", "go", "sh", "c", "h", "js", "ts", "py",
    "zig",
];

impl Repository {
    /// Reads what is under version control, or would be.
    pub fn read() -> Self {
        let mut texts = Vec::new();
        collect(&paths::root(), "", &mut texts);
        assert!(texts.len() > 20, "the repository was found");
        let source =
            |text: &Text| Source { path: text.path.clone(), code: code::blank(&text.text) };
        let sources = texts.iter().filter(|text| text.path.ends_with(".rs")).map(source).collect();
        Self { sources, texts }
    }
}

fn collect(directory: &Path, prefix: &str, texts: &mut Vec<Text>) {
    let entries = std::fs::read_dir(directory).expect("a directory of the repository");
    for entry in entries {
        let entry = entry.expect("an entry of the repository");
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "target" || name == ".git" || name == "node_modules" {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().expect("a file type").is_dir() {
            collect(&entry.path(), &format!("{path}/"), texts);
        } else if is_text(&name) {
            let text = std::fs::read_to_string(entry.path());
            texts.push(Text { path, text: text.expect("a text file in UTF-8") });
        }
    }
}

fn is_text(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| TEXT_EXTENSIONS.contains(&extension))
        || ["Makefile", "Dockerfile"].contains(&name)
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(paths::root())
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {error}");
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// The workspace's packages.
pub fn packages() -> Vec<Package> {
    let root = paths::root().display().to_string();
    let list = metadata()["packages"].as_array().expect("packages").clone();
    list.iter()
        .map(|package| {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let manifest = text(&package["manifest_path"]);
            let directory = manifest.strip_prefix(&root).expect("in the repository");
            let directory = directory.trim_start_matches('/').trim_end_matches("/Cargo.toml");
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            Package {
                name: text(&package["name"]),
                directory: directory.to_owned(),
                dependencies: dependencies.iter().map(|one| text(&one["name"])).collect(),
            }
        })
        .collect()
}

/// The names of the plugins that misbehave: the examples of `plugins/test-guests` and its `.wat` files.
pub fn test_guests() -> Vec<String> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == "test-guests");
    let targets = package.expect("plugins/test-guests")["targets"].as_array().expect("targets");
    let mut guests: Vec<String> = targets
        .iter()
        .filter(|target| target["kind"][0] == "example")
        .map(|target| target["name"].as_str().expect("a name").replace('_', "-"))
        .collect();
    let mut texts = Vec::new();
    collect(&paths::root().join("plugins/test-guests/wat"), "", &mut texts);
    let wat = |text: &Text| {
        let name = text.path.rsplit('/').next()?;
        name.strip_suffix(".wat").map(str::to_owned)
    };
    guests.extend(texts.iter().filter_map(wat));
    guests
}
