//! Discovery of the served resources.

use serde_json::{Value, json};

use crate::bench::fact;

#[track_caller]
fn resource<'a>(list: &'a Value, name: &str) -> &'a Value {
    let resources = list["resources"].as_array().expect("resources");
    resources.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn core_group_names_its_versions() {
    fact(async |bench| {
        let versions = bench.api.get("/api").await.expect(200);
        assert_eq!(
            (&versions["kind"], &versions["versions"]),
            (&json!("APIVersions"), &json!(["v1"]))
        );
    });
}

#[test]
fn groups_name_their_versions() {
    fact(async |bench| {
        let list = bench.api.get("/apis").await.expect(200);
        assert_eq!(list["kind"], "APIGroupList");
        let groups = list["groups"].as_array().expect("groups");
        let group = |name: &str| groups.iter().find(|one| one["name"] == name);
        for name in ["apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io", "policy"] {
            let group = group(name).unwrap_or_else(|| panic!("no group {name}"));
            assert_eq!(group["preferredVersion"]["version"], "v1", "{name}");
        }
        let apps = bench.api.get("/apis/apps").await.expect(200);
        assert_eq!((&apps["kind"], &apps["name"]), (&json!("APIGroup"), &json!("apps")));
    });
}

#[test]
fn resources_say_how_they_can_be_used() {
    fact(async |bench| {
        let core = bench.api.get("/api/v1").await.expect(200);
        assert_eq!(
            (&core["kind"], &core["groupVersion"]),
            (&json!("APIResourceList"), &json!("v1"))
        );
        let pods = resource(&core, "pods");
        assert_eq!((&pods["kind"], &pods["namespaced"]), (&json!("Pod"), &json!(true)));
        assert_eq!((&pods["shortNames"], &pods["singularName"]), (&json!(["po"]), &json!("pod")));
        for verb in
            ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        {
            assert!(pods["verbs"].as_array().expect("verbs").contains(&json!(verb)), "{verb}");
        }
        assert_eq!(resource(&core, "nodes")["namespaced"], json!(false));
        assert_eq!(resource(&core, "pods/status")["kind"], "Pod");

        let apps = bench.api.get("/apis/apps/v1").await.expect(200);
        assert_eq!(resource(&apps, "deployments")["shortNames"], json!(["deploy"]));
        let scale = resource(&apps, "deployments/scale");
        assert_eq!((&scale["kind"], &scale["group"]), (&json!("Scale"), &json!("autoscaling")));
    });
}

#[test]
fn common_resources_are_served() {
    fact(async |bench| {
        for path in [
            "/api/v1/configmaps",
            "/api/v1/endpoints",
            "/api/v1/events",
            "/api/v1/namespaces",
            "/api/v1/nodes",
            "/api/v1/persistentvolumeclaims",
            "/api/v1/persistentvolumes",
            "/api/v1/secrets",
            "/api/v1/serviceaccounts",
            "/api/v1/services",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/apis/apps/v1/daemonsets",
            "/apis/apps/v1/statefulsets",
            "/apis/autoscaling/v2/horizontalpodautoscalers",
            "/apis/batch/v1/cronjobs",
            "/apis/coordination.k8s.io/v1/leases",
            "/apis/discovery.k8s.io/v1/endpointslices",
            "/apis/events.k8s.io/v1/events",
            "/apis/networking.k8s.io/v1/ingresses",
            "/apis/networking.k8s.io/v1/networkpolicies",
            "/apis/policy/v1/poddisruptionbudgets",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "/apis/storage.k8s.io/v1/storageclasses",
        ] {
            assert_eq!(bench.api.get(path).await.status, 200, "{path}");
        }
    });
}

#[test]
fn aggregated_discovery_says_it_in_one_answer() {
    fact(async |bench| {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let list = bench.api.get_as("/apis", accept).await.expect(200);
        assert_eq!(list["kind"], "APIGroupDiscoveryList");
        assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2");
        let groups = list["items"].as_array().expect("items");
        let apps = groups.iter().find(|group| group["metadata"]["name"] == "apps").expect("apps");
        let version = &apps["versions"][0];
        assert_eq!(version["version"], "v1");
        let resources = version["resources"].as_array().expect("resources");
        let deployments = resources.iter().find(|one| one["resource"] == "deployments");
        let deployments = deployments.expect("deployments");
        // Group and version are empty if they are those of the resource.
        assert_eq!(deployments["responseKind"]["kind"], "Deployment");
        assert_eq!(deployments["scope"], "Namespaced");
        let subresources = deployments["subresources"].as_array().expect("subresources");
        assert!(subresources.iter().any(|one| one["subresource"] == "scale"), "{subresources:?}");

        let core = bench.api.get_as("/api", accept).await.expect(200);
        assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    });
}

#[test]
fn version_is_that_of_a_kubernetes() {
    fact(async |bench| {
        let version = bench.api.get("/version").await.expect(200);
        assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!("36")));
        let git_version = version["gitVersion"].as_str().expect("a gitVersion");
        assert!(git_version.starts_with("v1.36."), "{git_version}");
    });
}

#[test]
fn health_is_plain_text() {
    fact(async |bench| {
        for path in ["/healthz", "/livez", "/readyz"] {
            let reply = bench.api.get_as(path, "*/*").await;
            assert_eq!((reply.status.as_u16(), &reply.body[..]), (200, &b"ok"[..]), "{path}");
        }
    });
}
