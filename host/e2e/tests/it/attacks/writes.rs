//! Writes beyond the grant, and grants that reveal too much.

use super::attacker::{Try, check, check_below, harmless, refused, told};
use crate::bench::{config_map, names};
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, SECRET, host_fact};
use serde_json::{Value, json};

const NOT_GRANTED: &str = "NotGranted";
const NO_RESOURCE: &str = "is not written as version/resource";

/// A write. The object has the name of its key, unless it has a name of its own.
fn write(call: &str, resource: &str, namespace: &str, of: &str, body: &Value) -> Value {
    let call = format!("kube.{call}");
    let text = body.to_string();
    json!({"call": call, "resource": resource, "namespace": namespace, "of": of, "text": text})
}

fn of_subresource(mut call: Value, subresource: &str) -> Value {
    call["subresource"] = subresource.into();
    call
}

/// The ConfigMaps that may be written: verbs and namespaces.
fn settings(bench: &HostBench<'_>, verbs: &[&str]) -> Value {
    let rule = json!({
        "resources": ["v1/configmaps"], "verbs": verbs,
        "namespaces": [bench.namespace], "names": ["own"],
    });
    json!({"config": {}, "writes": [rule]})
}

/// The ConfigMaps of tests and attackers. A namespace of a real API server has another one of its own.
async fn config_maps(bench: &HostBench<'_>) -> Vec<String> {
    let path = format!("/api/v1/namespaces/{}/configmaps", bench.namespace);
    let list = bench.api.get(&path).await.expect(200);
    names(&list).into_iter().filter(|name| name != "kube-root-ca.crt").collect()
}

