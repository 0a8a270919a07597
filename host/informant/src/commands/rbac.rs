//! `informant rbac`: the permissions that a host with these plugins needs at the API server, and no others.

use super::ask::{block_on, print};
use crate::cli::RbacArgs;
use crate::{compiler, host_configuration};
use anyhow::{Context, Result, anyhow, bail};
use informant_apimachinery::GroupVersionResource;
use informant_runtime::{
    Descriptor, PluginChecker, ServiceAccount, WriteSpec, namespaces, plugin_files,
    watched_namespaces,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const API: &str = "rbac.authorization.k8s.io";
const LEASES: &str = "[coordination.k8s.io]";
/// Group and resource of the reviews with which a host asks for the permissions of service accounts.
const REVIEWS: (&str, &str) = ("authorization.k8s.io", "subjectaccessreviews");
/// The name of the Lease without a configured name.
const LEASE: &str = "informant";

/// Prints the objects that grant the permissions, for `kubectl apply`.
pub(crate) fn rbac(args: &RbacArgs) -> Result<()> {
    let configurations = host_configuration::load(args.config.config.as_deref())?;
    let checker = PluginChecker::new(
        compiler::options(&args.compiler, compiler::Use::Plugins)?,
        configurations,
    )?;
    let files = files(&args.paths)?;
    let (plugins, labels) = block_on(async {
        let (mut plugins, mut labels) = (Vec::with_capacity(files.len()), false);
        for file in &files {
            let path = file.display();
            let report = checker.check(file).await;
            let report = report.map_err(|error| anyhow!("{path}: {}", error.shown()))?;
            if let Some(why) = report.not_granted {
                bail!("{path}: a host that is configured so does not run it: {why}");
            }
            labels |= report.needs_namespaces;
            plugins.push((report.descriptor, report.service_account));
        }
        Ok((plugins, labels))
    })?;
    let mut needs =
        Needs::of(plugins.iter().map(|(descriptor, account)| (descriptor, account.as_ref())));
    needs.serve(&args.resources);
    if labels {
        needs.serve(&[namespaces()]);
    }
    print(yaml(&needs, args).trim_end());
    Ok(())
}

/// The named files, and the plugin files in the named directories.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let is_there = path.try_exists();
        if !is_there.with_context(|| format!("{} cannot be read", path.display()))? {
            bail!("there is no file or directory {}", path.display());
        }
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

/// The verbs of a role, in the order of the output.
const VERBS: [&str; 6] = ["list", "watch", "create", "update", "patch", "delete"];

/// The verbs of each group's resources.
#[derive(Debug, Default)]
struct Rules(BTreeMap<(String, String), BTreeSet<usize>>);

/// Resources of one group with the same verbs.
#[derive(Debug)]
struct Rule<'a> {
    group: &'a str,
    resources: Vec<&'a str>,
    verbs: Vec<&'static str>,
}

/// The needed permissions by user.
#[derive(Debug, Default)]
pub(super) struct Needs<'a> {
    /// Permissions of the host's own user.
    host: Scopes<'a>,
    /// Permissions of the service accounts that plugins act as.
    accounts: BTreeMap<&'a ServiceAccount, Scopes<'a>>,
}

/// The needed rules by namespace. The empty namespace stands for all namespaces.
type Scopes<'a> = BTreeMap<&'a str, Rules>;

impl<'a> Needs<'a> {
    /// The needs of these plugins, each with the service account that the plugin acts as.
    pub(super) fn of(
        plugins: impl IntoIterator<Item = (&'a Descriptor, Option<&'a ServiceAccount>)>,
    ) -> Self {
        let mut needs = Self::default();
        for (descriptor, account) in plugins {
            let watched = |named| watched_namespaces(named).map_or(vec![""], places);
            read(&mut needs.host, descriptor, watched);
            let Some(account) = account else {
                write(&mut needs.host, descriptor);
                continue;
            };
            let everywhere = needs.host.entry("").or_default();
            everywhere.add(REVIEWS.0, REVIEWS.1.to_owned(), ["create"]);
            let scopes = needs.accounts.entry(account).or_default();
            // The host's reviews ask only for the namespaces of the views.
            read(scopes, descriptor, places);
            write(scopes, descriptor);
        }
        needs.accounts.values_mut().for_each(leave_out_twice);
        leave_out_twice(&mut needs.host);
        needs
    }

