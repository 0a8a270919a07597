//! Write grants: the writes to the cluster that a plugin may make. Without a rule there are none.
//! The host checks each write against the rules.

use super::generated_name::is_generated;
use super::keys::Keys;
use super::namespace_rules::{is_within, namespace, namespace_selector, quoted};
use super::rules::{BoundedRule, GrantsOf};
use crate::contract::descriptor::WriteSpec;
use crate::names::{is_role_name, is_subdomain};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::write::{Writable, Write, WriteVerb};
use informant_apimachinery::LabelSelector;
use std::collections::BTreeSet;

/// Verbs on resources, with optional limits on namespaces and names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteRule {
    resources: Vec<Writable>,
    verbs: Vec<WriteVerb>,
    /// Empty: all namespaces, and objects without one.
    namespaces: BTreeSet<String>,
    /// The labels of the namespaces. `None`: whatever their labels, and objects without a namespace.
    namespace_selector: Option<LabelSelector>,
    /// Empty: all.
    names: BTreeSet<String>,
}

/// The reason for which a selector does not select a namespace by its present labels.
pub(crate) type NamespaceRefusal<'a> = dyn Fn(&LabelSelector, &str) -> Option<String> + 'a;

impl WriteRule {
    /// The rules below `writes`; none without the key.
    pub(super) fn declare(
        keys: &mut Keys<'_>,
        default: &'static str,
        doc: &'static str,
    ) -> Option<Vec<Self>> {
        keys.object_list("writes", default, doc, |keys| {
            let doc = "The resources, as `v1/pods` or `apps/v1/deployments`. A subresource is a resource of its own: `v1/pods/status`, `v1/pods/eviction`.";
            let resources = keys.text_list("resources", ("v1/pods", "", 0), doc, writable);
            let resources = needed(keys, "resources", resources, "[v1/pods]");
            let doc = "The verbs: `create`, `update`, `patch`, `delete`. Server-side apply needs `patch` and `create`. An update whose object has no `metadata.uid` needs `update` and `create`.";
            let verbs = keys.text_list("verbs", ("patch", "", 0), doc, str::parse::<WriteVerb>);
            let verbs = needed(keys, "verbs", verbs, "[patch]");
            let doc = "The namespaces. An object without a namespace needs a rule without this key.";
            let default = "all, and what is in none";
            let namespaces = keys.text_list("namespaces", ("default", default, 1), doc, namespace);
            let doc = "The labels of the namespaces, in kubectl's notation, beside `namespaces` or without. The labels of the moment count, at each write: whoever may label namespaces grants with them. An object without a namespace needs a rule without this key.";
            let selector = keys.text("namespaceSelector", "team=shop", doc, namespace_selector);
            let doc = "The names of the objects. An object whose name the API server generates needs a rule without this key.";
            let names = keys.text_list("names", ("settings", "all", 1), doc, name);
            Self {
                resources,
                verbs,
                namespaces: namespaces.unwrap_or_default().into_iter().collect(),
                namespace_selector: selector,
                names: names.unwrap_or_default().into_iter().collect(),
            }
        })
    }

    /// Whether the rule names Secrets.
    pub(super) fn names_secrets(&self) -> bool {
        self.resources.iter().any(Writable::is_secrets)
    }

    /// Whether the rule grants tokens of service accounts.
    pub(super) fn names_tokens(&self) -> bool {
        self.resources.iter().any(Writable::is_tokens)
    }

    /// The part of the rule that a file beside a plugin can never grant.
    pub(super) fn guarded(&self) -> Option<String> {
        self.resources.iter().find(|what| what.is_guarded()).map(Writable::to_string)
    }

    fn covers(&self, what: &Writable, verb: WriteVerb) -> bool {
        self.resources.contains(what) && self.verbs.contains(&verb)
    }

    /// Whether the rule depends on labels of namespaces.
    pub(super) fn has_selector(&self) -> bool {
        self.namespace_selector.is_some()
    }

    /// Whether this rule selects no namespace by its labels that the other one does not select.
    fn narrows(&self, other: &Self) -> bool {
        is_within(self.namespace_selector.as_ref(), other.namespace_selector.as_ref())
    }
}

