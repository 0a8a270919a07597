//! The files of `examples/deployment`, unchanged.

use std::collections::BTreeSet;
use std::path::PathBuf;

use http::{Method, header};
use serde_json::Value;

use informant_e2e::api::{Api, Reply};
use informant_e2e::paths;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The namespace of all objects.
pub const NAMESPACE: &str = "informant";

/// The folders with a kustomization.
pub const FOLDERS: [&str; 4] = ["base", "state", "secure", "monitoring"];

/// One object of one file.
pub struct Manifest {
    /// The file's name.
    pub file: String,
    /// The unchanged text.
    pub text: String,
    pub object: Value,
}

impl Manifest {
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// Creates the unchanged object. Unknown and duplicate fields are refused, as with `kubectl apply
    /// --validate=strict`.
    pub async fn create(&self, api: &Api, dry_run: bool) -> Reply {
        let dry_run = if dry_run { "&dryRun=All" } else { "" };
        let path = format!("{}?fieldValidation=Strict{dry_run}", collection(self.kind()));
        let headers = [(header::CONTENT_TYPE, "application/yaml")];
        api.call(Method::POST, &path, &headers, self.text.clone().into_bytes()).await
    }
}

/// The collection of objects of this kind.
pub fn collection(kind: &str) -> String {
    let of_namespace = format!("namespaces/{NAMESPACE}");
    match kind {
        "Namespace" => "/api/v1/namespaces".to_owned(),
        "ServiceAccount" => format!("/api/v1/{of_namespace}/serviceaccounts"),
        "Service" => format!("/api/v1/{of_namespace}/services"),
        "PersistentVolumeClaim" => format!("/api/v1/{of_namespace}/persistentvolumeclaims"),
        "ClusterRole" => format!("{RBAC}/clusterroles"),
        "ClusterRoleBinding" => format!("{RBAC}/clusterrolebindings"),
        "Role" => format!("{RBAC}/{of_namespace}/roles"),
        "RoleBinding" => format!("{RBAC}/{of_namespace}/rolebindings"),
        "Deployment" => format!("/apis/apps/v1/{of_namespace}/deployments"),
        "PodDisruptionBudget" => format!("/apis/policy/v1/{of_namespace}/poddisruptionbudgets"),
        "NetworkPolicy" => format!("/apis/networking.k8s.io/v1/{of_namespace}/networkpolicies"),
        other => panic!("the manifests have a {other}: say here where it belongs"),
    }
}

/// The path of a folder of the manifests.
pub fn folder(name: &str) -> PathBuf {
    paths::root().join("examples/deployment").join(name)
}

/// A file's text.
pub fn text(folder_name: &str, file: &str) -> String {
    let path = folder(folder_name).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A file's YAML, as one document.
pub fn yaml(folder_name: &str, file: &str) -> Value {
    parse(folder_name, file, &text(folder_name, file))
}

fn parse(folder_name: &str, file: &str, text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{folder_name}/{file}: {error}"))
}

/// The objects of a folder's own files, in the order of its kustomization.
pub fn of_folder(folder_name: &str) -> Vec<Manifest> {
    let kustomization = yaml(folder_name, "kustomization.yaml");
    let resources = strings(&kustomization["resources"]);
    let files = resources.into_iter().filter(|resource| !resource.starts_with("../"));
    let of_file = |file: String| {
        let text = text(folder_name, &file);
        let documents: Vec<String> = text.split("\n---\n").map(str::to_owned).collect();
        documents.into_iter().map(move |text| {
            let object = parse(folder_name, &file, &text);
            Manifest { file: file.clone(), text, object }
        })
    };
    files.flat_map(of_file).collect()
}

/// The one object of this kind in `base`.
pub fn of_base(kind: &str) -> Value {
    let found = of_folder("base").into_iter().find(|manifest| manifest.kind() == kind);
    found.unwrap_or_else(|| panic!("base has no {kind}")).object
}

/// The YAML files of a folder.
pub fn files(folder_name: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder(folder_name)).expect("the folder is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    entries.map(name).filter(|name| name.ends_with(".yaml")).collect()
}

/// A list of texts.
pub fn strings(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The arguments of a Deployment's container.
pub fn arguments(deployment: &Value) -> Vec<String> {
    strings(&deployment["spec"]["template"]["spec"]["containers"][0]["args"])
}

/// Creates the Deployment of `base` and gives it the patch of a folder, as kustomize does. Its namespace
/// is there.
pub async fn patched_deployment(api: &Api, folder_name: &str) -> Value {
    let manifests = of_folder("base");
    let deployment = manifests.iter().find(|it| it.kind() == "Deployment").expect("one");
    deployment.create(api, false).await.expect(201);
    let patch = yaml(folder_name, "deployment_patch.yaml");
    let path = format!("{}/{NAMESPACE}?fieldValidation=Strict", collection("Deployment"));
    api.patch(&path, informant_e2e::api::Patch::Json, &patch).await.expect(200)
}
