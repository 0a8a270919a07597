use super::*;
use crate::cli::{Args, Command};
use clap::Parser as _;
use expect_test::{Expect, expect};
use informant_runtime::configuration::Document;

#[track_caller]
fn check(descriptors: &[&str], options: &[&str], expect: Expect) {
    let plugins: Vec<(&str, &str)> = descriptors.iter().map(|text| (*text, "")).collect();
    expect.assert_eq(&printed(&plugins, options));
}

/// Checks the output for plugins that act as these service accounts: the roles, and the accounts that they are bound
/// to.
#[track_caller]
fn check_acting(plugins: &[(&str, &str)], expect: Expect) {
    let text = printed(plugins, &[]);
    let documents: Vec<&str> = text.split("---\n").collect();
    let shown: Vec<String> = documents.chunks(2).map(|pair| bound(pair[0], pair[1])).collect();
    expect.assert_eq(&shown.concat());
}

/// A role without the lines that all roles have, and the subject of its binding.
#[track_caller]
fn bound(role: &str, binding: &str) -> String {
    let api = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ";
    let short = role.strip_prefix(api).expect("it is a role");
    let (kind, rest) = short.split_once('\n').expect("its kind");
    let (metadata, _) = rest.split_once("rules:").expect("its rules");
    let name = metadata.lines().nth(1).expect("its name");
    let expect = format!(
        "{api}{kind}Binding\n{metadata}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n{name}\nsubjects:\n- kind: ServiceAccount\n"
    );
    let subject = binding.strip_prefix(&expect);
    let subject = subject.unwrap_or_else(|| panic!("{binding} does not begin with\n{expect}"));
    format!("{short}to:\n{subject}")
}

fn printed(plugins: &[(&str, &str)], options: &[&str]) -> String {
    let plugins: Vec<(Descriptor, Option<ServiceAccount>)> = plugins
        .iter()
        .map(|(text, account)| {
            let descriptor = Descriptor::parse(text.as_bytes()).expect("it is well formed");
            (descriptor, account.parse().ok())
        })
        .collect();
    let arguments = ["informant", "rbac", "a.wasm"].iter().chain(options);
    let Command::Rbac(args) = Args::try_parse_from(arguments).expect("it is one").command else {
        panic!("another command");
    };
    let mut needs = Needs::of(plugins.iter().map(|(it, account)| (it, account.as_ref())));
    needs.serve(&args.resources);
    let text = yaml(&needs, &args);
    for document in text.split("---\n") {
        Document::read("rbac.yaml", document.as_bytes()).expect("it is YAML");
    }
    text
}

#[test]
fn what_is_asked_for_is_allowed_and_nothing_else() {
    let one = r#"{"version":"1","subscriptions":[{"resource":"v1/pods"},{"resource":"apps/v1/deployments"}],
        "reads":[{"resource":"v1/nodes"}],
        "writes":[{"resource":"v1/pods","verbs":["patch"]},{"resource":"v1/pods/status","verbs":["update","patch"]},
            {"resource":"events.k8s.io/v1/events","verbs":["create"]}]}"#;
    let other = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]}]}"#;
    check(
        &[one, other],
        &["--name", "watcher", "--service-account", "host", "--namespace", "on"],
        expect![[r#"
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRole
            metadata:
              name: "watcher"
            rules:
            - apiGroups: [""]
              resources: ["nodes"]
              verbs: [list, watch]
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch, patch]
            - apiGroups: [""]
              resources: ["pods/status"]
              verbs: [update, patch]
            - apiGroups: ["apps"]
              resources: ["deployments"]
              verbs: [list, watch]
            - apiGroups: ["events.k8s.io"]
              resources: ["events"]
              verbs: [create, patch]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: ClusterRoleBinding
            metadata:
              name: "watcher"
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: ClusterRole
              name: "watcher"
            subjects:
            - kind: ServiceAccount
              name: "host"
              namespace: "on"
        "#]],
    );
}

#[test]
fn a_plugin_that_reads_nothing_needs_nothing_but_the_lease() {
    check(
        &[r#"{"version":"1","schedules":[{"name":"beat","every":"1m"}]}"#],
        &["--leader-elect"],
        expect![[r#"
            apiVersion: rbac.authorization.k8s.io/v1
            kind: Role
            metadata:
              name: "informant"
              namespace: "default"
            rules:
            - apiGroups: [coordination.k8s.io]
              resources: [leases]
              verbs: [create]
            - apiGroups: [coordination.k8s.io]
              resources: [leases]
              verbs: [get, update]
              resourceNames: [informant]
            ---
            apiVersion: rbac.authorization.k8s.io/v1
            kind: RoleBinding
            metadata:
              name: "informant"
              namespace: "default"
            roleRef:
              apiGroup: rbac.authorization.k8s.io
              kind: Role
              name: "informant"
            subjects:
            - kind: ServiceAccount
              name: "informant"
              namespace: "default"
        "#]],
    );
}

#[test]
fn a_plugin_that_acts_as_a_service_account_needs_it_for_that_one() {
    let one = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["a","b"]}],"reads":[{"resource":"v1/nodes"}],
        "writes":[{"resource":"v1/pods","verbs":["patch"],"namespaces":["a"]}]}"#;
    check_acting(
        &[(one, "shop/labeller")],
        expect![[r#"
            ClusterRole
            metadata:
              name: "informant"
            rules:
            - apiGroups: [""]
              resources: ["nodes"]
              verbs: [list, watch]
            - apiGroups: ["authorization.k8s.io"]
              resources: ["subjectaccessreviews"]
              verbs: [create]
            to:
              name: "informant"
              namespace: "default"
            Role
            metadata:
              name: "informant"
              namespace: "a"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch]
            to:
              name: "informant"
              namespace: "default"
            Role
            metadata:
              name: "informant"
              namespace: "b"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch]
            to:
              name: "informant"
              namespace: "default"
            Role
            metadata:
              name: "informant:impersonate"
              namespace: "shop"
            rules:
            - apiGroups: [""]
              resources: [serviceaccounts]
              verbs: [impersonate]
              resourceNames: ["labeller"]
            to:
              name: "informant"
              namespace: "default"
            ClusterRole
            metadata:
              name: "informant:shop:labeller"
            rules:
            - apiGroups: [""]
              resources: ["nodes"]
              verbs: [list, watch]
            to:
              name: "labeller"
              namespace: "shop"
            Role
            metadata:
              name: "informant:shop:labeller"
              namespace: "a"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch, patch]
            to:
              name: "labeller"
              namespace: "shop"
            Role
            metadata:
              name: "informant:shop:labeller"
              namespace: "b"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch]
            to:
              name: "labeller"
              namespace: "shop"
        "#]],
    );
}

