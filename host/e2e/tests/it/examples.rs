//! `examples/deployment`: the server takes it as it is.

use http::{Method, header};
use serde_json::json;

use crate::bench::fact;
use informant_e2e::api::{Api, Reply};
use informant_e2e::paths;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The example's one file.
pub fn manifest() -> String {
    let path = paths::root().join("examples/deployment/informant.yaml");
    std::fs::read_to_string(path).expect("the example is there")
}

/// The manifest's documents by kind, in its order.
fn documents() -> Vec<(String, String)> {
    let text = manifest();
    let kind = |document: &str| {
        let line = document.lines().find_map(|line| line.strip_prefix("kind: "));
        line.expect("a kind").to_owned()
    };
    text.split("\n---\n").map(|document| (kind(document), document.to_owned())).collect()
}

fn collection(kind: &str) -> String {
    match kind {
        "Namespace" => "/api/v1/namespaces".to_owned(),
        "ServiceAccount" => "/api/v1/namespaces/informant/serviceaccounts".to_owned(),
        "ClusterRole" => format!("{RBAC}/clusterroles"),
        "ClusterRoleBinding" => format!("{RBAC}/clusterrolebindings"),
        "Role" => format!("{RBAC}/namespaces/informant/roles"),
        "RoleBinding" => format!("{RBAC}/namespaces/informant/rolebindings"),
        "Deployment" => "/apis/apps/v1/namespaces/informant/deployments".to_owned(),
        other => panic!("the example has a {other}: say here where it belongs"),
    }
}

/// Unknown and doubled fields are refused, as `kubectl apply --validate=strict` has it.
async fn create(api: &Api, kind: &str, document: &str, dry_run: bool) -> Reply {
    let dry_run = if dry_run { "&dryRun=All" } else { "" };
    let path = format!("{}?fieldValidation=Strict{dry_run}", collection(kind));
    let headers = [(header::CONTENT_TYPE, "application/yaml")];
    api.call(Method::POST, &path, &headers, document.as_bytes().to_vec()).await
}

#[test]
fn deployment_example_is_accepted() {
    fact(async |bench| {
        let documents = documents();
        let kinds: Vec<&str> = documents.iter().map(|(kind, _)| kind.as_str()).collect();
        let expect = [
            "Namespace",
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
            "Deployment",
        ];
        assert_eq!(kinds, expect);
        for (kind, document) in &documents {
            // The namespace must be there for the rest to be looked at.
            let reply = create(&bench.api, kind, document, kind != "Namespace").await;
            let object = reply.expect(201);
            assert_eq!(object["kind"], kind.as_str());
        }
    });
}

#[test]
fn deployment_example_may_not_read_secrets_nor_write() {
    let documents = documents();
    let (_, role) = documents.iter().find(|(kind, _)| kind == "ClusterRole").expect("a role");
    let rules: String = role.lines().filter(|line| !line.trim().starts_with('#')).collect();
    for word in ["secrets", "*", "create", "update", "patch", "delete"] {
        assert!(!rules.contains(word), "{word} in {rules}");
    }
}

/// Creates the example's role for good and binds the user `reader` to it.
pub async fn grant_to_reader(api: &Api) {
    let documents = documents();
    let (kind, role) = documents.iter().find(|(kind, _)| kind == "ClusterRole").expect("a role");
    create(api, kind, role, false).await.expect(201);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "informant-reader"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "informant"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "reader"}],
    });
    api.create(&format!("{RBAC}/clusterrolebindings"), &binding).await.expect(201);
}
