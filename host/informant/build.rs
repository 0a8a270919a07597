//! Embeds the SDKs and their templates, which `informant plugin new` writes into projects: a table of paths and texts.
//!
//! Ours and not a crate's, because it names what goes in and leaves everything else out: what tools have left in those
//! folders stays there, and a file that is added is seen.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Of `plugin-sdk`, what projects get.
const FOLDERS: [&str; 9] =
    ["wit", "rust", "go", "js", "typescript", "python", "c", "zig", "assemblyscript"];
/// Files from other places, and those places: each is written once.
const SHARED: [(&str, &str); 5] = [
    ("LICENSE", "LICENSE"),
    ("descriptor.schema.json", "plugin-sdk/descriptor.schema.json"),
    ("plugin-configuration.json", "host/docs/schemas/plugin-configuration.json"),
    ("reference.md", "plugin-sdk/reference.md"),
    ("assemblyscript/testing/keys.js", "plugin-sdk/js/testing/keys.js"),
];
/// Tests of the SDKs themselves, and what tools leave.
const LEFT_OUT: [&str; 9] = [
    "tests",
    "fails",
    "target",
    "build",
    "node_modules",
    "__pycache__",
    "test.js",
    "test_informant.py",
    "informant_test.zig",
];
/// Everything else is nothing that somebody wrote.
const EXTENSIONS: [&str; 15] = [
    "rs", "toml", "yaml", "wit", "go", "mod", "js", "json", "py", "txt", "c", "h", "md", "zig",
    "ts",
];
/// Files that have no extension.
const NAMES: [&str; 2] = [".gitignore", "Makefile"];

fn main() -> io::Result<()> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = here.ancestors().nth(2).ok_or(io::ErrorKind::NotFound)?;
    let mut files = SHARED.map(|(name, path)| (name.to_owned(), root.join(path))).to_vec();
    for folder in FOLDERS {
        collect(&root.join("plugin-sdk").join(folder), folder, &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        let path = path.display().to_string();
        writeln!(table, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    table.push(']');
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("embedded.rs"), table)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    // A file that comes or goes changes the folder.
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}/{name}");
        let kind = entry.file_type()?;
        if LEFT_OUT.contains(&&*name) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else if kind.is_file() && is_wanted(&path, &name) {
            files.push((path, entry.path()));
        }
    }
    Ok(())
}

fn is_wanted(path: &str, name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_text = extension.is_some_and(|it| EXTENSIONS.contains(&it)) || NAMES.contains(&name);
    // The templates' tests are part of them, the SDKs' are not.
    let is_template = ["/template/", "/templates/"].iter().any(|folder| path.contains(folder));
    is_text && (is_template || !name.ends_with("_test.go"))
}
