//! Grants in a file beside a plugin's that are not in force, because the host's own configuration does not let that
//! file grant them.

use super::PluginSettings;
use super::rules::TooManyComparisons;
use super::write_grants::WriteRule;

/// The text about the rules of one kind. `guarded`: a part that no ceiling allows.
fn shown(
    key: &str,
    beyond: Result<Option<String>, TooManyComparisons>,
    guarded: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let is_uncertain = beyond.is_err();
    match beyond.unwrap_or_default().or_else(guarded) {
        Some(part) => Some(format!("{key} ({part})")),
        None => {
            is_uncertain.then(|| format!("perhaps {key} (too many to compare with the ceiling)"))
        }
    }
}

impl PluginSettings {
    /// The first grant of each kind that is not in force, and the place that could grant it. `None` if all grants are
    /// in force.
    pub(crate) fn not_in_force(&self) -> Option<String> {
        let guarded = || {
            let (rules, _) = self.writes.beside()?;
            rules.iter().find_map(WriteRule::guarded)
        };
        let kinds = [
            shown("reads", self.grants.beyond(), || None),
            shown("writes", self.writes.beyond(), guarded),
            shown("http", self.http.beyond(), || None),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        let kinds = kinds.join(", ");
        (!kinds.is_empty()).then(|| {
            format!(
                "grants beside the plugin that are not in force: {kinds}; a file beside a plugin grants what the ceiling of the host's own configuration (--config) has; write them there, as a ceiling or below plugins.NAME"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::configuration::{Ceiling, Configurations, Document, Keys, Layer, read};
    use std::collections::BTreeMap;

    /// The text about the grants in a file beside a plugin, on a host with this ceiling.
    #[track_caller]
    fn check(ceiling: &str, sidecar: &str, expect: &[&str]) {
        let document = Document::read("host.yaml", format!("ceiling: {ceiling}").as_bytes());
        let declare =
            |keys: &mut Keys<'_>| keys.object("ceiling", "", Ceiling::declare).unwrap_or_default();
        let ceiling = read(&document.expect("it is YAML"), declare).expect("it is well formed");
        let configurations = Configurations::new(Layer::default(), BTreeMap::new(), ceiling);
        let head = "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\n";
        let layer = Layer::of_sidecar("a.yaml", format!("{head}{sidecar}").as_bytes());
        let name = "a".parse().expect("a name");
        let settings = configurations.expect("it has no defaults");
        let settings = settings.of(&name, Some(&layer.expect("it is well formed")));
        let said = settings.expect("it is within the ceiling").not_in_force();
        assert_eq!(said.is_some(), !expect.is_empty(), "{said:?}");
        for part in expect {
            assert!(said.as_ref().is_some_and(|said| said.contains(part)), "{part}: {said:?}");
        }
    }

    #[test]
    fn grants_above_the_ceiling_are_said() {
        let writes = "writes: [{resources: [v1/pods], verbs: [patch]}]";
        check("{}", "config: {}", &[]);
        check("{}", "reads: [{resources: [v1/pods]}]", &[]);
        check("{}", "reads: [{resources: [v1/secrets]}]", &["reads (v1/secrets)"]);
        check("{}", writes, &["writes (patch of v1/pods)", "plugins.NAME", "--config"]);
        check(&format!("{{{writes}}}"), writes, &[]);
        let list = |of: &str| (0..40).map(|n| format!("{of}{n}")).collect::<Vec<_>>().join(", ");
        let many = format!(
            "writes: [{{resources: [{}], verbs: [patch, delete], namespaces: [{}], names: [{}]}}]",
            list("v1/r"),
            list("n"),
            list("o"),
        );
        check(&format!("{{{many}}}"), &many, &["perhaps writes (too many to compare"]);
        let secrets = "writes: [{resources: [v1/secrets], verbs: [patch]}]";
        check(&format!("{{{secrets}}}"), secrets, &["writes (v1/secrets)"]);
        let http = r#"http: [{origins: ["https://a.org"], methods: [GET]}]"#;
        check("{}", &format!("{writes}\n{http}"), &["writes (patch", "http (GET to https://a.org"]);
    }
}
