//! Manifests from a directory: finds the resource and the namespace of each object.

use anyhow::{Context, Result, anyhow, bail};
use informant_apimachinery::GroupVersionResource;
use informant_devcluster::store::Store;
use informant_runtime::KindedObject;
use jiff::Timestamp;
use serde_json::Value;
use serde_saphyr::{Spanned, UserMessageFormatter};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The number of files in a directory and its subdirectories.
const FILES_MAX: usize = 10_000;
/// The number of bytes of all files together.
const BYTES_MAX: u64 = 256 << 20;
/// The number of levels of directories.
const DEPTH_MAX: usize = 16;

/// Documents in the order of their files' paths. Each has its file and its line there, for errors.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    documents: Vec<(String, Value)>,
    files: usize,
    bytes: u64,
}

/// A kind's name as a resource.
#[derive(Debug, Clone)]
struct KnownKind {
    plural: String,
    namespaced: bool,
}

/// By group and kind.
type KindTable = BTreeMap<(String, String), KnownKind>;

impl Manifests {
    /// Reads all files that end in `.yaml`, `.yml` or `.json`.
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let mut manifests = Self::default();
        manifests.read_directory(directory, DEPTH_MAX)?;
        Ok(manifests)
    }

    fn read_directory(&mut self, directory: &Path, depth: usize) -> Result<()> {
        let unreadable = || format!("{} cannot be read", directory.display());
        if depth == 0 {
            bail!("{} is more than {DEPTH_MAX} directories deep", directory.display());
        }
        let entries = fs::read_dir(directory).with_context(unreadable)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<std::io::Result<Vec<_>>>().with_context(unreadable)?;
        paths.sort();
        for path in paths {
            let metadata = fs::metadata(&path).with_context(unreadable)?;
            let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if metadata.is_dir() {
                self.read_directory(&path, depth - 1)?;
            } else if metadata.is_file() && ["yaml", "yml", "json"].contains(&ending) {
                self.read_file(&path, metadata.len(), (FILES_MAX, BYTES_MAX))?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path, bytes: u64, (files, most): (usize, u64)) -> Result<()> {
        (self.files, self.bytes) = (self.files + 1, self.bytes + bytes);
        if self.files > files || self.bytes > most {
            bail!(
                "with {} there are more than {files} files or {} MiB of objects",
                path.display(),
                most >> 20
            );
        }
        let text = fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        let place = |line| format!("{}, line {line}", path.display());
        let documents =
            read_yaml(&text).map_err(|(line, problem)| anyhow!("{}: {problem}", place(line)))?;
        for (line, document) in documents.into_iter().filter(|(_, it)| !it.is_null()) {
            self.add(&place(line), document)?;
        }
        Ok(())
    }

    /// Adds a document: an object, or a list of objects.
    fn add(&mut self, place: &str, mut document: Value) -> Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&document["apiVersion"]), text(&document["kind"]));
        if version.is_empty() || kind.is_empty() {
            bail!("{place}: a document has no apiVersion or no kind");
        }
        let (Some(of), Some(Value::Array(items))) =
            (kind.strip_suffix("List"), document.get_mut("items"))
        else {
            self.documents.push((place.to_owned(), document));
            return Ok(());
        };
        for mut item in std::mem::take(items) {
            if let (Some(item), false) = (item.as_object_mut(), of.is_empty()) {
                // The items of a list of one kind omit these fields.
                item.entry("apiVersion").or_insert_with(|| version.clone().into());
                item.entry("kind").or_insert_with(|| of.into());
            }
            self.add(place, item)?;
        }
        Ok(())
    }

    /// The objects, as a run takes them.
    pub(super) fn into_objects(self) -> Result<Vec<KindedObject>> {
        let kinds = self.kinds();
        let object =
            |(place, object): (String, Value)| kinded(&kinds, place.clone(), object).context(place);
        self.documents.into_iter().map(object).collect()
    }

    /// The built-in kinds, and the kinds that these manifests define.
    fn kinds(&self) -> KindTable {
        let store = Store::new(0, Timestamp::UNIX_EPOCH);
        let built_in = store.catalogue().resources().iter().map(|it| {
            let known = KnownKind { plural: it.gvr.resource.clone(), namespaced: it.namespaced };
            ((it.gvr.group.clone(), it.kind.clone()), known)
        });
        let mut kinds: KindTable = built_in.collect();
        let definitions = self.documents.iter().map(|(_, it)| it);
        for definition in definitions.filter(|it| it["kind"] == "CustomResourceDefinition") {
            let spec = &definition["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let names = &spec["names"];
            let known = KnownKind {
                plural: text(&names["plural"]),
                namespaced: spec["scope"] != "Cluster",
            };
            kinds.insert((text(&spec["group"]), text(&names["kind"])), known);
        }
        kinds
    }
}

/// The documents of a file with their lines, or the line of the error and its reason.
fn read_yaml(text: &str) -> Result<Vec<(u64, Value)>, (u64, String)> {
    let options = serde_saphyr::options! { with_snippet: false };
    let read = serde_saphyr::from_multiple_with_options::<Spanned<Value>>(text, options);
    let documents = read.map_err(|error| {
        let problem = error.render_with_formatter(&UserMessageFormatter);
        let problem = problem.lines().next().unwrap_or_default();
        let problem = problem.rsplit_once(" at line ").map_or(problem, |(problem, _)| problem);
        (error.location().map_or(1, |location| location.line()), problem.to_owned())
    })?;
    Ok(documents.into_iter().map(|it| (it.referenced.line(), it.value)).collect())
}