impl BoundedRule for WriteRule {
    /// Each namespace and name needs one rule of the ceiling that allows it alone, with no other requirements on labels of
    /// namespaces.
    fn beyond(&self, ceiling: &[Self]) -> Option<String> {
        let each = |of: &BTreeSet<String>| match of.is_empty() {
            true => vec![None],
            false => of.iter().cloned().map(Some).collect(),
        };
        let within = |of: &BTreeSet<String>, one: &Option<String>| {
            of.is_empty() || one.as_ref().is_some_and(|one| of.contains(one))
        };
        let (namespaces, names) = (each(&self.namespaces), each(&self.names));
        let ceiling: Vec<&Self> = ceiling.iter().filter(|rule| self.narrows(rule)).collect();
        let is_allowed = |what: &Writable, verb: WriteVerb| {
            let covering = ceiling.iter().filter(|rule| rule.covers(what, verb));
            let covering: Vec<&Self> = covering.copied().collect();
            namespaces.iter().all(|namespace| {
                let rules = covering.iter().filter(|rule| within(&rule.namespaces, namespace));
                let rules: Vec<&Self> = rules.copied().collect();
                names.iter().all(|name| rules.iter().any(|rule| within(&rule.names, name)))
            })
        };
        let verbs = |what| self.verbs.iter().map(move |verb| (what, *verb));
        let mut all = self.resources.iter().flat_map(verbs);
        let beyond = all.find(|(what, verb)| !is_allowed(what, *verb));
        beyond.map(|(what, verb)| format!("{} of {what}", verb.name()))
    }

    fn comparisons(&self, ceiling: &[Self]) -> usize {
        let objects = self.namespaces.len().max(1) * self.names.len().max(1);
        let of_rule = |rule: &Self| rule.resources.len() + rule.verbs.len() + objects;
        let of_ceiling = ceiling.iter().map(of_rule).sum::<usize>();
        self.resources.len() * self.verbs.len() * of_ceiling
    }

    fn entries(&self) -> usize {
        let verbs_and_names = self.verbs.len() + self.names.len();
        self.resources.len() + self.namespaces.len() + verbs_and_names
    }
}

/// A rule without this key, or with an empty one, would mean nothing.
pub(super) fn needed<T>(
    keys: &mut Keys<'_>,
    key: &'static str,
    found: Option<Vec<T>>,
    like: &str,
) -> Vec<T> {
    if keys.is_read() && found.as_ref().is_none_or(Vec::is_empty) {
        keys.missing(key, format!("is to name some: write it as {like}"));
    }
    found.unwrap_or_default()
}

fn writable(text: &str) -> Result<Writable, String> {
    match text {
        "*" => Err("has \"*\": what may be written has to be named".to_owned()),
        text => text.parse(),
    }
}

fn name(text: &str) -> Result<String, String> {
    // Only roles have such names; other objects do not.
    match is_subdomain(text) || is_role_name(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("has {text:?}, which cannot be the name of an object")),
    }
}

/// The writes that a plugin may make.
pub(crate) type WriteGrants = GrantsOf<WriteRule>;

/// One object to write, or objects whose names are not known yet.
#[derive(Clone, Copy)]
struct WantedWrite<'a> {
    what: &'a Writable,
    verb: WriteVerb,
    /// Empty: the object has no namespace.
    namespace: &'a str,
    /// Empty: the API server generates the name.
    name: &'a str,
}

/// The line of a configuration that grants exactly these writes.
pub(crate) fn granting_writes(specs: &[WriteSpec]) -> String {
    let of = |spec: &WriteSpec| {
        rule(&spec.what, &spec.verbs, spec.namespaces.iter().map(String::as_str))
    };
    line(&specs.iter().map(of).collect::<Vec<_>>())
}

