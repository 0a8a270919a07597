//! What the user `reader` may do, on either cluster: by RBAC objects where there is RBAC, else by telling the embedded
//! cluster whom to refuse.

use std::sync::Arc;

use informant_devcluster::DevCluster;
use serde_json::json;

use crate::api::{Api, Reply};
use crate::user::User;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Grants and takes away. Cheap to clone; it does not keep a cluster running.
#[derive(Clone)]
pub struct Permissions {
    /// None for the real server.
    embedded: Option<Arc<DevCluster>>,
}

impl Permissions {
    pub(crate) fn of_embedded(cluster: Arc<DevCluster>) -> Self {
        Self { embedded: Some(cluster) }
    }

    pub(crate) fn of_real() -> Self {
        Self { embedded: None }
    }

    /// Lets the reader get, list and watch a resource (its plural, of a group) in a namespace.
    pub async fn grant(&self, admin: &Api, namespace: &str, group: &str, resource: &str) {
        let reader = User::Reader.name();
        if let Some(cluster) = &self.embedded {
            return cluster.faults().allow(reader, resource, Some(namespace));
        }
        let name = name(resource);
        let role = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Role",
            "metadata": {"name": name},
            "rules": [{
                "apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"],
            }],
        });
        let binding = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "RoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": reader}],
        });
        for (collection, object) in [("roles", role), ("rolebindings", binding)] {
            let path = format!("/apis/{GROUP}/v1/namespaces/{namespace}/{collection}");
            check(&admin.create(&path, &object).await, &[201, 409], &path);
        }
    }

    /// Lets the reader ask what others may do. On the embedded cluster everybody may.
    pub async fn let_review(&self, admin: &Api) {
        if self.embedded.is_some() {
            return;
        }
        let name = name("reviews");
        let rule = json!({
            "apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"],
        });
        let role = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": [rule],
        });
        let binding = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": User::Reader.name()}],
        });
        for (collection, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
            let path = format!("/apis/{GROUP}/v1/{collection}");
            check(&admin.create(&path, &object).await, &[201, 409], &path);
        }
    }

    /// Takes back what [`Permissions::grant`] gave. It takes effect when the server has heard of it, and ends no watch
    /// that is open.
    pub async fn revoke(&self, admin: &Api, namespace: &str, resource: &str) {
        if let Some(cluster) = &self.embedded {
            return cluster.faults().forbid(User::Reader.name(), resource, Some(namespace));
        }
        let name = name(resource);
        for collection in ["rolebindings", "roles"] {
            let path = format!("/apis/{GROUP}/v1/namespaces/{namespace}/{collection}/{name}");
            check(&admin.delete(&path).await, &[200, 404], &path);
        }
    }
}

fn name(resource: &str) -> String {
    format!("reader-of-{resource}")
}

#[track_caller]
fn check(reply: &Reply, expect: &[u16], path: &str) {
    let status = reply.status.as_u16();
    assert!(expect.contains(&status), "{path}: {status} {}", String::from_utf8_lossy(&reply.body));
}
