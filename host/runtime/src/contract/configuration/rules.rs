//! A plugin's rules of one kind, and the place where they are written: common to reads, writes and HTTP requests.

use super::API_VERSION;
use super::layer::Layer;

/// The most comparisons of rules with a ceiling: some milliseconds. The lists of a rule multiply.
const COMPARISONS_MAX: usize = 1 << 16;

/// The most entries in all lists of the `reads` rules, or of the `writes` rules, of a file beside a plugin.
pub(crate) const RULE_ENTRIES_MAX: usize = 1 << 10;

/// The rules are too long for a comparison with the ceiling.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooManyComparisons;

/// A rule that a ceiling may bound.
pub(crate) trait BoundedRule: Sized {
    /// The part of this rule that the ceiling does not allow, if there is any.
    fn beyond(&self, ceiling: &[Self]) -> Option<String>;

    /// The number of comparisons that this answer takes at most.
    fn comparisons(&self, ceiling: &[Self]) -> usize;

    /// The number of entries of its lists.
    fn entries(&self) -> usize;
}

/// The rules of one kind that hold for a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantsOf<R> {
    /// `None` if no configuration has any.
    pub(super) rules: Option<Vec<R>>,
    /// The bounds of the rules; `None` for rules of the host's own configuration for this plugin.
    pub(super) ceiling: Option<Vec<R>>,
    /// The place where the rules can be written.
    place: GrantPlace,
    /// Whether the rules are those of a file beside the plugin.
    are_beside: bool,
}

impl<R: Clone + PartialEq> GrantsOf<R> {
    /// The last of these places with rules counts: the host's defaults, the file beside the plugin, the host's
    /// settings for the plugin.
    pub(super) fn new(
        [defaults, sidecar, named]: [Option<&Layer>; 3],
        ceiling: &[R],
        rules: impl Fn(&Layer) -> Option<&Vec<R>>,
    ) -> Self {
        let rules = |layer: Option<&Layer>| layer.and_then(&rules).cloned();
        if let Some(rules) = rules(named) {
            let place = GrantPlace::Host;
            return Self { rules: Some(rules), ceiling: None, place, are_beside: false };
        }
        let beside = rules(sidecar);
        Self {
            are_beside: beside.is_some(),
            rules: beside.or_else(|| rules(defaults)),
            ceiling: Some(ceiling.to_vec()),
            place: if sidecar.is_some() { GrantPlace::Sidecar } else { GrantPlace::NewSidecar },
        }
    }

    /// The same for a kind of rule that grants nothing by default.
    pub(super) fn or_nothing(self) -> Self {
        Self { rules: Some(self.rules.unwrap_or_default()), ..self }
    }

    pub(super) fn rules(&self) -> &[R] {
        self.rules.as_deref().unwrap_or_default()
    }

    /// Whether the place of the rules may grant a request.
    pub(super) fn may_grant(&self, is_within: impl FnOnce(&[R]) -> bool) -> bool {
        self.ceiling.as_deref().is_none_or(is_within)
    }

    /// The place that can give a grant.
    pub(super) fn place(&self, is_possible: bool) -> &GrantPlace {
        if is_possible { &self.place } else { &GrantPlace::Host }
    }

    /// Whether both grant the same, in any place.
    pub(super) fn grants_the_same_as(&self, other: &Self) -> bool {
        (&self.rules, &self.ceiling) == (&other.rules, &other.ceiling)
    }

    /// The rules of a file beside the plugin, and the ceiling. Those of the host are within it.
    pub(super) fn beside(&self) -> Option<(&[R], &[R])> {
        Some((self.rules(), self.ceiling.as_deref().filter(|_| self.are_beside)?))
    }
}

impl<R: BoundedRule + Clone + PartialEq> GrantsOf<R> {
    /// The first part of a rule beside the plugin that is beyond the ceiling. Or an error, if that would take too many
    /// comparisons.
    pub(super) fn beyond(&self) -> Result<Option<String>, TooManyComparisons> {
        let Some((rules, ceiling)) = self.beside() else { return Ok(None) };
        let comparisons = rules.iter().map(|rule| rule.comparisons(ceiling)).sum::<usize>();
        match comparisons <= COMPARISONS_MAX {
            true => Ok(rules.iter().find_map(|rule| rule.beyond(ceiling))),
            false => Err(TooManyComparisons),
        }
    }
}

/// The place of a plugin's grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GrantPlace {
    /// In the file beside the plugin's, which does not exist yet.
    NewSidecar,
    Sidecar,
    /// In the host's configuration, under the plugin's name.
    Host,
}

impl GrantPlace {
    /// An error if a requested grant is missing, with the line that gives all of them. The verb stands in front of the
    /// list of missing grants.
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

    /// The text for adding this line in the place.
    pub(super) fn advice(&self, plugin: &str, line: &str) -> String {
        match self {
            Self::NewSidecar => format!(
                "write a file {plugin}.yaml beside it: {{apiVersion: {API_VERSION}, kind: PluginConfiguration, {line}}}"
            ),
            Self::Sidecar => format!("write in {plugin}.yaml: {line}"),
            Self::Host => format!(
                "write in the host's own configuration (--config): plugins: {{{plugin}: {{{line}}}}}"
            ),
        }
    }
}
