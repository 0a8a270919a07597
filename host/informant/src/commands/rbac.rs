//! `informant rbac`: what a host that runs these plugins needs of the API server, and nothing beside.

use super::ask::{block_on, print};
use crate::cli::RbacArgs;
use crate::{compiler, host_configuration};
use anyhow::{Context, Result, anyhow, bail};
use informant_runtime::{Descriptor, PluginChecker, plugin_files};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const API: &str = "rbac.authorization.k8s.io";
const LEASES: &str = "[coordination.k8s.io]";
/// The Lease that a host takes if it is told of no other.
const LEASE: &str = "informant";

/// Prints the objects that grant it, for kubectl apply.
pub(crate) fn rbac(args: &RbacArgs) -> Result<()> {
    let configurations = host_configuration::load(args.config.config.as_deref())?;
    let checker = PluginChecker::new(compiler::options(&args.compiler)?, configurations)?;
    let files = files(&args.paths)?;
    let descriptors = block_on(async {
        let mut descriptors = Vec::with_capacity(files.len());
        for file in &files {
            let path = file.display();
            let report = checker.check(file).await;
            let report = report.map_err(|error| anyhow!("{path}: {}", error.shown()))?;
            if let Some(why) = report.not_granted {
                bail!("{path}: a host that is configured so does not run it: {why}");
            }
            descriptors.push(report.descriptor);
        }
        Ok(descriptors)
    })?;
    print(yaml(&Rules::of(&descriptors), args).trim_end());
    Ok(())
}

/// The files that are named, and the plugin files of the directories that are.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let of_directory = plugin_files(path).with_context(|| path.display().to_string())?;
        if of_directory.is_empty() {
            bail!("{} has no plugin files (.wasm)", path.display());
        }
        files.extend(of_directory);
    }
    Ok(files)
}

/// What is asked of the API server, in the order in which it is shown.
const VERBS: [&str; 6] = ["list", "watch", "create", "update", "patch", "delete"];

/// The verbs of each group's resources. What is read a host lists and watches in all namespaces, whatever its plugins' views name.
#[derive(Debug, Default)]
pub(super) struct Rules(BTreeMap<(String, String), BTreeSet<usize>>);

/// Resources of one group that the same may be done with.
#[derive(Debug)]
struct Rule<'a> {
    group: &'a str,
    resources: Vec<&'a str>,
    verbs: Vec<&'static str>,
}

impl Rules {
    pub(super) fn of<'a>(descriptors: impl IntoIterator<Item = &'a Descriptor>) -> Self {
        let mut rules = Self::default();
        for descriptor in descriptors {
            let subscribed = descriptor.subscriptions.iter().map(|it| &it.resource);
            let read = descriptor.reads.iter().map(|it| &it.resource);
            for resource in subscribed.chain(read) {
                rules.add(&resource.group, resource.resource.clone(), ["list", "watch"]);
            }
            for write in &descriptor.writes {
                rules.add(write.group(), write.resource(), write.verbs());
                // The host counts the repeats of a Kubernetes Event that it has made.
                if write.group() == "events.k8s.io" && write.verbs().any(|verb| verb == "create") {
                    rules.add(write.group(), write.resource(), ["patch"]);
                }
            }
        }
        rules
    }

    fn add(
        &mut self,
        group: &str,
        resource: String,
        verbs: impl IntoIterator<Item = &'static str>,
    ) {
        let known = self.0.entry((group.to_owned(), resource)).or_default();
        known.extend(verbs.into_iter().filter_map(|verb| VERBS.iter().position(|it| *it == verb)));
    }

    fn rules(&self) -> Vec<Rule<'_>> {
        let mut rules = BTreeMap::<(&str, &BTreeSet<usize>), Vec<&str>>::new();
        for ((group, resource), verbs) in &self.0 {
            rules.entry((group, verbs)).or_default().push(resource);
        }
        let rule = |((group, verbs), resources): ((_, &BTreeSet<usize>), _)| {
            let verbs = verbs.iter().map(|at| VERBS[*at]).collect();
            Rule { group, resources, verbs }
        };
        rules.into_iter().map(rule).collect()
    }

    pub(super) fn to_json(&self) -> Vec<Value> {
        let rules = self.rules().into_iter().map(|Rule { group, resources, verbs }| {
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
        });
        rules.collect()
    }
}

