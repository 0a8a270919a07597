//! Read grants. A plugin's descriptor requests reads, and a configuration grants them. A version
//! that requests more waits until it has the grant.

use super::keys::Keys;
use super::namespace_rules::{is_within, namespace, namespace_selector, quoted};
use super::rules::{BoundedRule, GrantsOf};
use crate::contract::descriptor::Descriptor;
use crate::enumerated::enumerated;
use informant_apimachinery::{GroupVersionResource, LabelSelector, is_cluster_scoped};
use std::collections::{BTreeMap, BTreeSet};

/// Resources in namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    resources: Vec<Resources>,
    scope: ReadScope,
}

/// Namespaces by name and by label. Objects without a namespace are in a scope with neither.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ReadScope {
    /// Empty: all namespaces.
    namespaces: BTreeSet<String>,
    /// `None`: whatever their labels.
    namespace_selector: Option<LabelSelector>,
}

impl ReadScope {
    /// Whether the other scope's requirements on labels follow from those of this scope.
    fn is_labelled_within(&self, other: &Self) -> bool {
        is_within(self.namespace_selector.as_ref(), other.namespace_selector.as_ref())
    }

    /// Whether this scope is a part of the other one.
    fn is_within(&self, other: &Self) -> bool {
        let (own, others) = (&self.namespaces, &other.namespaces);
        let is_part = !own.is_empty() && own.is_subset(others);
        self.is_labelled_within(other) && (others.is_empty() || is_part)
    }

    /// The keys of a rule, behind its resources.
    fn keys(&self) -> String {
        let names: Vec<String> = self.namespaces.iter().map(|name| quoted(name)).collect();
        let names = (!names.is_empty()).then(|| format!(", namespaces: [{}]", names.join(", ")));
        let selector = self.namespace_selector.as_ref().map(LabelSelector::to_string);
        let selector = selector.map(|text| format!(", namespaceSelector: {text:?}"));
        names.into_iter().chain(selector).collect()
    }

    /// The words behind a resource.
    fn shown(&self) -> String {
        let names: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
        match (names.is_empty(), &self.namespace_selector) {
            (true, None) => String::new(),
            (false, None) => format!(" in {}", enumerated(&names)),
            (true, Some(selector)) => format!(" in namespaces with {selector}"),
            (false, Some(selector)) => {
                format!(" in namespaces {} with {selector}", enumerated(&names))
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Resources {
    AllButSecrets,
    One(GroupVersionResource),
}

impl Resources {
    /// The resource, if this names one.
    fn named(&self) -> Option<&GroupVersionResource> {
        match self {
            Self::AllButSecrets => None,
            Self::One(resource) => Some(resource),
        }
    }
}

impl Rule {
    /// The rules below `key`; `None` without the key.
    pub(super) fn declare(
        keys: &mut Keys<'_>,
        key: &'static str,
        default: &'static str,
        doc: &'static str,
    ) -> Option<Vec<Self>> {
        keys.object_list(key, default, doc, |keys| {
            let resources = keys.text_list(
                "resources",
                ("v1/pods", "all but Secrets", 0),
                "The resources, as `v1/pods` or `apps/v1/deployments`. `\"*\"` stands for all resources but Secrets; name Secrets to grant them.",
                resources,
            );
            let namespaces = keys.text_list(
                "namespaces",
                ("default", "all, and what is in none", 1),
                "The namespaces. A subscription or read of all namespaces, or of objects without a namespace, needs a rule without this key.",
                namespace,
            );
            let selector = keys.text(
                "namespaceSelector",
                "team=shop",
                "The labels of the namespaces, in kubectl's notation, beside `namespaces` or without. It grants the reads whose own `namespaceSelector` selects no other namespaces, as the host finds from its requirements. Whoever may label namespaces grants with them. A read without such a selector, or of objects without a namespace, needs a rule without this key.",
                namespace_selector,
            );
            if let Some(resource) = in_none(resources.as_deref(), selector.as_ref()) {
                let problem = format!("has {resource} beside it, whose objects are in no namespace: write a rule of its own for it");
                keys.fail(keys.line_of("namespaceSelector"), "namespaceSelector", problem);
            }
            Self {
                resources: resources.unwrap_or_else(|| vec![Resources::AllButSecrets]),
                scope: ReadScope {
                    namespaces: namespaces.unwrap_or_default().into_iter().collect(),
                    namespace_selector: selector,
                },
            }
        })
    }

    /// All objects in all namespaces, except Secrets.
    pub(super) fn all_but_secrets() -> Self {
        Self { resources: vec![Resources::AllButSecrets], scope: ReadScope::default() }
    }

    /// The part of the host's own rule that the others do not allow. Its `"*"` is such a part, unless one of the others is
    /// `"*"` in the same namespaces.
    pub(super) fn beyond_unbounded(&self, others: &[Self]) -> Option<String> {
        let is_all = |rule: &&Self| rule.resources.contains(&Resources::AllButSecrets);
        let mut everywhere = others.iter().filter(is_all);
        let is_beyond = is_all(&self) && !everywhere.any(|it| self.scope.is_within(&it.scope));
        match is_beyond {
            true => Some("all but Secrets".to_owned()),
            false => self.beyond(others),
        }
    }

    /// Whether the rule names Secrets.
    pub(super) fn names_secrets(&self) -> bool {
        let mut named = self.resources.iter().filter_map(Resources::named);
        named.any(GroupVersionResource::is_secrets)
    }

    fn names(&self, resource: &GroupVersionResource) -> bool {
        self.resources.iter().any(|granted| match granted {
            Resources::AllButSecrets => !resource.is_secrets(),
            Resources::One(granted) => granted == resource,
        })
    }
}

impl BoundedRule for Rule {
    /// The rules of the ceiling allow a part together; `"*"` stands for all that they allow.
    fn beyond(&self, ceiling: &[Self]) -> Option<String> {
        let named = self.resources.iter().filter_map(Resources::named).cloned();
        let mut asks = named.map(|resource| WantedRead { resource, scope: self.scope.clone() });
        asks.find(|ask| !cover(ceiling, ask)).map(|ask| ask.shown())
    }

    fn comparisons(&self, ceiling: &[Self]) -> usize {
        let of_ceiling = ceiling.iter().map(Self::entries).sum::<usize>();
        self.resources.len() * (self.scope.namespaces.len() + of_ceiling)
    }

    fn entries(&self) -> usize {
        self.resources.len() + self.scope.namespaces.len()
    }
}

/// A resource without namespaces that a rule with this selector names.
fn in_none<'a>(
    resources: Option<&'a [Resources]>,
    selector: Option<&LabelSelector>,
) -> Option<&'a GroupVersionResource> {
    let mut named = resources.filter(|_| selector.is_some())?.iter().filter_map(Resources::named);
    named.find(|resource| is_cluster_scoped(resource))
}

fn resources(text: &str) -> Result<Resources, String> {
    match text {
        "*" => Ok(Resources::AllButSecrets),
        text => text.parse().map(Resources::One).map_err(|error| format!("{error}")),
    }
}

/// Whether the rules together allow the read.
fn cover(rules: &[Rule], ask: &WantedRead) -> bool {
    let mut namespaces = BTreeSet::new();
    let is_for =
        |rule: &&Rule| rule.names(&ask.resource) && ask.scope.is_labelled_within(&rule.scope);
    for Rule { scope, .. } in rules.iter().filter(is_for) {
        if scope.namespaces.is_empty() {
            return true;
        }
        namespaces.extend(&scope.namespaces);
    }
    let wanted = &ask.scope.namespaces;
    !wanted.is_empty() && wanted.iter().all(|wanted| namespaces.contains(wanted))
}

/// The reads that a plugin may make: without a rule its requested ones, without Secrets.
pub(crate) type Grants = GrantsOf<Rule>;

/// One requested read of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WantedRead {
    resource: GroupVersionResource,
    scope: ReadScope,
}

impl Grants {
    /// The missing grants for the plugin's requested reads, and the line that would give them.
    pub(crate) fn check(&self, plugin: &str, descriptor: &Descriptor) -> Result<(), String> {
        let asks = asks(descriptor);
        let lacking: Vec<String> =
            asks.iter().filter(|ask| !self.allows(ask)).map(WantedRead::shown).collect();
        let is_possible = asks.iter().all(|ask| self.is_possible(ask));
        self.place(is_possible).granting_all(plugin, "read ", &lacking, &line(&asks))
    }