fn kinded(kinds: &KindTable, source: String, mut object: Value) -> Result<KindedObject> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let Some(known) = kinds.get(&(group.to_owned(), kind.clone())) else {
        bail!(
            "kind {kind} of {api_version} is not known: put its CustomResourceDefinition among the objects"
        );
    };
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.with_context(|| format!("a {kind} has no metadata"))?;
    if known.namespaced {
        metadata.entry("namespace").or_insert_with(|| "default".into());
    }
    let resource = GroupVersionResource::new(group, version, &known.plural);
    Ok(KindedObject { source, resource, json: serde_json::to_vec(&object)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The resources and namespaces of a file's objects, or why the file cannot be read.
    #[track_caller]
    fn check(text: &str, expect: &str) {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a.yaml"), text).expect("a file");
        let read = Manifests::read(directory.path()).and_then(Manifests::into_objects);
        let shown = match read {
            Err(error) => error.root_cause().to_string(),
            Ok(objects) => {
                let objects = objects.iter().map(|it| {
                    let object: Value = serde_json::from_slice(&it.json).expect("it is JSON");
                    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("-");
                    format!("{} {namespace}", it.resource)
                });
                objects.collect::<Vec<_>>().join(", ")
            }
        };
        assert_eq!(shown, expect, "{text}");
    }

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

    #[test]
    fn an_object_is_one_of_a_resource_and_in_a_namespace() {
        check("", "");
        check(&format!("{POD}---\n{POD}"), "v1/pods default, v1/pods default");
        check("apiVersion: v1\nkind: Node\nmetadata: {name: a}", "v1/nodes -");
        check(
            "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"namespace\":\"x\"}}",
            "apps/v1/deployments x",
        );
        check(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}",
            "v1/pods default",
        );
        check("apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: a}}", "v1/pods default");
    }

    #[test]
    fn a_kind_may_be_defined_beside_its_objects() {
        let knob = "apiVersion: a.org/v1\nkind: Knob\nmetadata: {name: a}\n";
        let why = "kind Knob of a.org/v1 is not known: put its CustomResourceDefinition among the objects";
        check(knob, why);
        let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: knobs.a.org}\nspec: {group: a.org, scope: Cluster, names: {plural: knobs, kind: Knob}}\n";
        check(
            &format!("{knob}---\n{definition}"),
            "a.org/v1/knobs -, apiextensions.k8s.io/v1/customresourcedefinitions -",
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let directory_less = Manifests::read(Path::new("/nonexistent")).expect_err("there is none");
        assert_eq!(directory_less.to_string(), "/nonexistent cannot be read");
        for broken in ["[1]", "kind: Pod", "apiVersion: v1\nkind: Pod"] {
            let directory = tempfile::tempdir().expect("a directory");
            fs::write(directory.path().join("a.yml"), broken).expect("a file");
            let read = Manifests::read(directory.path()).and_then(Manifests::into_objects);
            assert!(read.is_err(), "{broken}");
        }
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        let check = |text: &str, expect: (u64, &str)| {
            let (line, problem) = read_yaml(text).expect_err(text);
            assert_eq!((line, problem.as_str()), expect, "{text}");
        };
        check("apiVersion: v1\nkind: [Pod\n", (2, "unclosed bracket '['"));
        check("a: 1\na: 2\n", (2, "duplicate mapping key: a not allowed here"));
    }

    #[test]
    fn an_object_has_the_line_of_its_document() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.yaml");
        let list = "apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: a}}\n";
        fs::write(&file, format!("# two\n{POD}---\n{list}---\n{POD}")).expect("a file");
        let read = Manifests::read(directory.path()).and_then(Manifests::into_objects);
        let sources: Vec<String> = read.expect("objects").into_iter().map(|it| it.source).collect();
        let place = |line: u32| format!("{}, line {line}", file.display());
        assert_eq!(sources, [2, 6, 11].map(place));
        fs::write(&file, format!("{POD}---\nkind: Pod\n")).expect("a file");
        let error = Manifests::read(directory.path()).expect_err("it has no apiVersion");
        let why = "a document has no apiVersion or no kind";
        assert_eq!(error.to_string(), format!("{}: {why}", place(5)));
    }

    #[test]
    fn directories_are_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.yaml");
        fs::write(&file, POD).expect("a file");
        let bytes = POD.len() as u64;
        let mut manifests = Manifests::default();
        assert!(manifests.read_file(&file, bytes, (2, 2 * bytes)).is_ok());
        assert!(manifests.read_file(&file, bytes, (2, 2 * bytes)).is_ok());
        assert!(manifests.read_file(&file, bytes, (2, 9 * bytes)).is_err(), "a third file");
        let mut manifests = Manifests::default();
        assert!(manifests.read_file(&file, bytes, (9, bytes - 1)).is_err(), "a byte more");
        let deep = (0..DEPTH_MAX).fold(directory.path().to_owned(), |path, _| path.join("d"));
        fs::create_dir_all(&deep).expect("directories");
        assert!(Manifests::read(directory.path()).is_err());
        fs::remove_dir(&deep).expect("the deepest");
        assert!(Manifests::read(directory.path()).is_ok());
    }
}
