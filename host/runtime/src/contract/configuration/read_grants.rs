//! Read grants. A plugin's descriptor requests reads, and a configuration grants them. A version
//! that requests more waits until it has the grant.

use super::keys::Keys;
use super::rules::{BoundedRule, GrantsOf};
use crate::contract::descriptor::Descriptor;
use crate::enumerated::enumerated;
use crate::names::is_namespace;
use informant_apimachinery::GroupVersionResource;
use std::collections::{BTreeMap, BTreeSet};

/// Resources in namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    resources: Vec<Resources>,
    /// Empty: all namespaces, and objects without one.
    namespaces: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Resources {
    AllButSecrets,
    One(GroupVersionResource),
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
            Self {
                resources: resources.unwrap_or_else(|| vec![Resources::AllButSecrets]),
                namespaces: namespaces.unwrap_or_default().into_iter().collect(),
            }
        })
    }

    /// All objects in all namespaces, except Secrets.
    pub(super) fn all_but_secrets() -> Self {
        Self { resources: vec![Resources::AllButSecrets], namespaces: BTreeSet::new() }
    }

    /// The part of the host's own rule that the others do not allow. Its `"*"` is such a part, unless one of the others is
    /// `"*"` in the same namespaces.
    pub(super) fn beyond_unbounded(&self, others: &[Self]) -> Option<String> {
        let is_all = |rule: &&Self| rule.resources.contains(&Resources::AllButSecrets);
        let everywhere = |other: &Self| {
            let is_part =
                !self.namespaces.is_empty() && self.namespaces.is_subset(&other.namespaces);
            other.namespaces.is_empty() || is_part
        };
        let is_beyond = is_all(&self) && !others.iter().filter(is_all).any(everywhere);
        match is_beyond {
            true => Some("all but Secrets".to_owned()),
            false => self.beyond(others),
        }
    }

    /// Whether the rule names Secrets.
    pub(super) fn names_secrets(&self) -> bool {
        let mut named = self.resources.iter();
        named.any(|it| matches!(it, Resources::One(resource) if resource.is_secrets()))
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
        let named = self.resources.iter().filter_map(|resource| match resource {
            Resources::AllButSecrets => None,
            Resources::One(resource) => Some(resource.clone()),
        });
        let mut asks =
            named.map(|resource| WantedRead { resource, namespaces: self.namespaces.clone() });
        asks.find(|ask| !cover(ceiling, ask)).map(|ask| ask.shown())
    }

    fn comparisons(&self, ceiling: &[Self]) -> usize {
        let of_ceiling = ceiling.iter().map(Self::entries).sum::<usize>();
        self.resources.len() * (self.namespaces.len() + of_ceiling)
    }

    fn entries(&self) -> usize {
        self.resources.len() + self.namespaces.len()
    }
}

fn resources(text: &str) -> Result<Resources, String> {
    match text {
        "*" => Ok(Resources::AllButSecrets),
        text => text.parse().map(Resources::One).map_err(|error| format!("{error}")),
    }
}

pub(super) fn namespace(text: &str) -> Result<String, String> {
    match is_namespace(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("has {text:?}, which cannot be the name of a namespace")),
    }
}

/// Whether the rules together allow the read.
fn cover(rules: &[Rule], ask: &WantedRead) -> bool {
    let mut namespaces = BTreeSet::new();
    for rule in rules.iter().filter(|rule| rule.names(&ask.resource)) {
        if rule.namespaces.is_empty() {
            return true;
        }
        namespaces.extend(&rule.namespaces);
    }
    !ask.namespaces.is_empty() && ask.namespaces.iter().all(|wanted| namespaces.contains(wanted))
}

/// The reads that a plugin may make: without a rule its requested ones, without Secrets.
pub(crate) type Grants = GrantsOf<Rule>;

/// One requested read of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WantedRead {
    resource: GroupVersionResource,
    /// Empty: all namespaces.
    namespaces: BTreeSet<String>,
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
    let subscribed = descriptor.subscriptions.iter().map(|it| (&it.resource, &it.namespaces));
    let read = descriptor.reads.iter().map(|it| (&it.resource, &it.namespaces));
    let mut asks = Vec::new();
    for (resource, namespaces) in subscribed.chain(read) {
        let ask = WantedRead { resource: resource.clone(), namespaces: (**namespaces).clone() };
        if !asks.contains(&ask) {
            asks.push(ask);
        }
    }
    asks
}

impl WantedRead {
    fn shown(&self) -> String {
        match self.namespaces.is_empty() {
            true => self.resource.to_string(),
            false => {
                let namespaces: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
                format!("{} in {}", self.resource, enumerated(&namespaces))
            }
        }
    }
}

/// The name of a namespace as a text in YAML, in which `on`, `1e3` and similar words are other values.
pub(super) fn quoted(name: &str) -> String {
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name);
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.contains([':', '@'])
        && !is_word;
    if is_plain { name.to_owned() } else { format!("{name:?}") }
}

/// The YAML that grants exactly these reads, on one line.
fn line(asks: &[WantedRead]) -> String {
    let mut by_namespaces = BTreeMap::<Vec<String>, Vec<String>>::new();
    for ask in asks {
        let namespaces = ask.namespaces.iter().map(|name| quoted(name)).collect();
        by_namespaces.entry(namespaces).or_default().push(ask.resource.to_string());
    }
    let rules = by_namespaces.into_iter().map(|(namespaces, resources)| {
        let resources = resources.join(", ");
        match namespaces.is_empty() {
            true => format!("{{resources: [{resources}]}}"),
            false => {
                format!("{{resources: [{resources}], namespaces: [{}]}}", namespaces.join(", "))
            }
        }
    });
    format!("reads: [{}]", rules.collect::<Vec<_>>().join(", "))
}