/// The roles and their bindings. What is chosen stands in quotes, as JSON has them: what YAML would else take for something else is a text.
fn yaml(rules: &Rules, args: &RbacArgs) -> String {
    let mut text = head("ClusterRole", args);
    text += if rules.0.is_empty() { "rules: []\n" } else { "rules:\n" };
    for Rule { group, resources, verbs } in rules.rules() {
        let resources: Vec<String> = resources.iter().map(|it| format!("{it:?}")).collect();
        text += &rule(&format!("[{group:?}]"), &resources.join(", "), &verbs.join(", "));
    }
    text += &binding("ClusterRole", args);
    if args.leader_elect {
        text += "---\n";
        text += &head("Role", args);
        text += "rules:\n";
        text += &rule(LEASES, "leases", "create");
        text += &rule(LEASES, "leases", "get, update");
        text += &format!("  resourceNames: [{LEASE}]\n");
        text += &binding("Role", args);
    }
    text
}

fn head(kind: &str, args: &RbacArgs) -> String {
    let RbacArgs { name, namespace, .. } = args;
    let place = match kind.starts_with("Cluster") {
        true => String::new(),
        false => format!("  namespace: {namespace:?}\n"),
    };
    format!("apiVersion: {API}/v1\nkind: {kind}\nmetadata:\n  name: {name:?}\n{place}")
}

fn rule(groups: &str, resources: &str, verbs: &str) -> String {
    format!("- apiGroups: {groups}\n  resources: [{resources}]\n  verbs: [{verbs}]\n")
}

/// Binds a role of this kind to the service account.
fn binding(role: &str, args: &RbacArgs) -> String {
    let RbacArgs { name, service_account, namespace, .. } = args;
    let head = head(&format!("{role}Binding"), args);
    format!(
        "---\n{head}roleRef:\n  apiGroup: {API}\n  kind: {role}\n  name: {name:?}\nsubjects:\n\
         - kind: ServiceAccount\n  name: {service_account:?}\n  namespace: {namespace:?}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Args, Command};
    use clap::Parser as _;
    use expect_test::{Expect, expect};
    use informant_runtime::configuration::Document;

    #[track_caller]
    fn check(descriptors: &[&str], options: &[&str], expect: Expect) {
        let descriptors: Vec<Descriptor> = descriptors
            .iter()
            .map(|text| Descriptor::parse(text.as_bytes()).expect("it is well formed"))
            .collect();
        let arguments = ["informant", "rbac", "a.wasm"].iter().chain(options);
        let Command::Rbac(args) = Args::try_parse_from(arguments).expect("it is one").command
        else {
            panic!("another command");
        };
        let text = yaml(&Rules::of(&descriptors), &args);
        for document in text.split("---\n") {
            Document::read("rbac.yaml", document.as_bytes()).expect("it is YAML");
        }
        expect.assert_eq(&text);
    }

    #[test]
    fn what_is_asked_for_is_allowed_and_nothing_else() {
        let one = r#"{"version":"1","subscriptions":[{"resource":"v1/pods"},{"resource":"apps/v1/deployments"}],
            "reads":[{"resource":"v1/nodes"}],
            "writes":[{"resource":"v1/pods","verbs":["patch"]},{"resource":"v1/pods/status","verbs":["update","patch"]},
                {"resource":"events.k8s.io/v1/events","verbs":["create"]}]}"#;
        let other =
            r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]}]}"#;
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
                kind: ClusterRole
                metadata:
                  name: "informant"
                rules: []
                ---
                apiVersion: rbac.authorization.k8s.io/v1
                kind: ClusterRoleBinding
                metadata:
                  name: "informant"
                roleRef:
                  apiGroup: rbac.authorization.k8s.io
                  kind: ClusterRole
                  name: "informant"
                subjects:
                - kind: ServiceAccount
                  name: "informant"
                  namespace: "default"
                ---
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
    fn names_are_those_that_kubernetes_takes() {
        for (name, is_one) in
            [("informant", true), ("a.b-c", true), ("A", false), ("a b", false), ("", false)]
        {
            let parsed = Args::try_parse_from(["informant", "rbac", "a.wasm", "--name", name]);
            assert_eq!(parsed.is_ok(), is_one, "{name}");
        }
    }
}