/// The roles without the lines that all roles have.
#[track_caller]
fn check_roles(descriptors: &[&str], options: &[&str], expect: Expect) {
    let plugins: Vec<(&str, &str)> = descriptors.iter().map(|text| (*text, "")).collect();
    let text = printed(&plugins, options);
    let roles = text.split("---\n").step_by(2);
    let head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ";
    expect.assert_eq(&roles.map(|role| role.replacen(head, "", 1)).collect::<String>());
}

#[test]
fn what_is_wanted_in_some_namespaces_is_allowed_there() {
    let shop = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]},{"resource":"v1/nodes"}],
        "reads":[{"resource":"v1/configmaps","namespaces":["shop","on"]}],
        "writes":[{"resource":"v1/pods","verbs":["patch"],"namespaces":["shop"]}]}"#;
    check_roles(
        &[shop],
        &["--leader-elect", "--namespace", "on"],
        expect![[r#"
            ClusterRole
            metadata:
              name: "informant"
            rules:
            - apiGroups: [""]
              resources: ["nodes"]
              verbs: [list, watch]
            Role
            metadata:
              name: "informant"
              namespace: "on"
            rules:
            - apiGroups: [""]
              resources: ["configmaps"]
              verbs: [list, watch]
            - apiGroups: [coordination.k8s.io]
              resources: [leases]
              verbs: [create]
            - apiGroups: [coordination.k8s.io]
              resources: [leases]
              verbs: [get, update]
              resourceNames: [informant]
            Role
            metadata:
              name: "informant"
              namespace: "shop"
            rules:
            - apiGroups: [""]
              resources: ["configmaps"]
              verbs: [list, watch]
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch, patch]
        "#]],
    );
    // Another plugin watches all pods: then only the write rule belongs to the namespace.
    let all = r#"{"version":"1","subscriptions":[{"resource":"v1/pods"}]}"#;
    let one = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]}],
        "writes":[{"resource":"v1/pods","verbs":["patch"],"namespaces":["shop"]}]}"#;
    check_roles(
        &[one, all],
        &[],
        expect![[r#"
            ClusterRole
            metadata:
              name: "informant"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch]
            Role
            metadata:
              name: "informant"
              namespace: "shop"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [patch]
        "#]],
    );
}

#[test]
fn what_the_http_api_is_asked_for_is_allowed_everywhere() {
    let plugin =
        r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]}]}"#;
    check_roles(
        &[plugin],
        &["--resource", "v1/pods", "--resource", "apps/v1/deployments"],
        expect![[r#"
            ClusterRole
            metadata:
              name: "informant"
            rules:
            - apiGroups: [""]
              resources: ["pods"]
              verbs: [list, watch]
            - apiGroups: ["apps"]
              resources: ["deployments"]
              verbs: [list, watch]
        "#]],
    );
}

#[test]
fn resources_are_such_that_the_http_api_serves() {
    let is_taken = |arguments: &[&str]| {
        let arguments = ["informant", "rbac"].iter().chain(arguments);
        Args::try_parse_from(arguments).is_ok()
    };
    assert!(is_taken(&["--resource", "apps/v1/deployments"]), "no plugin is needed");
    assert!(!is_taken(&["--resource", "v1/secrets"]));
    assert!(!is_taken(&["--resource", "pods"]));
    assert!(!is_taken(&[]));
}

#[test]
fn names_are_those_that_kubernetes_takes() {
    for (name, is_one) in
        [("informant", true), ("a.b-c", true), ("A", false), ("a b", false), ("", false)]
    {
        let parsed = Args::try_parse_from(["informant", "rbac", "a.wasm", "--name", name]);
        assert_eq!(parsed.is_ok(), is_one, "{name}");
    }
}

#[test]
fn a_path_that_cannot_be_looked_at_is_not_absent() {
    let directory = tempfile::tempdir().expect("a directory");
    let check = |path: PathBuf, expect: &str| {
        let error = files(&[path]).expect_err("it has no file");
        let text = format!("{error:#}");
        assert!(text.contains(expect), "{text}");
    };
    check(directory.path().join("nothing"), "there is no file or directory");
    // The kernel refuses to look at it, as without the right to its directory.
    let circle = directory.path().join("circle");
    std::os::unix::fs::symlink(&circle, &circle).expect("a link");
    check(circle.clone(), &format!("{} cannot be read: ", circle.display()));
}
