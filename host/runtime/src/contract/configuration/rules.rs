//! The rules of one kind that a plugin has, and where they are written: common to reads, writes and requests over HTTP.

use super::API_VERSION;
use super::layer::Layer;

/// The rules of one kind that hold for a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantsOf<R> {
    /// None where no configuration has any.
    pub(super) rules: Option<Vec<R>>,
    /// The bounds of the rules; none for those that the host's own configuration has for this plugin.
    pub(super) ceiling: Option<Vec<R>>,
    /// Where they are to be written.
    place: GrantPlace,
}

impl<R: Clone + PartialEq> GrantsOf<R> {
    /// Of the host's defaults, the rules in the file beside the plugin and the host's for the plugin the last count.
    pub(super) fn new(
        [defaults, sidecar, named]: [Option<&Layer>; 3],
        ceiling: &[R],
        rules: impl Fn(&Layer) -> Option<&Vec<R>>,
    ) -> Self {
        let rules = |layer: Option<&Layer>| layer.and_then(&rules).cloned();
        if let Some(rules) = rules(named) {
            return Self { rules: Some(rules), ceiling: None, place: GrantPlace::Host };
        }
        Self {
            rules: rules(sidecar).or_else(|| rules(defaults)),
            ceiling: Some(ceiling.to_vec()),
            place: if sidecar.is_some() { GrantPlace::Sidecar } else { GrantPlace::NewSidecar },
        }
    }

    /// The same where no rule at all means that nothing is granted.
    pub(super) fn or_nothing(self) -> Self {
        Self { rules: Some(self.rules.unwrap_or_default()), ..self }
    }

    pub(super) fn rules(&self) -> &[R] {
        self.rules.as_deref().unwrap_or_default()
    }

    /// Whether the place where the rules are may grant something.
    pub(super) fn may_grant(&self, is_within: impl FnOnce(&[R]) -> bool) -> bool {
        self.ceiling.as_deref().is_none_or(is_within)
    }

    /// Where something is to be granted.
    pub(super) fn place(&self, is_possible: bool) -> &GrantPlace {
        if is_possible { &self.place } else { &GrantPlace::Host }
    }

    /// Whether both grant the same, wherever that is written.
    pub(super) fn grants_the_same_as(&self, other: &Self) -> bool {
        (&self.rules, &self.ceiling) == (&other.rules, &other.ceiling)
    }

    /// The first part of a rule that is not in force, because the ceiling does not have it.
    pub(super) fn not_in_force(&self, beyond: fn(&R, &[R]) -> Option<String>) -> Option<String> {
        let ceiling = self.ceiling.as_ref()?;
        self.rules().iter().find_map(|rule| beyond(rule, ceiling))
    }
}

/// Where a plugin's grants are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GrantPlace {
    /// In the file beside the plugin's, which is not there yet.
    NewSidecar,
    Sidecar,
    /// In the host's configuration, under the plugin's name.
    Host,
}

impl GrantPlace {
    /// An error if anything is lacking that a plugin asks for, with the line that grants all of it. The verb stands before all that is lacking.
    pub(super) fn granting_all(
        &self,
        plugin: &str,
        verb: &str,
        lacking: &[String],
        line: &str,
    ) -> Result<(), String> {
        if lacking.is_empty() {
            return Ok(());
        }
        let (lacking, advice) = (lacking.join(", "), self.advice(plugin, line));
        Err(format!(
            "it asks to {verb}{lacking}, which is not granted; to grant all that it asks for, {advice}"
        ))
    }

    /// How this line is written there.
    pub(super) fn advice(&self, plugin: &str, line: &str) -> String {
        match self {
            Self::NewSidecar => format!(
                "write a file {plugin}.yaml beside it: {{apiVersion: {API_VERSION}, kind: PluginConfiguration, {line}}}"
            ),
            Self::Sidecar => format!("write in {plugin}.yaml: {line}"),
            Self::Host => format!(
                "that is for the host's own configuration (--config) to say: plugins: {{{plugin}: {{{line}}}}}"
            ),
        }
    }
}