impl WriteGrants {
    /// Says which grant this write lacks, and the line that would grant it.
    pub(crate) fn check_write(
        &self,
        plugin: &str,
        write: &Write,
        refusal: &NamespaceRefusal<'_>,
    ) -> Result<(), String> {
        let Write { what, namespace, name, .. } = write;
        let asks: Vec<WantedWrite<'_>> = write
            .verbs()
            .iter()
            .map(|verb| WantedWrite { what, verb: *verb, namespace, name })
            .collect();
        if asks.iter().all(|ask| self.allows(ask, refusal)) {
            return Ok(());
        }
        let is_possible = asks.iter().all(|ask| self.is_possible(ask, refusal));
        let namespaces: BTreeSet<&str> =
            [namespace.as_str()].into_iter().filter(|it| !it.is_empty()).collect();
        let verbs: Vec<WriteVerb> = write.verbs().to_vec();
        let name = Some(name.as_str()).filter(|it| !it.is_empty() && !is_generated(it));
        let line = line(&[rule_for(what, &verbs, namespaces.iter().copied(), name)]);
        let verb = write.verb().name();
        let place = if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
        let advice = self.place(is_possible).advice(plugin, &line);
        let beside = if self.rules().is_empty() { "" } else { ", beside the rules that are there" };
        let labels = asks.iter().find_map(|ask| ask.label_refusal(self.rules(), refusal));
        let labels = labels.map_or(String::new(), |why| format!(" ({why})"));
        let text = format!(
            "to {verb} {what}{place} is not granted{labels}; to grant it, {advice}{beside}"
        );
        Err(one_line(&text, ERROR_BYTES_MAX).into_owned())
    }

    /// Says which requested writes lack a grant. A grant for some names, or for some labels of
    /// namespaces, counts as a grant here: the names are not known yet, and labels change.
    pub(crate) fn check(&self, plugin: &str, specs: &[WriteSpec]) -> Result<(), String> {
        let lacks = |spec: &&WriteSpec| {
            !self.covers_all(self.rules(), spec)
                || !self.may_grant(|rules| self.covers_all(rules, spec))
        };
        let lacking: Vec<String> = specs.iter().filter(lacks).map(WriteSpec::shown).collect();
        let is_possible = |spec: &WriteSpec| {
            !spec.what.is_guarded() && self.may_grant(|rules| self.covers_all(rules, spec))
        };
        let place = self.place(specs.iter().all(is_possible));
        place.granting_all(plugin, "", &lacking, &granting_writes(specs))
    }

    /// Whether a grant may depend on labels of namespaces.
    pub(crate) fn need_namespaces(&self) -> bool {
        let ceiling = self.ceiling.iter().flatten();
        self.rules().iter().chain(ceiling).any(WriteRule::has_selector)
    }

    fn allows(&self, ask: &WantedWrite<'_>, refusal: &NamespaceRefusal<'_>) -> bool {
        ask.is_in(self.rules(), refusal) && self.is_possible(ask, refusal)
    }

    /// Whether the place of the rules may grant the write.
    fn is_possible(&self, ask: &WantedWrite<'_>, refusal: &NamespaceRefusal<'_>) -> bool {
        self.may_grant(|rules| !ask.what.is_guarded() && ask.is_in(rules, refusal))
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

impl WantedWrite<'_> {
    fn is_in(&self, rules: &[WriteRule], refusal: &NamespaceRefusal<'_>) -> bool {
        let mut named = rules.iter().filter(|rule| self.is_named_by(rule));
        named.any(|rule| self.refused_by(rule, refusal).is_none())
    }

    /// Whether the rule grants the write, but for the labels of the namespace.
    fn is_named_by(&self, rule: &WriteRule) -> bool {
        rule.covers(self.what, self.verb)
            && (rule.namespaces.is_empty() || rule.namespaces.contains(self.namespace))
            && (rule.names.is_empty() || rule.names.contains(self.name))
    }

    /// The reason for which the labels of the namespace do not fit the rule.
    fn refused_by(&self, rule: &WriteRule, refusal: &NamespaceRefusal<'_>) -> Option<String> {
        refusal(rule.namespace_selector.as_ref()?, self.namespace)
    }

    /// The same for the first rule that names the write, if no such rule grants it.
    fn label_refusal(&self, rules: &[WriteRule], refusal: &NamespaceRefusal<'_>) -> Option<String> {
        let mut named = rules.iter().filter(|rule| self.is_named_by(rule));
        let first = self.refused_by(named.next()?, refusal)?;
        named.all(|rule| self.refused_by(rule, refusal).is_some()).then_some(first)
    }
}

/// A rule as text for a configuration.
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

fn line(rules: &[String]) -> String {
    format!("writes: [{}]", rules.join(", "))
}

#[cfg(test)]
mod tests;
