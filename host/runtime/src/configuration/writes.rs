//! What a plugin may write to the cluster: nothing, unless a configuration says so. Each write is held against this.

use super::grants::{Place, quoted};
use super::keys::Keys;
use crate::descriptor::{WriteSpec, is_namespace};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::write::{Writable, Write, WriteVerb, is_role_name, is_subdomain};
use std::collections::BTreeSet;

/// Some verbs on some resources, maybe only in some namespaces or of some names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteRule {
    resources: Vec<Writable>,
    verbs: Vec<WriteVerb>,
    /// Empty: all, and what is in none.
    namespaces: BTreeSet<String>,
    /// Empty: all.
    names: BTreeSet<String>,
}

impl WriteRule {
    /// The rules below `writes`; none where it is not written.
    pub(super) fn declare(
        keys: &mut Keys<'_>,
        default: &'static str,
        doc: &'static str,
    ) -> Option<Vec<Self>> {
        keys.object_list("writes", default, doc, |keys| {
            let doc = "What may be written, as `v1/pods` or `apps/v1/deployments`. A subresource is a resource of its own: `v1/pods/status`, `v1/pods/eviction`.";
            let resources = keys.text_list("resources", ("v1/pods", "", 0), doc, writable);
            let resources = needed(keys, "resources", resources, "[v1/pods]");
            let doc = "How: `create`, `update`, `patch`, `delete`. Server-side apply needs `patch` and `create`, and so does with `update` one whose object has no `metadata.uid`.";
            let verbs = keys.text_list("verbs", ("patch", "", 0), doc, str::parse::<WriteVerb>);
            let verbs = needed(keys, "verbs", verbs, "[patch]");
            let doc = "Where. What is in no namespace needs a rule without this.";
            let default = "all, and what is in none";
            let namespaces = keys.text_list("namespaces", ("default", default, 1), doc, namespace);
            let doc = "Which objects. One whose name the API server makes needs a rule without this.";
            let names = keys.text_list("names", ("settings", "all", 1), doc, name);
            Self {
                resources,
                verbs,
                namespaces: namespaces.unwrap_or_default().into_iter().collect(),
                names: names.unwrap_or_default().into_iter().collect(),
            }
        })
    }

    /// Whether Secrets are among what it names.
    pub(super) fn names_secrets(&self) -> bool {
        self.resources.iter().any(Writable::is_secrets)
    }

    /// Whether it lets somebody ask for a service account's token.
    pub(super) fn names_tokens(&self) -> bool {
        self.resources.iter().any(Writable::is_tokens)
    }

    /// What of it no file beside a plugin's can grant.
    pub(super) fn guarded(&self) -> Option<String> {
        self.resources.iter().find(|what| what.is_guarded()).map(Writable::to_string)
    }

    fn covers(&self, what: &Writable, verb: WriteVerb) -> bool {
        self.resources.contains(what) && self.verbs.contains(&verb)
    }

    /// What of it the others do not allow: none of them alone allows it of some namespace and name, or of all.
    pub(super) fn beyond(&self, others: &[Self]) -> Option<String> {
        let each = |of: &BTreeSet<String>| match of.is_empty() {
            true => vec![None],
            false => of.iter().cloned().map(Some).collect(),
        };
        let within = |of: &BTreeSet<String>, one: &Option<String>| {
            of.is_empty() || one.as_ref().is_some_and(|one| of.contains(one))
        };
        let (namespaces, names) = (each(&self.namespaces), each(&self.names));
        let is_allowed = |what: &Writable, verb: WriteVerb| {
            let others = || others.iter().filter(|other| other.covers(what, verb));
            namespaces.iter().all(|namespace| {
                let others = || others().filter(|other| within(&other.namespaces, namespace));
                names.iter().all(|name| others().any(|other| within(&other.names, name)))
            })
        };
        let verbs = |what| self.verbs.iter().map(move |verb| (what, *verb));
        let mut all = self.resources.iter().flat_map(verbs);
        let beyond = all.find(|(what, verb)| !is_allowed(what, *verb));
        beyond.map(|(what, verb)| format!("{} of {what}", verb.name()))
    }
}