    /// Adds the needs of the HTTP API, or of selectors of namespaces: these resources in all namespaces.
    pub(super) fn serve(&mut self, resources: &[GroupVersionResource]) {
        for it in resources {
            let everywhere = self.host.entry("").or_default();
            everywhere.add(&it.group, it.resource.clone(), ["list", "watch"]);
        }
        leave_out_twice(&mut self.host);
    }

    /// The rules of the host, each with its namespace; null stands for all namespaces.
    pub(super) fn of_host(&self) -> Vec<Value> {
        self.host.iter().flat_map(shown).collect()
    }

    /// The rules of the service accounts, in the same form.
    pub(super) fn of_accounts(&self) -> Vec<Value> {
        self.accounts.values().flatten().flat_map(shown).collect()
    }

    /// The names of the impersonated service accounts, by their namespace.
    fn impersonated(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut impersonated = BTreeMap::<&str, Vec<&str>>::new();
        for account in self.accounts.keys() {
            impersonated.entry(account.namespace()).or_default().push(account.name());
        }
        impersonated
    }
}

/// Adds the lists and watches for views of these namespaces.
fn read<'a>(
    scopes: &mut Scopes<'a>,
    descriptor: &'a Descriptor,
    places: impl Fn(&'a BTreeSet<String>) -> Vec<&'a str>,
) {
    let subscribed = descriptor.subscriptions.iter().map(|it| (&it.resource, &it.namespaces));
    let read = descriptor.reads.iter().map(|it| (&it.resource, &it.namespaces));
    for (resource, namespaces) in subscribed.chain(read) {
        for namespace in places(namespaces) {
            let rules = scopes.entry(namespace).or_default();
            rules.add(&resource.group, resource.resource.clone(), ["list", "watch"]);
        }
    }
}

fn write<'a>(scopes: &mut Scopes<'a>, descriptor: &'a Descriptor) {
    for write in &descriptor.writes {
        for namespace in places(write.namespaces()) {
            scopes.entry(namespace).or_default().write(write);
        }
    }
}

/// Drops rules of a namespace that also hold in all namespaces.
fn leave_out_twice(scopes: &mut Scopes<'_>) {
    let Some(everywhere) = scopes.remove("") else { return };
    scopes.values_mut().for_each(|rules| rules.leave_out(&everywhere));
    scopes.insert("", everywhere);
    scopes.retain(|_, rules| !rules.0.is_empty());
}

fn shown((namespace, rules): (&&str, &Rules)) -> Vec<Value> {
    let namespace = Some(*namespace).filter(|it| !it.is_empty());
    let shown = |rule: &Rule<'_>| {
        let mut shown = rule.to_json();
        shown["namespace"] = namespace.into();
        shown
    };
    rules.rules().iter().map(shown).collect()
}

/// The empty namespace for all namespaces, or each named namespace.
fn places(namespaces: &BTreeSet<String>) -> Vec<&str> {
    match namespaces.is_empty() {
        true => vec![""],
        false => namespaces.iter().map(String::as_str).collect(),
    }
}

impl Rules {
    fn write(&mut self, write: &WriteSpec) {
        self.add(write.group(), write.resource(), write.verbs());
        // The host counts the repeats of a Kubernetes Event that it has created, with a patch.
        if write.group() == "events.k8s.io" && write.verbs().any(|verb| verb == "create") {
            self.add(write.group(), write.resource(), ["patch"]);
        }
    }

