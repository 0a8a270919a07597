//! Compares two readings of the host's own file for one plugin: the values, not their places.

use super::keys::{Said, Setting};
use super::layer::Layer;
use super::settings::{Configurations, PluginSettings};
use crate::plugin_name::PluginName;

impl Configurations {
    /// Whether the plugin's settings are the same as before, with any file beside its own.
    pub(crate) fn says_the_same_of(&self, name: &PluginName, before: &Self) -> bool {
        let named = |configurations: &Self| configurations.plugins.get(name).cloned();
        let same_of_it = match (named(self), named(before)) {
            (Some(now), Some(before)) => now.says_the_same_as(&before),
            (now, before) => now.is_none() && before.is_none(),
        };
        same_of_it
            && self.defaults.says_the_same_as(&before.defaults)
            && same(&self.ceiling.said, &before.ceiling.said)
    }

    /// A plugin's settings with the present lines; `None` if the lines are the same.
    pub(crate) fn placed(
        &self,
        name: &PluginName,
        settings: &PluginSettings,
    ) -> Option<PluginSettings> {
        let named = self.plugins.get(name).map(|layer| &layer.said);
        let places = [named, Some(&self.defaults.said), Some(&self.ceiling.said)];
        let line_now = |path: &str, known: &Setting| -> Option<u64> {
            let mut said = places.iter().flatten().filter_map(|said| said.get(path));
            said.find(|it| it.file == known.file && it.shown == known.shown).map(|it| it.line)
        };
        let mut placed = settings.clone();
        let mut has_moved = false;
        for (path, known) in &mut placed.differs {
            let line = line_now(path, known).unwrap_or(known.line);
            has_moved |= line != known.line;
            known.line = line;
        }
        has_moved.then_some(placed)
    }

    /// Warnings for the file's author: Secrets that are granted to a name, which any file can have.
    pub fn warnings(&self) -> Vec<String> {
        let of = |(name, layer): (&PluginName, &Layer)| {
            if layer.sha256.is_some() {
                return None;
            }
            let reads = layer.reads.iter().flatten().any(|rule| rule.names_secrets());
            let writes = layer.writes.iter().flatten().any(|rule| rule.names_secrets());
            let key = if reads { "reads" } else { "writes" };
            let place = layer.said.get(key).map(Setting::place).unwrap_or_default();
            (reads || writes).then(|| {
                format!(
                    "{place}: plugins.{name}.{key} has v1/secrets, which whatever file is called {name}.wasm gets: add sha256, the hash of the one that is meant"
                )
            })
        };
        self.plugins.iter().filter_map(of).collect()
    }
}

impl Layer {
    fn says_the_same_as(&self, other: &Self) -> bool {
        // Of `config`, `said` has only the keys.
        self.config == other.config && same(&self.said, &other.said)
    }
}

fn same(a: &Said, b: &Said) -> bool {
    let shown = |said: &Said| -> Vec<_> {
        said.iter().map(|(path, setting)| (path.clone(), setting.shown.clone())).collect()
    };
    shown(a) == shown(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::configuration::{Ceiling, Document, Keys, read};

    /// A host's file with `defaults`, `ceiling`, and the settings of the plugin `a`.
    fn said(text: &str) -> Configurations {
        let declare = |keys: &mut Keys<'_>| {
            let defaults = keys.object("defaults", "", Layer::of_all).unwrap_or_default();
            let named = keys.object("a", "", Layer::of_plugin);
            let ceiling = keys.object("ceiling", "", Ceiling::declare).unwrap_or_default();
            let plugins = named.into_iter().map(|layer| (name("a"), layer)).collect();
            Configurations::new(defaults, plugins, ceiling).expect("it is within the ceiling")
        };
        let document = Document::read("host.yaml", text.as_bytes()).expect("it is YAML");
        read(&document, declare).expect("it is well formed")
    }

    fn name(text: &str) -> PluginName {
        text.parse().expect("a name")
    }

    /// Whether the two files have the same settings for `a` and for `b`.
    #[track_caller]
    fn check(before: &str, now: &str, expect: [bool; 2]) {
        let (before, now) = (said(before), said(now));
        let found = ["a", "b"].map(|it| now.says_the_same_of(&name(it), &before));
        assert_eq!(found, expect);
    }

    #[test]
    fn only_what_a_plugin_runs_with_concerns_it() {
        check("{}", "{}", [true, true]);
        check("a: {config: {x: 1}}", "# why\na: {config: {x: 1}}", [true, true]);
        check("a: {config: {x: 1}}", "a: {config: {x: 2}}", [false, true]);
        check("a: {}", "{}", [false, true]);
        check("{}", "a: {limits: {attempts: 3}}", [false, true]);
        check("a: {limits: {attempts: 3}}", "a: {limits: {attempts: 4}}", [false, true]);
        let rule = |verb: &str| format!("{{writes: [{{resources: [v1/pods], verbs: [{verb}]}}]}}");
        check(&format!("a: {}", rule("patch")), &format!("a: {}", rule("delete")), [false, true]);
        check("{}", "defaults: {debounce: 1s}", [false, false]);
        let ceiling = format!("ceiling: {}", rule("patch"));
        check("{}", &ceiling, [false, false]);
        check(&ceiling, &ceiling, [true, true]);
    }

    #[test]
    fn what_stands_elsewhere_is_shown_there() {
        let before = said("a: {debounce: 1s}");
        let settings = before.of(&name("a"), None).expect("it is well formed");
        assert_eq!(before.placed(&name("a"), &settings), None);
        let now = said("# why\na: {debounce: 1s}");
        let placed = now.placed(&name("a"), &settings).expect("it has moved");
        assert_eq!(placed.to_json()["debounce"]["from"], "host.yaml line 2");
    }

    #[test]
    fn secrets_for_a_name_alone_are_warned_of() {
        let reads = "reads: [{resources: [v1/pods, v1/secrets]}]";
        let writes = "writes: [{resources: [v1/secrets], verbs: [patch]}]";
        let sha256 = format!("sha256: {}", "a".repeat(64));
        for (text, expect) in [
            (reads.to_owned(), Some("host.yaml line 1: plugins.a.reads has v1/secrets")),
            (writes.to_owned(), Some("host.yaml line 1: plugins.a.writes has v1/secrets")),
            (format!("{reads}, {sha256}"), None),
            ("reads: [{resources: ['*']}]".to_owned(), None),
        ] {
            let warnings = said(&format!("a: {{{text}}}")).warnings();
            let begins = warnings.first().map(|it| it.split(',').next().unwrap_or_default());
            assert_eq!(begins, expect, "{text}");
        }
    }
}