    /// The resources with a missing grant, and the line that would give it.
    pub(crate) fn lacking(
        &self,
        plugin: &str,
        descriptor: &Descriptor,
    ) -> BTreeMap<String, String> {
        let asks = asks(descriptor);
        let lacking = asks.iter().filter(|ask| !self.allows(ask)).map(|ask| {
            let line = line(std::slice::from_ref(ask));
            let advice = self.place(self.is_possible(ask)).advice(plugin, &line);
            let text = format!("{} is not granted any more; to grant it, {advice}", ask.shown());
            (ask.resource.to_string(), text)
        });
        lacking.collect()
    }

    fn allows(&self, ask: &WantedRead) -> bool {
        let is_granted = match &self.rules {
            Some(rules) => cover(rules, ask),
            // Invariant 41.
            None => !ask.resource.is_secrets(),
        };
        is_granted && self.is_possible(ask)
    }

    /// Whether the place of the rules may grant the read.
    fn is_possible(&self, ask: &WantedRead) -> bool {
        self.may_grant(|rules| cover(rules, ask))
    }
}

/// The line of a configuration that grants exactly the descriptor's reads.
pub(crate) fn granting(descriptor: &Descriptor) -> String {
    line(&asks(descriptor))
}

/// The descriptor's reads, each resource and scope once.
fn asks(descriptor: &Descriptor) -> Vec<WantedRead> {
    let subscribed = descriptor.subscriptions.iter();
    let subscribed = subscribed.map(|it| (&it.resource, &it.namespaces, &it.namespace_selector));
    let read = descriptor.reads.iter();
    let read = read.map(|it| (&it.resource, &it.namespaces, &it.namespace_selector));
    let mut asks = Vec::new();
    for (resource, namespaces, selector) in subscribed.chain(read) {
        let (namespaces, namespace_selector) = ((**namespaces).clone(), selector.clone());
        let scope = ReadScope { namespaces, namespace_selector };
        let ask = WantedRead { resource: resource.clone(), scope };
        if !asks.contains(&ask) {
            asks.push(ask);
        }
    }
    asks
}

impl WantedRead {
    fn shown(&self) -> String {
        format!("{}{}", self.resource, self.scope.shown())
    }
}

/// The YAML that grants exactly these reads, on one line.
fn line(asks: &[WantedRead]) -> String {
    let mut by_scope = BTreeMap::<String, Vec<String>>::new();
    for ask in asks {
        by_scope.entry(ask.scope.keys()).or_default().push(ask.resource.to_string());
    }
    let rules = by_scope.into_iter();
    let rules = rules.map(|(keys, names)| format!("{{resources: [{}]{keys}}}", names.join(", ")));
    format!("reads: [{}]", rules.collect::<Vec<_>>().join(", "))
}