/// A rule that leaves it out, or empty, would mean nothing.
pub(super) fn needed<T>(
    keys: &mut Keys<'_>,
    key: &'static str,
    found: Option<Vec<T>>,
    like: &str,
) -> Vec<T> {
    if keys.is_read() && found.as_ref().is_none_or(Vec::is_empty) {
        keys.fail(0, key, format!("is to name some: write it as {like}"));
    }
    found.unwrap_or_default()
}

fn writable(text: &str) -> Result<Writable, String> {
    match text {
        "*" => Err("has \"*\": what may be written has to be named".to_owned()),
        text => text.parse(),
    }
}

fn namespace(text: &str) -> Result<String, String> {
    match is_namespace(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("has {text:?}, which cannot be the name of a namespace")),
    }
}

fn name(text: &str) -> Result<String, String> {
    // Of other objects than roles none is called so.
    match is_subdomain(text) || is_role_name(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("has {text:?}, which cannot be the name of an object")),
    }
}

/// What a plugin may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteGrants {
    pub(super) rules: Vec<WriteRule>,
    /// What bounds them; none for those that the host's own configuration has for this plugin.
    pub(super) ceiling: Option<Vec<WriteRule>>,
    /// Where they are to be written.
    pub(super) place: Place,
}

/// One object, or those whose names are not known yet.
#[derive(Clone, Copy)]
struct Ask<'a> {
    what: &'a Writable,
    verb: WriteVerb,
    /// Empty: it is in none.
    namespace: &'a str,
    /// Empty: the API server makes it.
    name: &'a str,
}

/// The line of a configuration that grants these, and no more.
pub(crate) fn granting_writes(specs: &[WriteSpec]) -> String {
    let of = |spec: &WriteSpec| {
        rule(&spec.what, &spec.verbs, spec.namespaces.iter().map(String::as_str))
    };
    line(&specs.iter().map(of).collect::<Vec<_>>())
}

impl WriteGrants {
    /// What is missing for a plugin to make this write, and the line that would grant it.
    pub(crate) fn check_write(&self, plugin: &str, write: &Write) -> Result<(), String> {
        let Write { what, namespace, name, .. } = write;
        let asks: Vec<Ask<'_>> =
            write.verbs().iter().map(|verb| Ask { what, verb: *verb, namespace, name }).collect();
        if asks.iter().all(|ask| self.allows(ask)) {
            return Ok(());
        }
        let is_possible = asks.iter().all(|ask| self.is_possible(ask));
        let namespaces: BTreeSet<&str> =
            [namespace.as_str()].into_iter().filter(|it| !it.is_empty()).collect();
        let verbs: Vec<WriteVerb> = write.verbs().to_vec();
        let name = Some(name.as_str()).filter(|it| !it.is_empty() && !is_generated(it));
        let line = line(&[rule_for(what, &verbs, namespaces.iter().copied(), name)]);
        let verb = write.verb().name();
        let place = if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
        let advice = self.place(is_possible).advice(plugin, &line);
        let beside = if self.rules.is_empty() { "" } else { ", beside the rules that are there" };
        let text = format!("to {verb} {what}{place} is not granted; to grant it, {advice}{beside}");
        Err(one_line(&text, ERROR_BYTES_MAX).into_owned())
    }

    /// What is missing of what a plugin means to write. What is granted for some names alone is granted here: nobody knows yet of which it will be.
    pub(crate) fn check(&self, plugin: &str, specs: &[WriteSpec]) -> Result<(), String> {
        let lacks = |spec: &&WriteSpec| {
            !self.covers_all(&self.rules, spec)
                || self.ceiling.as_ref().is_some_and(|rules| !self.covers_all(rules, spec))
        };
        let lacking: Vec<String> = specs.iter().filter(lacks).map(WriteSpec::shown).collect();
        let is_possible = |spec: &WriteSpec| {
            !spec.what.is_guarded()
                && self.ceiling.as_ref().is_none_or(|rules| self.covers_all(rules, spec))
        };
        let place = self.place(specs.iter().all(is_possible));
        place.granting_all(plugin, "", &lacking, &granting_writes(specs))
    }