#[test]
fn nothing_is_written_beyond_what_is_granted() {
    host_fact(async |bench| {
        let own = bench.namespace.clone();
        let map = |name: &str| config_map(name, &[]);
        let in_namespace = |namespace: &str| {
            let mut map = config_map("own", &[]);
            map["metadata"]["namespace"] = namespace.into();
            map
        };
        let generated = json!({"metadata": {"generateName": "own"}});
        let maps = "v1/configmaps";
        let merge = |resource: &str, namespace: &str, of: &str| {
            write("merge", resource, namespace, of, &json!({}))
        };
        let pod = |subresource: &str| {
            of_subresource(write("create", "v1/pods", &own, "own", &json!({})), subresource)
        };
        let no_name = |what: &'static str, of: &str| {
            refused(what, merge(maps, &own, of), "cannot be the name of an object")
        };
        let role = json!({"metadata": {"name": "own"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
        let rbac = "rbac.authorization.k8s.io/v1";
        let tries: Vec<Try> = vec![
            refused(
                "another name",
                write("create", maps, &own, "other", &map("other")),
                NOT_GRANTED,
            ),
            refused(
                "another namespace",
                write("create", maps, "default", "own", &map("own")),
                NOT_GRANTED,
            ),
            refused("no namespace", write("create", maps, "", "own", &map("own")), NOT_GRANTED),
            refused("another verb", write("delete", maps, &own, "own", &json!({})), NOT_GRANTED),
            refused("another version", merge("v2/configmaps", &own, "own"), NOT_GRANTED),
            refused("another group", merge("core/v1/configmaps", &own, "own"), NOT_GRANTED),
            refused(
                "a name that the server makes",
                write("create", maps, &own, "", &generated),
                NOT_GRANTED,
            ),
            refused(
                "an object that is called otherwise",
                write("create", maps, &own, "own", &map("other")),
                "the object's name is",
            ),
            refused(
                "an object of another namespace",
                write("create", maps, &own, "own", &in_namespace("default")),
                "the object's namespace is",
            ),
            no_name("a name that is a path", "../secrets/password"),
            no_name("a name with an encoded slash", "..%2fsecrets%2fpassword"),
            no_name("a name with a query", "own?fieldManager=kubectl"),
            no_name("a name with a fragment", "own#"),
            no_name("a name with NUL", "own\0"),
            no_name("a name that looks like another", "\u{43e}wn"),
            refused(
                "a namespace that is a path",
                merge(maps, &format!("{own}/../default"), "own"),
                "cannot be the name of a namespace",
            ),
            refused(
                "a namespace with a line's end",
                merge(maps, &format!("{own}\n"), "own"),
                "cannot be the name of a namespace",
            ),
            refused(
                "a resource that is a path",
                merge("v1/configmaps/../secrets", &own, "own"),
                NO_RESOURCE,
            ),
            refused("a resource with a query", merge("v1/configmaps?", &own, "own"), NO_RESOURCE),
            refused("a group that is a path", merge("../v1/configmaps", &own, "own"), NO_RESOURCE),
            refused(
                "all at once",
                write("delete", maps, &own, "", &json!({})),
                "cannot be the name of an object",
            ),
            refused(
                "a subresource that is a path",
                of_subresource(merge(maps, &own, "own"), "../../secrets/password"),
                "cannot be the name of a subresource",
            ),
            refused(
                "a subresource that is not granted",
                of_subresource(merge(maps, &own, "own"), "status"),
                NOT_GRANTED,
            ),
            refused("a program in a container", pod("exec"), "is a connection"),
            refused("a container's terminal", pod("attach"), "is a connection"),
            refused("a container's port", pod("portforward"), "is a connection"),
            refused(
                "a kubelet behind a node",
                of_subresource(write("create", "v1/nodes", "", "own", &json!({})), "proxy"),
                "is a connection",
            ),
            refused(
                "a container beside another",
                of_subresource(merge("v1/pods", &own, "own"), "ephemeralcontainers"),
                NOT_GRANTED,
            ),
            refused(
                "somebody's token",
                of_subresource(
                    write("create", "v1/serviceaccounts", &own, "default", &json!({})),
                    "token",
                ),
                NOT_GRANTED,
            ),
            refused(
                "who somebody is",
                write("create", "authentication.k8s.io/v1/tokenreviews", "", "own", &map("own")),
                NOT_GRANTED,
            ),
            refused(
                "a role",
                write("create", &format!("{rbac}/roles"), &own, "own", &role),
                NOT_GRANTED,
            ),
            refused(
                "a role of the whole cluster",
                write("create", &format!("{rbac}/clusterroles"), "", "own", &role),
                NOT_GRANTED,
            ),
            refused(
                "a binding by its other way",
                of_subresource(write("create", "v1/namespaces", "", &own, &role), "rolebindings"),
                "namespaces have no subresource",
            ),
            refused(
                "a Kubernetes Event",
                json!({"call": "kube.record-event", "resource": "v1/pods", "namespace": own, "of": "attacker", "text": "x"}),
                NOT_GRANTED,
            ),
        ];
        let verbs = ["create", "update", "patch"];
        check(&bench, settings(&bench, &verbs), json!({}), &tries).await;
        assert_eq!(config_maps(&bench).await, [""; 0]);
    });
}

/// The grant is for one object. The API server ensures that its name and namespace stay the same.
#[test]
fn a_granted_object_does_not_become_another() {
    host_fact(async |bench| {
        let own = bench.namespace.clone();
        let maps = format!("/api/v1/namespaces/{own}/configmaps");
        bench.api.create(&maps, &config_map("own", &[("a", "1")])).await.expect(201);
        let change = |call: &str, body: Value| write(call, "v1/configmaps", &own, "own", &body);
        let renamed = json!({"metadata": {"name": "other"}});
        let moved = json!({"metadata": {"namespace": "default"}});
        let replace = |path: &str| json!([{"op": "replace", "path": path, "value": "other"}]);
        let mut other = config_map("other", &[]);
        other["metadata"]["uid"] = "u".into();
        let refusal = "Status(";
        let tries = [
            refused("another name by merge", change("merge", renamed.clone()), refusal),
            refused("another name by strategic merge", change("strategic", renamed), refusal),
            refused(
                "another name by JSON patch",
                change("json-patch", replace("/metadata/name")),
                refusal,
            ),
            refused("another namespace by merge", change("merge", moved), refusal),
            refused(
                "another namespace by JSON patch",
                change("json-patch", replace("/metadata/namespace")),
                refusal,
            ),
            refused("another name by update", change("update", other), refusal),
        ];
        check(&bench, settings(&bench, &["create", "update", "patch"]), json!({}), &tries).await;
        assert_eq!(config_maps(&bench).await, ["own"]);
        let map = bench.api.get(&format!("{maps}/own")).await.expect(200);
        assert_eq!(
            (&map["data"], &map["metadata"]["namespace"]),
            (&json!({"a": "1"}), &json!(own))
        );
    });
}

/// Another version may still be in charge, or this version has not been checked yet.
#[test]
fn nothing_is_read_or_written_before_a_version_is_in_charge() {
    host_fact(async |bench| {
        let own = bench.namespace.clone();
        let mut early = [
            json!({"call": "list", "resource": "v1/pods"}),
            write("create", "v1/configmaps", &own, "own", &config_map("own", &[])),
            json!({"call": "state.set", "of": "a", "text": "b"}),
            json!({"call": "metrics.gauge", "of": "a", "text": "1"}),
        ];
        for (one, name) in early.iter_mut().zip(["a list", "a write", "a key", "a metric"]) {
            one["name"] = name.into();
        }
        let tries = [
            told("a list in describe", "nothing is granted while describing"),
            told("a write in describe", "nothing is written in describe"),
            told("a key in describe", "state is written in `handle`"),
            told("a metric in describe", "there are no metrics in `describe`"),
            told("a write in start", "nothing is written in start"),
            told("a key in start", "state is written in `handle`"),
        ];
        let mut settings = settings(&bench, &["create"]);
        settings["config"]["early"] = early.into_iter().collect();
        check(&bench, settings, json!({}), &tries).await;
        assert_eq!(config_maps(&bench).await, [""; 0]);
    });
}

/// An API server creates some objects that an update does not find.
#[test]
fn who_may_update_does_not_create() {
    host_fact(async |bench| {
        let own = bench.namespace.clone();
        let leases = "coordination.k8s.io/v1/leases";
        let lease = |uid: &str| {
            let metadata = json!({"name": "own", "namespace": own, "uid": uid});
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})
        };
        let update = |uid: &str| write("update", leases, &own, "own", &lease(uid));
        let tries = [
            refused("an update of nothing in particular", update(""), "verbs: [update, create]"),
            refused("an update of what is not there", update("u"), "Status("),
        ];
        let rule = json!({"resources": [leases], "verbs": ["update"], "namespaces": [own], "names": ["own"]});
        check(&bench, json!({"config": {}, "writes": [rule]}), json!({}), &tries).await;
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{own}/leases/own");
        bench.api.get(&path).await.expect_status(404, "NotFound");
    });
}