    /// Removes the verbs that `others` allows.
    fn leave_out(&mut self, others: &Self) {
        for (resource, verbs) in &mut self.0 {
            let other = others.0.get(resource);
            verbs.retain(|verb| other.is_none_or(|other| !other.contains(verb)));
        }
        self.0.retain(|_, verbs| !verbs.is_empty());
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

    fn yaml(&self) -> String {
        let rule = |Rule { group, resources, verbs }: Rule<'_>| {
            let resources: Vec<String> = resources.iter().map(|it| format!("{it:?}")).collect();
            rule(&format!("[{group:?}]"), &resources.join(", "), &verbs.join(", "))
        };
        self.rules().into_iter().map(rule).collect()
    }
}

impl Rule<'_> {
    fn to_json(&self) -> Value {
        let Self { group, resources, verbs } = self;
        json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
    }
}

/// A role, or a cluster role if it has no namespace.
struct Role<'a> {
    name: &'a str,
    namespace: Option<&'a str>,
}

/// The roles and their bindings. Names from arguments are in JSON's quotes, so that YAML always reads them as text.
fn yaml(needs: &Needs<'_>, args: &RbacArgs) -> String {
    let host = (args.service_account.as_str(), args.namespace.as_str());
    let mut of_host: BTreeMap<&str, String> =
        needs.host.iter().map(|(namespace, rules)| (*namespace, rules.yaml())).collect();
    if args.leader_elect {
        let rules = ["create", "get, update"].map(|verbs| rule(LEASES, "leases", verbs));
        let rules = format!("{}  resourceNames: [{LEASE}]\n", rules.concat());
        of_host.entry(&args.namespace).or_default().push_str(&rules);
    }
    if of_host.is_empty() {
        of_host.insert("", String::new());
    }
    let mut objects = Vec::new();
    for (namespace, rules) in of_host {
        let namespace = Some(namespace).filter(|it| !it.is_empty());
        objects.push(Role { name: &args.name, namespace }.yaml(&rules, host));
    }
    for (namespace, names) in needs.impersonated() {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let rules = rule("[\"\"]", "serviceaccounts", "impersonate");
        let rules = format!("{rules}  resourceNames: [{}]\n", names.join(", "));
        let name = format!("{}:impersonate", args.name);
        objects.push(Role { name: &name, namespace: Some(namespace) }.yaml(&rules, host));
    }
    for (account, scopes) in &needs.accounts {
        let subject = (account.name(), account.namespace());
        let name = format!("{}:{}:{}", args.name, account.namespace(), account.name());
        for (namespace, rules) in scopes {
            let namespace = Some(*namespace).filter(|it| !it.is_empty());
            objects.push(Role { name: &name, namespace }.yaml(&rules.yaml(), subject));
        }
    }
    objects.join("---\n")
}

impl Role<'_> {
    /// The role with its binding to a service account, given by name and namespace.
    fn yaml(&self, rules: &str, (account, of): (&str, &str)) -> String {
        let Self { name, namespace } = self;
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        let place = namespace.map_or(String::new(), |it| format!("  namespace: {it:?}\n"));
        let head = |kind: &str| {
            format!("apiVersion: {API}/v1\nkind: {kind}\nmetadata:\n  name: {name:?}\n{place}")
        };
        let (role, binding) = (head(kind), head(&format!("{kind}Binding")));
        let rules = if rules.is_empty() { "rules: []\n" } else { &format!("rules:\n{rules}") };
        format!(
            "{role}{rules}---\n{binding}roleRef:\n  apiGroup: {API}\n  kind: {kind}\n  name: {name:?}\nsubjects:\n\
             - kind: ServiceAccount\n  name: {account:?}\n  namespace: {of:?}\n"
        )
    }
}

fn rule(groups: &str, resources: &str, verbs: &str) -> String {
    format!("- apiGroups: {groups}\n  resources: [{resources}]\n  verbs: [{verbs}]\n")
}

#[cfg(test)]
mod tests;