    fn place(&self, is_possible: bool) -> &Place {
        if is_possible { &self.place } else { &Place::Host }
    }

    fn allows(&self, ask: &Ask<'_>) -> bool {
        ask.is_in(&self.rules) && self.is_possible(ask)
    }

    /// Whether the place where the rules are may grant it.
    fn is_possible(&self, ask: &Ask<'_>) -> bool {
        match &self.ceiling {
            Some(ceiling) => !ask.what.is_guarded() && ask.is_in(ceiling),
            None => true,
        }
    }

    fn covers_all(&self, rules: &[WriteRule], spec: &WriteSpec) -> bool {
        let is_granted = |verb: &WriteVerb| {
            let rules = rules.iter().filter(|rule| rule.covers(&spec.what, *verb));
            let mut namespaces = BTreeSet::new();
            for rule in rules {
                if rule.namespaces.is_empty() {
                    return true;
                }
                namespaces.extend(&rule.namespaces);
            }
            !spec.namespaces.is_empty() && spec.namespaces.iter().all(|it| namespaces.contains(it))
        };
        let is_for_others = spec.what.is_guarded() && self.ceiling.is_some();
        !is_for_others && spec.verbs.iter().all(is_granted)
    }
}

impl Ask<'_> {
    fn is_in(&self, rules: &[WriteRule]) -> bool {
        rules.iter().any(|rule| {
            rule.covers(self.what, self.verb)
                && (rule.namespaces.is_empty() || rule.namespaces.contains(self.namespace))
                && (rule.names.is_empty() || rule.names.contains(self.name))
        })
    }
}

/// A rule as it would be written.
fn rule<'a>(
    what: &Writable,
    verbs: &[WriteVerb],
    namespaces: impl Iterator<Item = &'a str>,
) -> String {
    rule_for(what, verbs, namespaces, None)
}

/// The same for the object of this name alone.
fn rule_for<'a>(
    what: &Writable,
    verbs: &[WriteVerb],
    namespaces: impl Iterator<Item = &'a str>,
    name: Option<&str>,
) -> String {
    let verbs = verbs.iter().map(|verb| verb.name()).collect::<Vec<_>>().join(", ");
    let mut rule = format!("resources: [{what}], verbs: [{verbs}]");
    let namespaces = namespaces.map(quoted).collect::<Vec<_>>().join(", ");
    if !namespaces.is_empty() {
        rule = format!("{rule}, namespaces: [{namespaces}]");
    }
    if let Some(name) = name {
        rule = format!("{rule}, names: [{}]", quoted(name));
    }
    format!("{{{rule}}}")
}

/// What Kubernetes makes random ends of names of: neither vowels nor what looks like one.
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Whether a name ends as those do that the API server or a controller made up: the next object has another, and a rule for this one would grant it
/// nothing. The end has 5 letters, or up to 10 where it is a hash.
fn is_generated(name: &str) -> bool {
    let end = name.rsplit_once('-').map_or("", |(_, end)| end);
    (5..=10).contains(&end.len()) && end.chars().all(|letter| RANDOM.contains(letter))
}