/// The plugin may patch the Secret, and no grant lets it read the Secret.
#[test]
fn who_may_patch_a_secret_learns_nothing_of_it() {
    host_fact(async |bench| {
        bench.create_secret().await;
        let own = bench.namespace.clone();
        let patch = |call: &str, body: Value| write(call, "v1/secrets", &own, "password", &body);
        let from = "/data/password";
        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]);
        let uid = "/metadata/ownerReferences/0/uid";
        let operation = |op: &str, path: &str| json!([{"op": op, "from": from, "path": path}]);
        let tells = "would tell what is in it";
        let tries = [
            harmless(
                "the answer to a patch",
                patch("merge", json!({"metadata": {"ownerReferences": owner}})),
            ),
            refused(
                "a copy to a label",
                patch("json-patch", operation("copy", "/metadata/labels/a")),
                tells,
            ),
            refused("a copy to an owner", patch("json-patch", operation("copy", uid)), tells),
            refused("a move to an owner", patch("json-patch", operation("move", uid)), tells),
            refused(
                "a guess",
                patch("json-patch", json!([{"op": "test", "path": from, "value": SECRET}])),
                tells,
            ),
            refused(
                "a guess that is applied, and not forced",
                patch(
                    "apply-unforced",
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}, "data": {"password": SECRET}}),
                ),
                "is to be forced",
            ),
            refused(
                "a copy behind something else",
                patch(
                    "json-patch",
                    json!([{"op": "remove", "path": "/metadata/ownerReferences"}, {"op": "copy", "from": from, "path": uid}]),
                ),
                tells,
            ),
            refused(
                "an operation that is there twice",
                patch_text(
                    &own,
                    r#"[{"op":"add","op":"copy","from":"/data/password","path":"/metadata/labels/a"}]"#,
                ),
                "duplicate field `op`",
            ),
            harmless(
                "the answer to an apply",
                patch(
                    "apply",
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}}),
                ),
            ),
            refused(
                "the object itself",
                json!({"call": "get", "resource": "v1/secrets", "namespace": own, "of": "password"}),
                "NotGranted",
            ),
        ];
        let rule = json!({"resources": ["v1/secrets"], "verbs": ["patch"], "namespaces": [own], "names": ["password"]});
        let settings = json!({"config": {}, "writes": [rule]});
        check(&bench, settings, json!({}), &tries).await;
        let path = format!("/api/v1/namespaces/{own}/secrets/password");
        let secret = bench.api.get(&path).await.expect(200);
        assert_eq!(
            (&secret["data"]["password"], &secret["metadata"]["labels"]),
            (&json!(SECRET), &Value::Null)
        );
    });
}

fn patch_text(namespace: &str, text: &str) -> Value {
    json!({"call": "kube.json-patch", "resource": "v1/secrets", "namespace": namespace, "of": "password", "text": text})
}

/// Powers that only the host's own file may grant, granted beside the plugin as far as the ceiling allows.
#[test]
fn a_file_beside_a_plugin_grants_no_power_over_others() {
    let resources = [
        "v1/secrets",
        "v1/serviceaccounts/token",
        "v1/pods/ephemeralcontainers",
        "rbac.authorization.k8s.io/v1/rolebindings",
        "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        "apiregistration.k8s.io/v1/apiservices",
        "authentication.k8s.io/v1/tokenreviews",
        "certificates.k8s.io/v1/certificatesigningrequests",
        "coordination.k8s.io/v1/leases",
        "flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "authorization.openshift.io/v1/rolebindings",
        "security.openshift.io/v1/securitycontextconstraints",
        "cert-manager.io/v1/clusterissuers",
    ];
    host_fact(async |bench| {
        let rule =
            json!({"resources": resources, "verbs": ["create", "update", "patch", "delete"]});
        let tries: Vec<Try> = resources
            .into_iter()
            .map(|text| {
                let (resource, subresource) = match text.matches('/').count() {
                    2 if text.starts_with("v1/") => text.rsplit_once('/').expect("it has one"),
                    _ => (text, ""),
                };
                let patch = write("merge", resource, &bench.namespace, "own", &json!({}));
                refused(text, of_subresource(patch, subresource), "in the host's own configuration")
            })
            .collect();
        let text = format!("{}PluginConfiguration\nwrites: [{rule}]\n", CONFIGURATION_HEAD);
        std::fs::write(bench.plugins.join("attacker.yaml"), text).expect("a file");
        let ceiling = json!({"writes": [rule]});
        check_below(&bench, ceiling, &tries).await;
    });
}