fn line(rules: &[String]) -> String {
    format!("writes: [{}]", rules.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{
        Ceiling, ConfigurationError, Configurations, Document, Keys, Layer, PluginSettings, read,
    };
    use crate::descriptor::Descriptor;
    use crate::powers::{PluginPowers, Powers};
    use crate::restriction::Restriction;
    use crate::write::{How, Named};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// What a plugin `a` runs with whose file says this, on a host whose own says that.
    fn settings(host: &str, sidecar: &str) -> PluginSettings {
        configured(host, sidecar).expect("it is within the ceiling")
    }

    fn configured(host: &str, sidecar: &str) -> Result<PluginSettings, ConfigurationError> {
        let declare = |keys: &mut Keys<'_>| {
            let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
            let named = keys.object("a", "", Layer::of_plugin);
            let ceiling = keys.object("ceiling", "", Ceiling::declare).unwrap_or_default();
            let name = || "a".parse().expect("a name");
            let plugins = named.into_iter().map(|layer| (name(), layer)).collect();
            Configurations::new(defaults, plugins, ceiling).expect("limits are within the ceiling")
        };
        let document = Document::read("host.yaml", host.as_bytes()).expect("it is YAML");
        let configurations = read(&document, declare).expect("it is well formed");
        let head = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";
        let layer = Layer::of_sidecar("a.yaml", format!("{head}{sidecar}").as_bytes());
        let layer = layer.expect("it is well formed");
        let name = "a".parse().expect("a name");
        configurations.of(&name, Some(&layer))
    }

    /// Which of these writes is granted: `patch v1/pods/status shop web`, with `-` for no namespace or name.
    #[track_caller]
    fn check(host: &str, sidecar: &str, granted: &[&str], refused: &[&str]) {
        let grants = settings(host, sidecar).writes;
        let is_granted = |write: &&str| {
            let words: Vec<&str> = write.split(' ').collect();
            let [verb, what, namespace, name] = words[..] else { panic!("{write}") };
            let (resource, subresource) = match what.matches('/').count() {
                1 => (what, ""),
                _ => what.rsplit_once('/').expect("a subresource"),
            };
            let given = |word| if word == "-" { "" } else { word };
            let (namespace, name) = (given(namespace), given(name));
            let (how, body) = match verb {
                "create" if name.is_empty() => {
                    (How::Create, r#"{"metadata":{"generateName":"a"}}"#.to_owned())
                }
                "create" => (How::Create, format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)),
                "update" => (How::Update, r#"{"metadata":{"uid":"u"}}"#.to_owned()),
                "patch" => (How::MergePatch, String::new()),
                "apply" => (How::Apply(false), String::new()),
                "delete" => (How::Delete(None), String::new()),
                other => panic!("{other}"),
            };
            let named = Named { resource, namespace, name, subresource };
            let write = Write::new(named, how, body.into_bytes()).expect("it is well formed");
            grants.check_write("a", &write).is_ok()
        };
        let all = granted.iter().chain(refused);
        let found: Vec<&str> = all.copied().filter(|write| is_granted(write)).collect();
        assert_eq!(found, granted, "{host} {sidecar}");
    }

    #[test]
    fn nothing_is_granted_by_itself() {
        let all = ["patch v1/pods shop web", "create v1/pods shop web", "delete v1/nodes - n"];
        check("{}", "", &[], &all);
        check("{}", "writes: []", &[], &all);
        let rule = "[{resources: [v1/pods], verbs: [patch, create]}]";
        check("{}", &format!("writes: {rule}"), &[], &all);
        check(&format!("ceiling: {{writes: {rule}}}"), "", &[], &all);
    }

    #[test]
    fn a_rule_grants_what_it_names_and_nothing_beside_it() {
        let one = "{resources: [v1/pods, apps/v1/deployments], verbs: [patch], namespaces: [shop], names: [web]}";
        let granted = ["patch v1/pods shop web"];
        let refused = [
            "patch v1/pods office web",
            "patch v1/pods - web",
            "patch v1/pods shop db",
            "patch v1/pods/status shop web",
            "patch v1/services shop web",
            "patch v2/pods shop web",
            "update v1/pods shop web",
            "delete v1/pods shop web",
            "create v1/pods shop web",
            "create v1/pods shop -",
            "apply v1/pods shop web",
        ];
        check(&format!("a: {{writes: [{one}]}}"), "", &granted, &refused);
        let broad = "{resources: [v1/pods/status, v1/pods], verbs: [create, patch]}";
        let granted = [
            "create v1/pods shop -",
            "apply v1/pods shop web",
            "patch v1/pods/status - web",
            "patch v1/pods office web",
        ];
        let refused = ["delete v1/pods shop web", "create v1/pods/eviction shop web"];
        check(&format!("a: {{writes: [{broad}]}}"), "", &granted, &refused);
    }

    #[test]
    fn the_ceiling_bounds_each_write() {
        let ceiling =
            "ceiling: {writes: [{resources: [v1/pods], verbs: [patch], namespaces: [shop]}]}";
        let sidecar = "writes: [{resources: [v1/pods], verbs: [patch, delete]}]";
        let refused = ["patch v1/pods office web", "delete v1/pods shop web"];
        check(ceiling, sidecar, &["patch v1/pods shop web"], &refused);
    }

    /// What is wrong with such defaults below such a ceiling.
    #[track_caller]
    fn check_defaults(ceiling: &str, defaults: &str, expect: &str) {
        let host = format!("ceiling: {{writes: [{ceiling}]}}\ndefaults: {{writes: [{defaults}]}}");
        let document = Document::read("host.yaml", host.as_bytes()).expect("it is YAML");
        let declare = |keys: &mut Keys<'_>| {
            let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
            (defaults, keys.object("ceiling", "", Ceiling::declare).unwrap_or_default())
        };
        let (defaults, ceiling) = read(&document, declare).expect("it is well formed");
        let read = Configurations::new(defaults, BTreeMap::new(), ceiling);
        let problem = read.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            problem.starts_with("host.yaml line 2: defaults.writes has ") || problem.is_empty()
        );
        let problem = problem.strip_prefix("host.yaml line 2: defaults.writes has ");
        let problem = problem.map(|it| it.replace(", and the ceiling of this host has it not", ""));
        assert_eq!(problem.unwrap_or_default(), expect);
    }

    #[test]
    fn defaults_beyond_the_ceiling_are_a_mistake() {
        let pods = "{resources: [v1/pods], verbs: [patch]}";
        check_defaults("", "", "");
        check_defaults("", pods, "patch of v1/pods");
        check_defaults(pods, pods, "");
        let more = "{resources: [v1/pods, v1/pods/status], verbs: [patch]}";
        check_defaults(pods, more, "patch of v1/pods/status");
        check_defaults(more, pods, "");
        check_defaults(pods, "{resources: [v1/pods], verbs: [patch, delete]}", "delete of v1/pods");
        let of = |namespaces: &str, names: &str| {
            format!(
                "{{resources: [v1/pods], verbs: [patch], namespaces: [{namespaces}], names: [{names}]}}"
            )
        };
        check_defaults(pods, &of("a, b", "x"), "");
        check_defaults(&of("a", "x"), pods, "patch of v1/pods");
        check_defaults(&of("a", "x"), &of("a, b", "x"), "patch of v1/pods");
        check_defaults(&of("a", "x"), &of("a", "x, y"), "patch of v1/pods");
        let both = format!("{}, {}", of("a", "x, y"), of("b", "x"));
        check_defaults(&both, &of("a, b", "x"), "");
        check_defaults(&both, &of("a, b", "x, y"), "patch of v1/pods");
    }

    #[test]
    fn what_gives_more_power_is_only_for_the_hosts_word_on_the_plugin() {
        let guarded = ["patch v1/secrets shop web", "create v1/serviceaccounts/token shop web"];
        let rule = "[{resources: [v1/secrets, v1/serviceaccounts/token], verbs: [patch, create]}]";
        let everywhere = format!("ceiling: {{writes: {rule}}}\ndefaults: {{writes: {rule}}}");
        check(&everywhere, &format!("writes: {rule}"), &[], &guarded);
        check(&format!("a: {{writes: {rule}}}"), "", &guarded, &[]);
    }

    #[test]
    fn a_file_beside_a_plugin_configures_nothing_that_the_host_lets_write() {
        let host = "a: {writes: [{resources: [v1/pods], verbs: [patch]}]}";
        let error = configured(host, "config: {}").expect_err("it is for the host to say");
        let expect =
            "config is not taken from here: the host's own configuration grants writes to a";
        assert!(error.to_string().contains(expect), "{error}");
        assert!(configured("a: {writes: []}", "config: {}").is_ok());
        let ceiling = "ceiling: {serviceAccounts: [b/c]}";
        let account = "serviceAccount: b/c";
        let error = configured(&format!("{ceiling}\n{host}"), account).expect_err("for the host");
        let expect = "serviceAccount is not taken from here: the host's own configuration grants writes to a";
        assert!(error.to_string().contains(expect), "{error}");
        let named = format!("{ceiling}\na: {{{account}, writes: []}}");
        let named = configured(&named, account).expect("nothing is beyond the ceiling");
        assert_eq!(named.service_account.map(|it| it.to_string()), Some("b/c".to_owned()));
    }

    #[test]
    fn a_file_beside_a_plugin_undoes_no_dry_run() {
        let is_dry = |host: &str, sidecar: &str| settings(host, sidecar).dry_run;
        assert!(!is_dry("{}", "") && is_dry("{}", "dryRun: true"));
        let all = "defaults: {dryRun: true}";
        assert!(is_dry(all, "") && is_dry(all, "dryRun: false"));
        assert!(!is_dry(&format!("{all}\na: {{dryRun: false}}"), "dryRun: true"));
    }

    #[test]
    fn a_dry_run_of_a_secret_is_for_the_hosts_own_configuration() {
        let refusal = |host: &str, sidecar: &str, resource: &str| {
            let powers = PluginPowers {
                powers: Powers::none(),
                settings: Arc::new(settings(host, sidecar)),
                restriction: Restriction::default(),
                counters: Arc::default(),
            };
            let named = Named { resource, namespace: "shop", name: "a", subresource: "" };
            let write = Write::new(named, How::MergePatch, Vec::new()).expect("it is well formed");
            powers.check_dry_run("a", &write).err()
        };
        let named = "a: {dryRun: true}";
        let all = "defaults: {dryRun: true}";
        for (host, sidecar) in [("{}", ""), (named, ""), (named, "dryRun: true")] {
            assert_eq!(refusal(host, sidecar, "v1/secrets"), None, "{host} {sidecar}");
        }
        for (host, sidecar) in [("{}", "dryRun: true"), (all, ""), (all, "dryRun: true")] {
            assert_eq!(refusal(host, sidecar, "v1/pods"), None, "{host} {sidecar}");
            let refused = refusal(host, sidecar, "v1/secrets").expect("it is refused");
            assert!(refused.contains("dryRun: true under plugins.a"), "{refused}");
        }
    }

    /// What is wrong with this rule.
    #[track_caller]
    fn check_refused(rule: &str, expect: &str) {
        let head = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";
        let text = format!("{head}writes: [{rule}]");
        let error = Layer::of_sidecar("a.yaml", text.as_bytes()).expect_err("it is refused");
        let error = error.to_string();
        assert!(error.ends_with(expect), "{error}");
    }

    #[test]
    fn what_is_left_out_or_empty_grants_nothing_by_mistake() {
        check_refused("{}", "resources is to name some: write it as [v1/pods]");
        check_refused("{resources: [v1/pods]}", "verbs is to name some: write it as [patch]");
        check_refused("{resources: [], verbs: [patch]}", "write it as [v1/pods]");
        let some = "resources: [v1/pods], verbs: [patch]";
        let empty = "has 0 entries: name 1, or leave it out for all";
        check_refused(
            &format!("{{{some}, namespaces: []}}"),
            &format!("{empty}, and what is in none"),
        );
        check_refused(&format!("{{{some}, names: []}}"), empty);
        check_refused(&format!("{{{some}, names: }}"), "write one, or leave the key out");
        check_refused(
            &format!("{{{some}, names: [a/b]}}"),
            r#"has "a/b", which cannot be the name of an object"#,
        );
        check_refused("{resources: ['*'], verbs: [patch]}", "what may be written has to be named");
        check_refused(
            "{resources: [v1/pods], verbs: ['*']}",
            r#"has "*", and may have create, update, patch, delete"#,
        );
    }

    #[test]
    fn the_line_that_would_grant_a_write_grants_no_more() {
        let told = |how: How, name: &str, body: &str| {
            let named = Named { resource: "v1/pods", namespace: "on", name, subresource: "" };
            let write = Write::new(named, how, body.as_bytes().to_vec()).expect("it is one");
            let told = settings("{}", "").writes.check_write("a", &write).expect_err("nothing is");
            told.split_once("writes: ").expect("a line").1.to_owned()
        };
        let rule =
            r#"[{resources: [v1/pods], verbs: [patch], namespaces: ["on"], names: ["1e3"]}]}}"#;
        assert_eq!(told(How::MergePatch, "1e3", ""), rule);
        // The next Pod of the same Deployment has another name.
        let rule = r#"[{resources: [v1/pods], verbs: [patch], namespaces: ["on"]}]}}"#;
        for name in ["web-7d4b9c6f5d-x2x9z", "job-vwxz2"] {
            assert_eq!(told(How::MergePatch, name, ""), rule);
        }
        for name in ["web-proxy", "web-2", "x2x9z"] {
            assert!(told(How::MergePatch, name, "").contains(&format!("names: [{name}]")));
        }
        let made = r#"{"metadata":{"generateName":"a"}}"#;
        let rule = r#"[{resources: [v1/pods], verbs: [create], namespaces: ["on"]}]}}"#;
        assert_eq!(told(How::Create, "", made), rule);
        let role = "rbac.authorization.k8s.io/v1/roles";
        let named = Named { resource: role, namespace: "shop", name: "a:b", subresource: "" };
        let write = Write::new(named, How::Delete(None), Vec::new()).expect("it is one");
        let told = settings("{}", "").writes.check_write("a", &write).expect_err("nothing is");
        let line = format!(
            r#"[{{resources: [{role}], verbs: [delete], namespaces: [shop], names: ["a:b"]}}]"#
        );
        assert!(told.contains(&line), "{told}");
        let granted = settings(&format!("a: {{writes: {line}}}"), "").writes;
        assert_eq!(granted.check_write("a", &write), Ok(()));
    }

    #[test]
    fn what_a_plugin_asks_for_is_held_against_what_is_granted() {
        let asks = |writes: &str, rules: &str| {
            let json = format!(r#"{{"version":"1","writes":[{writes}]}}"#);
            let descriptor = Descriptor::parse(json.as_bytes()).expect("it is well formed");
            let grants = settings(&format!("a: {{writes: [{rules}]}}"), "").writes;
            grants.check("a", &descriptor.writes).err()
        };
        let shop = r#"{"resource":"v1/pods","verbs":["patch","create"],"namespaces":["shop","b"]}"#;
        let rules =
            "{resources: [v1/pods], verbs: [patch, create], namespaces: [shop], names: [web]}";
        let more = "{resources: [v1/pods], verbs: [create, patch], namespaces: [b]}";
        assert_eq!(asks(shop, &format!("{rules}, {more}")), None);
        let told = asks(shop, rules).expect("not in b");
        let line =
            "writes: [{resources: [v1/pods], verbs: [create, patch], namespaces: [b, shop]}]";
        let expect = format!(
            "it asks to create and patch v1/pods in b and shop, which is not granted; to grant all that it asks for, that is for the \
             host's own configuration (--config) to say: plugins: {{a: {{{line}}}}}"
        );
        assert_eq!(told, expect);
        let everywhere = r#"{"resource":"v1/pods","verbs":["patch"]}"#;
        assert!(asks(everywhere, more).is_some());
    }
}
